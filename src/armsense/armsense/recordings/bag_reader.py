"""Joint states and motor states of a rosbag2 recording as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys import get_types_from_msg, get_typestore, Stores, TypesysError

from armsense.errors import ArmsenseError, UnknownName
from armsense.identify.robot_file import SourceConfig
from armsense.recordings.bag_files import BagFacts, messages, RawMessage
from armsense.recordings.cdr import BadRecord, MessageType
from armsense.recordings.columns import Columns, seconds
from armsense.recordings.definitions import JOINT_STATE, message_type, MOTOR_STATES
from armsense.recordings.rows import MOST, PARTS, RowFilter, RowStore
from armsense.recordings.signals import Signals

BATCH = 4096
MOST_LAYOUTS = 8                     # that are remembered
WANTED = {*PARTS, 'torque', 'stamp_ns', 'time_ns'}
NUMBERS = (Nodetype.SEQUENCE, ((Nodetype.BASE, ('float64', 0)), 0))
NEEDED = {                           # of motor states, by rosbags' names for their types
    'header': (Nodetype.NAME, 'std_msgs/msg/Header'),
    **dict.fromkeys(('position', 'velocity', 'torque', 'joint_position', 'strain'), NUMBERS)}


def read_bag(path: Path, source: SourceConfig, joints: tuple[str, ...],
             most_rows: int = MOST) -> Signals:
    """Signals of `joints` from the topic of the robot file, in bounded memory.

    Args:
        path: File or folder.
        source: Topic and names; no topic: that of the only motor states.
        joints: Names of the joints.
        most_rows: Samples that are kept; more are averaged in groups.
    """
    notes: list[str] = []
    topics: dict[str, str] = {}
    readers: dict[str, _Reader] = {}
    for message in messages(path, notes):
        topics.setdefault(message.topic, message.type)
        if not (message.type == MOTOR_STATES if source.topic is None
                else message.topic == source.topic):
            continue
        if message.topic not in readers:
            readers[message.topic] = _Reader(source.names or joints, path, most_rows)
        readers[message.topic].take(message)
    if not topics:
        raise ArmsenseError(f'{path.name} holds no message' + (f' ({notes[0]})' if notes else ''))
    reader = readers[_chosen(path.name, topics, source.topic)]
    reader.finish()
    return reader.signals(notes)


def choose_states(where: str, kinds: Mapping[str, str], topic: str | None) -> str:
    """Topic of the motor states.

    Args:
        where: Name of the bag, for errors.
        kinds: Types of its topics.
        topic: That is wanted; None: the only one of that type.
    """
    candidates = [name for name, kind in kinds.items() if kind == MOTOR_STATES]
    if topic is None and len(candidates) == 1:
        return candidates[0]
    if topic in candidates:
        return str(topic)
    if topic is None and candidates:
        raise ArmsenseError(f'{where} has several arms; choose a topic: {", ".join(candidates)}')
    known = [f'{name} ({kind})' for name, kind in kinds.items()] or ['nothing']
    raise UnknownName('topic of MotorStates', topic or 'motor_states', known, where)


def _chosen(where: str, topics: dict[str, str], topic: str | None) -> str:
    if topic is None:
        return choose_states(where, topics, None)
    if topic not in topics:
        known = [f'{name} ({kind})' for name, kind in topics.items()]
        raise UnknownName('topic', topic, known, where)
    return topic


class _Reader:
    """Messages to rows [stamp, recorded, then the numbers of PARTS]."""

    def __init__(self, names: tuple[str, ...], path: Path, most_rows: int) -> None:
        self.names, self.path, self.where = names, path, path.name
        self.store = get_typestore(Stores.ROS2_JAZZY)
        self.kinds: dict[str, MessageType] = {}
        self.layouts: list[Columns] = []        # that came so far, the last one first
        self.batch: list[RawMessage] = []
        self.seen = self.damaged = self.others = 0
        self.reason = ''                        # why the first damaged message could not be read
        self.strangers: tuple[str, ...] = ()    # joints of messages that hold none of ours
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
        if message.type not in self.kinds:
            self._learn(message)
        try:
            layout = Columns(self.kinds[message.type], message.data)
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
        return [present.index(name) for name in self.names]

    def _learn(self, message: RawMessage) -> None:
        """Which fields the messages have."""
        if message.type not in (JOINT_STATE, MOTOR_STATES):
            raise ArmsenseError(f'{self.where}: {message.topic} carries {message.type}; '
                                f'{JOINT_STATE} or {MOTOR_STATES} is needed')
        if message.type == MOTOR_STATES:
            self._learn_motor_states(message)
        self.kinds[message.type] = message_type(message.type, self.store)

    def _learn_motor_states(self, message: RawMessage) -> None:
        if not message.definition:
            raise ArmsenseError(f'{self.where}: the type {message.type} is unknown and the bag '
                                'does not define it')
        try:
            self.store.register(get_types_from_msg(message.definition, message.type))
            fields = dict(self.store.get_msgdef(message.type).fields)
        except (TypesysError, KeyError) as error:   # the second: a part is not defined
            raise ArmsenseError(f'{self.where}: the definition of {message.type} is damaged'
                                ) from error
        wrong = [name for name, kind in NEEDED.items() if fields.get(name) != kind]
        if wrong:
            raise ArmsenseError(f'{self.where}: the definition of {message.type} lacks or changes '
                                f'{", ".join(wrong)}')

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
                       given('strain'))

    def _nothing(self) -> ArmsenseError:
        """Why no message could be used."""
        lacking = self.usable.never()
        if lacking is not None:
            return ArmsenseError(f'{self.where}: the messages carry no {lacking}, nothing can be '
                                 'identified')
        if self.strange_count:
            return ArmsenseError(f'{self.where}: the messages are of {self.strange_count} joints, '
                                 f'the arm has {len(self.names)} ({", ".join(self.names)})'
                                 f'{_whose(self.path)}')
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


def _whose(path: Path) -> str:
    """What a bag tells of its arm beside states without names."""
    facts = BagFacts.read(path)
    if facts is not None and facts.arm:
        return f'; the bag is of {facts.arm}'
    for message in messages(path, []):
        if message.type == JOINT_STATE:
            try:
                names = Columns(message_type(JOINT_STATE), message.data).names
            except BadRecord:
                continue
            return f'; joints of {message.topic}: {", ".join(names)}'
    return ''
