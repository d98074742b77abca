"""Readings of an arm, how its base moved, and what its observer said, from a bag."""

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from armsense.base.imu_motion import ImuMotion, stamp_ns
from armsense.errors import ArmsenseError
from armsense.recordings.bag_files import (
    choose_states,
    deserialize,
    IMU,
    message_type,
    messages,
    MOTOR_STATES,
    our_types,
    PAYLOAD,
    RESIDUAL,
)
from armsense.recordings.cdr import BadRecord, Columns, nanoseconds
from armsense.types import Array
from armsense.watch import Tape

Vector = tuple[float, float, float]


class Mounting(NamedTuple):
    """Of the unit in the base frame."""

    rpy: Vector = (0.0, 0.0, 0.0)        # [rad] about fixed x, y, z
    position: Vector = (0.0, 0.0, 0.0)   # [m]


ALIGNED = Mounting()


class RecordedResidual(NamedTuple):
    """What the observer of the live run published, M messages."""

    seq: NDArray[np.uint64]       # (M,)
    raw: Array                    # [Nm] (M, n)
    filtered: Array               # [Nm] (M, n)
    valid: NDArray[np.bool_]      # (M,)


class BagTape(NamedTuple):
    """One bag."""

    tape: Tape
    seq: NDArray[np.uint64]             # (N,) of the states
    residual: RecordedResidual | None   # None: the bag has none
    notes: tuple[str, ...]
    payload: Any = None   # `InertiaStamped` in the tool, as told last; None: nothing
    rate: float | None = None   # of the samples [Hz]; None: that of the arm


def read_tape(path: Path, n: int, topic: str | None = None,
              imu: Mounting | None = ALIGNED) -> BagTape | None:
    """Read the motor states of an arm of n joints, and how its base moved; None: it has none.

    From a file or folder: sqlite3 or MCAP, split, compressed, cut off, with or without metadata; a
    topic of None is the only one of that type. `imu` tells how the unit sits that recorded the
    topic `imu`; None: that topic is ignored.
    """
    notes: list[str] = []
    found: dict[str, list[bytes]] = {}
    kinds: dict[str, str] = {}
    for message in messages(path, notes):
        kinds[message.topic] = message.type
        if message.type in (MOTOR_STATES, RESIDUAL, IMU, PAYLOAD):
            found.setdefault(message.topic, []).append(message.data)
    name = choose_states(path.name, kinds, topic)
    if kinds[name] != MOTOR_STATES:
        return None
    states, skipped = _table(MOTOR_STATES, found[name])
    if skipped:
        notes.append(f'{skipped} states of another length were left out')
    if states['position'].shape[1] != n:
        raise ArmsenseError(f'{path.name}: {name} has {states["position"].shape[1]} joints; '
                            f'the arm has {n}')
    order = np.argsort(_time(states), kind='stable')     # files of a split bag may overlap
    states = {key: values[order] for key, values in states.items()}
    # Nodes of an arm share a namespace, so their topics do too.
    space = name.removesuffix('motor_states')
    readings = found.get(f'{space}imu')
    ride = None
    if imu is not None and readings:
        ride = base_motion(states['stamp'], readings, imu)
        notes.append(f'the base moves as {space}imu says')
    tape = Tape(_time(states), states['position'], states['torque'], states['joint_position'],
                states['strain'], states['enabled'], ride)
    payload = _payload(found.get(f'{space}payload', []), notes)
    return BagTape(tape, states['seq'], _residual(found.get(f'{space}residual'), notes),
                   tuple(notes), payload)


def base_motion(stamps: NDArray[np.int64], data: list[bytes],
                mounted: Mounting) -> NDArray[np.float64]:
    """Rows of `BaseMotion` at the stamps of N states [ns], from `sensor_msgs/Imu`, (N, 3, 3).

    Each state gets the newest reading that is not later than it, as in the node, which gives the
    numbers of a lock-step run bit for bit. NaN where the unit was silent.
    """
    readings = sorted((deserialize(our_types(), IMU, d) for d in data), key=stamp_ns)
    newest = np.searchsorted([stamp_ns(r) for r in readings], stamps, side='right')
    imu = ImuMotion(rpy=mounted.rpy, position=mounted.position)
    rows = np.empty((len(stamps), 3, 3))
    before = 0
    for k, (stamp, count) in enumerate(zip(stamps.tolist(), newest.tolist(), strict=True)):
        if count > before:
            imu.take_message(readings[count - 1], stamp * 1e-9)
            before = count
        rows[k] = imu.at(stamp * 1e-9)
    return rows


def _time(states: dict[str, Any]) -> NDArray[np.int64]:
    """Of the states [ns], (N,): stamps as if their clock had never been set."""
    stamp, time = states['stamp'], states.get('time_ns')
    if time is None or not time.all():
        return np.asarray(stamp)            # of an older version
    return np.asarray(stamp[0] + (time - time[0]))


def _payload(data: list[bytes], notes: list[str]) -> Any:
    """The last one of a bag; a tape has one model from its beginning to its end."""
    told = [deserialize(our_types(), PAYLOAD, d) for d in data]
    if not told or all(message.inertia.m == 0.0 for message in told):
        return None
    masses = list(dict.fromkeys(message.inertia.m for message in told))
    if len(masses) > 1:
        notes.append(f'the payload changed in the bag ({", ".join(f"{m:g}" for m in masses)} kg): '
                     f'{told[-1].inertia.m:g} kg are taken from its beginning to its end')
    else:
        notes.append(f'the tool carries {masses[0]:g} kg')
    return told[-1]


def _residual(data: list[bytes] | None, notes: list[str]) -> RecordedResidual | None:
    if not data:
        return None
    try:
        table, _ = _table(RESIDUAL, data)
    except BadRecord:      # fields are only ever added, so messages from before are too short
        notes.append('the recorded residuals are of an older version: they are not compared')
        return None
    order = np.argsort(table['stamp'], kind='stable')
    return RecordedResidual(*(table[key][order] for key in ('seq', 'raw', 'filtered', 'valid')))


def _table(name: str, data: list[bytes]) -> tuple[dict[str, Any], int]:
    """Columns of the messages with the most frequent layout, and how many had another."""
    length = Counter(map(len, data)).most_common(1)[0][0]
    columns = Columns(message_type(name), next(d for d in data if len(d) == length))
    alike = columns.alike(data)
    same = [d for d, fits in zip(data, alike, strict=True) if fits]
    table: dict[str, Any] = columns.cut(same)
    table['stamp'] = nanoseconds(table)
    return table, len(data) - len(same)
