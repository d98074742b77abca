"""Joint states and motor states of a rosbag2 recording as arrays, in bounded memory.

One number that is none would spoil its group where samples are averaged, and its signal later:
rows are complete where they must be, like the others where they may.

Up to `most` rows are kept as they come. Beyond that neighbours are averaged in pairs, all kept
rows and all that follow, as often as needed: an hour at 1 kHz becomes an hour at 250 Hz. Times
are averaged with the values, so nothing is shifted.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armsense.errors import ArmsenseError, BadValue, UnknownName
from armsense.identify.robot_file import SourceConfig
from armsense.recordings.bag_files import (
    choose_states,
    JOINT_STATE,
    message_type,
    messages,
    MOTOR_STATES,
    motor_states_type,
    RawMessage,
    whose,
)
from armsense.recordings.cdr import BadRecord, Columns, MessageType, seconds
from armsense.recordings.signals import Signals
from armsense.types import Array

BATCH = 4096
STATES = (JOINT_STATE, MOTOR_STATES)
MOST_LAYOUTS = 8                     # that are remembered
PARTS = ('position', 'velocity', 'effort', 'joint_position', 'strain')   # of a row, after 2 times
NECESSARY = ('position', 'effort')
OPTIONAL = {'velocity': 'velocities', 'joint_position': 'joint positions', 'strain': 'strains'}
FEW = 0.05      # share of the rows that may lack what the others have, and are left out for it
MOST = 1_000_000
WANTED = {*PARTS, 'torque', 'stamp_ns', 'time_ns'}


def read_bag(path: Path, source: SourceConfig, joints: tuple[str, ...],
             most_rows: int = MOST) -> Signals:
    """Signals of `joints` from the topic of the robot file, in bounded memory.

    Without a topic it is that of the only motor states, else of the only joint states; samples
    beyond `most_rows` are averaged in groups.
    """
    notes: list[str] = []
    topics: dict[str, str] = {}
    readers: dict[str, _Reader] = {}
    for message in messages(path, notes):
        topics.setdefault(message.topic, message.type)
        if not (message.type in STATES if source.topic is None
                else message.topic == source.topic):
            continue
        if message.topic not in readers:
            readers[message.topic] = _Reader(source.names or joints, path, most_rows)
        readers[message.topic].take(message)
    if not topics:
        raise ArmsenseError(f'{path.name} holds no message' + (f' ({notes[0]})' if notes else ''))
    topic = choose_states(path.name, topics, None) if source.topic is None else source.topic
    if topic not in topics:
        known = [f'{name} ({kind})' for name, kind in topics.items()]
        raise UnknownName('topic', topic, known, path.name)
    reader = readers[topic]
    reader.finish()
    return replace(reader.signals(notes), torques=topics[topic] == MOTOR_STATES)


class _Reader:
    """Messages to rows [stamp, recorded, then the numbers of PARTS]."""

    def __init__(self, names: tuple[str, ...], path: Path, most_rows: int) -> None:
        self.names, self.path, self.where = names, path, path.name
        self.kinds: dict[str, MessageType] = {}
        self.layouts: list[Columns] = []        # that came so far, the last one first
        self.batch: list[RawMessage] = []
        self.seen = self.damaged = self.others = 0
        self.reason = ''                        # why the first damaged message could not be read
        self.strangers: tuple[str, ...] = ()    # joints of messages that hold none of ours
        self.beside: tuple[str, ...] = ()       # other joints in the messages of ours
        self.strange_count = 0                  # of joints in messages without names
        self.wall: float | None = None          # [s] stamp at time 0 of the driver's own clock
        self.usable = RowFilter(len(names))
        self.table = RowStore(2 + len(PARTS) * len(names), most_rows)

    def take(self, message: RawMessage) -> None:
        """Keep a message; a whole batch is decoded."""
        if self.batch and self.batch[0].type != message.type:
            self.finish()
            self.layouts.clear()
        self.batch.append(message)
        if len(self.batch) >= BATCH:
            self.finish()

    def finish(self) -> None:
        """Decode what is kept, in the order of its coming."""
        self.seen += len(self.batch)
        rows = np.full((len(self.batch), 2 + len(PARTS) * len(self.names)), np.nan)
        found = np.zeros(len(self.batch), bool)
        left = np.arange(len(self.batch))
        layouts = iter([*self.layouts])
        while len(left):
            layout = next(layouts, None) or self._new_layout(self.batch[left[0]])
            if layout is None:
                left = left[1:]
                continue
            alike = layout.alike([self.batch[k].data for k in left])
            mine, left = left[alike], left[~alike]
            if len(mine):
                found[mine] = self._decode(layout, mine, rows)
        self.table.add(self.usable(rows[found]))
        self.batch.clear()

    def _new_layout(self, message: RawMessage) -> Columns | None:
        """None: the message is damaged."""
        try:
            layout = Columns(self._kind(message), message.data)
        except BadRecord as error:
            self.damaged += 1
            self.reason = self.reason or str(error)
            return None
        self.layouts = [layout, *self.layouts[:MOST_LAYOUTS - 1]]
        return layout

    def _decode(self, layout: Columns, which: Any, rows: Any) -> bool:
        """Fill the rows of messages of one layout; False: they are of other joints."""
        index = self._index(layout)
        if index is None:
            self.others += len(which)
            return False
        columns = layout.cut([self.batch[k].data for k in which], WANTED)
        stamps = seconds(columns)
        if 'time_ns' in columns and columns['time_ns'].all():
            time = 1e-9 * columns['time_ns']    # stamps as if their clock had never been set
            self.wall = stamps[0] - time[0] if self.wall is None else self.wall
            stamps = time + self.wall
        if 'torque' in columns:
            columns['effort'] = columns['torque']
        parts = [stamps[:, None], np.array([[1e-9 * self.batch[k].stamp] for k in which])]
        for name in PARTS:
            values = columns.get(name, np.empty((len(which), 0)))
            parts.append(values[:, index] if values.shape[1] > max(index)
                         else np.full((len(which), len(index)), np.nan))
        rows[which] = np.concatenate(parts, axis=1)
        return True

    def _index(self, layout: Columns) -> list[int] | None:
        """Places of the joints in a message; None: none of them is there."""
        present = layout.names
        if not present:     # such messages are of all joints of an arm
            counts = {slot.items for slot in layout.layout.slots
                      if slot.code == 'd' and slot.items > 0}
            if counts <= {len(self.names)}:
                return list(range(len(self.names)))
            self.strange_count = max(counts - {len(self.names)})
            return None
        missing = [name for name in self.names if name not in present]
        if len(missing) == len(self.names):     # such as a gripper's on the same topic
            self.strangers = present
            return None
        if missing:
            raise UnknownName('joint', missing[0], present, f'{self.where}: joint states')
        self.beside = tuple(name for name in present if name not in self.names)
        return [present.index(name) for name in self.names]

    def _kind(self, message: RawMessage) -> MessageType:
        """Which fields the messages have."""
        if message.type not in STATES:
            raise ArmsenseError(f'{self.where}: {message.topic} carries {message.type}; '
                                f'{JOINT_STATE} or {MOTOR_STATES} is needed')
        if message.type not in self.kinds:
            self.kinds[message.type] = (message_type(JOINT_STATE) if message.type == JOINT_STATE
                                        else motor_states_type(message.definition, self.where))
        return self.kinds[message.type]

    def signals(self, notes: list[str]) -> Signals:
        """What was read."""
        rows = self.table.rows()
        if not len(rows):
            raise self._nothing()
        notes += [f'{self.where}: {note}' for note in self._left_out()]
        if self.table.group > 1:
            notes.append(f'{self.where}: a long recording; each {self.table.group} samples are '
                         'averaged')
        steady = self.wall is not None
        order = rows[:, 0 if steady else 1]
        if np.any(np.diff(order) < 0.0):
            rows = rows[np.argsort(order, kind='stable')]
        stamp, recorded = rows[:, 0], rows[:, 1]
        rising = steady or (np.all(np.diff(stamp) >= 0.0)
                            and np.ptp(stamp) > 0.5 * np.ptp(recorded))
        if not rising:
            notes.append(f'{self.where}: message stamps do not rise, times of recording are used')
        parts = dict(zip(PARTS, np.split(rows[:, 2:], len(PARTS), axis=1), strict=True))

        def given(name: str) -> Any:
            values = parts[name]
            return values if np.isfinite(values).all() and np.any(values) else None

        return Signals(stamp if rising else recorded, parts['position'], parts['effort'],
                       given('velocity'), self.where, tuple(notes), given('joint_position'),
                       given('strain'), self.beside)

    def _nothing(self) -> ArmsenseError:
        """Why no message could be used."""
        lacking = self.usable.never()
        if lacking:
            return ArmsenseError(f'{self.where}: the messages carry no {lacking}, nothing can be '
                                 'identified')
        if self.strange_count:
            return ArmsenseError(f'{self.where}: the messages are of {self.strange_count} joints, '
                                 f'the arm has {len(self.names)} ({", ".join(self.names)})'
                                 f'{whose(self.path)}')
        if self.others:
            return UnknownName('joint', self.names[0], self.strangers,
                               f'{self.where}: joint states')
        return ArmsenseError(f'{self.where}: none of {self.seen} messages of the topic could be '
                             f'read; the first: {self.reason}')

    def _left_out(self) -> list[str]:
        strangers = ', '.join(self.strangers) or f'{self.strange_count} without names'
        counts = {f'damaged messages (the first: {self.reason})': self.damaged,
                  f'messages of other joints ({strangers})': self.others}
        return [*(f'{count} {what} are left out' for what, count in counts.items() if count),
                *self.usable.notes()]


class RowFilter:
    """Leaves out rows that lack something, and counts them."""

    def __init__(self, joints: int) -> None:
        self._joints = joints
        self._lacking = dict.fromkeys(PARTS, 0)   # rows without this part
        self._given_up: set[str] = set()          # parts that too many rows lack
        self._empty = self._taken = 0             # rows without, with all that is necessary

    def __call__(self, rows: Array) -> Array:
        """Those of (N, 2 + 5 joints) that can be used."""
        whole = {name: self._whole(rows, name) for name in NECESSARY}
        keep = whole['position'] & whole['effort']
        self._empty += int(np.sum(~keep))
        rows = rows[keep]
        self._taken += len(rows)
        keep = np.ones(len(rows), bool)
        for name in OPTIONAL:
            there = self._whole(rows, name)
            if self._lacking[name] > FEW * self._taken:
                self._given_up.add(name)
            if name not in self._given_up:
                keep &= there
        return rows[keep]

    def never(self) -> str:
        """The necessary part that was missed most; '': no row came without."""
        name = max(NECESSARY, key=lambda name: self._lacking[name])
        return name if self._lacking[name] else ''

    def notes(self) -> list[str]:
        """What was left out, and what cannot be used."""
        notes = []
        if self._empty:
            notes.append(f'{self._empty} messages without position or effort are left out')
        for name, words in OPTIONAL.items():
            count = self._lacking[name]
            if name not in self._given_up and count:
                notes.append(f'{count} messages without {words} are left out')
            elif 0 < count < self._taken:    # else nobody recorded them
                notes.append(f'measured {words} are not used, {count} messages lack them')
        return notes

    def _whole(self, rows: Array, name: str) -> NDArray[np.bool_]:
        """Which rows have a number for every joint, (N,); the others are counted."""
        first = 2 + PARTS.index(name) * self._joints
        whole = np.isfinite(rows[:, first:first + self._joints]).all(axis=1)
        self._lacking[name] += int(np.sum(~whole))
        return np.asarray(whole)


class RowStore:
    """A table that never grows beyond `most` rows."""

    def __init__(self, columns: int, most: int = MOST) -> None:
        if most < 2:
            raise BadValue('most rows', most, '>= 2')
        self._most, self._count = most - most % 2, 0
        self._table = np.empty((min(most, 4096), columns))
        self._left = np.empty((0, columns))      # rows that do not fill a group yet
        self.group = 1                           # rows that became one

    def add(self, rows: Array) -> None:
        """Append rows, (N, columns)."""
        rows = np.concatenate([self._left, rows]) if len(self._left) else rows
        while len(rows) >= self.group:
            if self._count == self._most:
                self._halve()
            count = min(len(rows) // self.group, self._most - self._count)
            whole, rows = np.split(rows, [count * self.group])
            self._grow(self._count + count)
            self._table[self._count:self._count + count] = whole.reshape(
                count, self.group, -1).mean(axis=1)
            self._count += count
        self._left = rows.copy()

    def rows(self) -> Array:
        """All rows, (N, columns)."""
        return self._table[:self._count]

    def _halve(self) -> None:
        """Average the kept rows in pairs."""
        self._count //= 2
        self.group *= 2
        pairs = self._table[:2 * self._count].reshape(self._count, 2, -1)
        for start in range(0, self._count, 65536):          # in pieces: no second table
            stop = min(start + 65536, self._count)
            self._table[start:stop] = pairs[start:stop].mean(axis=1)

    def _grow(self, need: int) -> None:
        if need > len(self._table):
            table = np.empty((min(max(need, 2 * len(self._table)), self._most),
                              self._table.shape[1]))
            table[:self._count] = self.rows()
            self._table = table
