"""Board readings over time, and what a collision monitor says to them.

Campaigns, calibration and replays look at the same recording more than once: the arm is simulated
or recorded once, every observer and threshold is tried on the tape.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from armsense.detector import Detection
from armsense.errors import BadValue
from armsense.model.base_motion import BaseMotion
from armsense.types import Array
from armsense.watch.collision_monitor import CollisionMonitor

SECOND = 10**9   # [ns]


class BoardReading(Protocol):
    """What the boards say in one cycle, joint side."""

    @property
    def position(self) -> Sequence[float]:
        """[rad] (n,)."""

    @property
    def torque(self) -> Sequence[float]:
        """[Nm] (n,)."""

    @property
    def joint_position(self) -> Sequence[float]:
        """[rad] (n,) or empty."""

    @property
    def strain(self) -> Sequence[float]:
        """[1] (n,) or empty."""


class Tape(NamedTuple):
    """N readings of an arm of n joints."""

    stamp: NDArray[np.int64]      # [ns] (N,)
    position: Array               # [rad] (N, n)
    torque: Array                 # [Nm] (N, n)
    joint_position: Array         # [rad] (N, n) or (N, 0)
    strain: Array                 # [1] (N, n) or (N, 0)
    enabled: NDArray[np.bool_]    # (N,)
    base_motion: Array | None = None   # rows of `BaseMotion`, (N, 3, 3); None: the base stands

    @classmethod
    def of(cls, stamps: Iterable[int], readings: Sequence[BoardReading],
           enabled: Iterable[bool]) -> Tape:
        """A tape of readings kept one by one."""
        if not readings:
            raise BadValue('length of a tape', 0, 'one reading or more')
        rows = len(readings)

        def column(name: str) -> Array:
            return np.array([getattr(r, name) for r in readings], float).reshape(rows, -1)
        return cls(np.fromiter(stamps, np.int64), column('position'), column('torque'),
                   column('joint_position'), column('strain'), np.fromiter(enabled, bool))

    @property
    def seconds(self) -> float:
        """From the first reading to the last."""
        return float(self.stamp[-1] - self.stamp[0]) / SECOND

    def part(self, begin: int, end: int) -> Tape:
        """The readings from number `begin` up to but not including `end`."""
        ride = None if self.base_motion is None else self.base_motion[begin:end]
        return Tape(self.stamp[begin:end], self.position[begin:end], self.torque[begin:end],
                    self.joint_position[begin:end], self.strain[begin:end],
                    self.enabled[begin:end], ride)


class Trace(NamedTuple):
    """A monitor's answers to a tape."""

    time: Array                        # [s] since the first reading, (N,)
    q: Array                           # [rad] (N, n)
    dq: Array                          # [rad/s] (N, n)
    raw: Array                         # [Nm] (N, n)
    filtered: Array                    # [Nm] (N, n)
    threshold: Array                   # [Nm] (N, n)
    exceeded: NDArray[np.bool_]        # (N, n)
    lasting: NDArray[np.bool_]         # (N, n) joints in contact
    lasts_for: Array                   # [s] (N,)
    valid: NDArray[np.bool_]           # (N,)
    detections: tuple[tuple[int, Detection], ...]   # with the number of the reading
    links: tuple[str, ...]             # that each detection points to

    @property
    def ratio(self) -> Array:
        """Largest residual over its threshold, 0 where it is not valid, (N,)."""
        ratio = (np.abs(self.filtered) / self.threshold).max(axis=1)
        return np.asarray(np.where(self.valid, ratio, 0.0))


def watch(monitor: CollisionMonitor, tape: Tape) -> Trace:
    """Step a new monitor through a tape, as the node steps through its messages."""
    count, n = tape.position.shape
    table = np.zeros((5, count, n))
    q, dq, raw, filtered, threshold = table
    exceeded, lasting = np.zeros((2, count, n), bool)
    valid, lasts_for = np.zeros(count, bool), np.zeros(count)
    detections: list[tuple[int, Detection]] = []
    links: list[str] = []
    step, last = monitor.step, int(tape.stamp[0])
    joint_position, strain, ride = tape.joint_position, tape.strain, tape.base_motion
    for k, stamp in enumerate(tape.stamp.tolist()):
        dt, last = (stamp - last) * 1e-9, stamp
        result = step(tape.position[k], tape.torque[k], joint_position[k], strain[k],
                      bool(tape.enabled[k]), dt, None if ride is None else BaseMotion(*ride[k]))
        q[k], dq[k], raw[k], filtered[k] = result.q, result.dq, result.raw, result.filtered
        threshold[k], exceeded[k], valid[k] = result.threshold, result.exceeded, result.valid
        lasting[k], lasts_for[k] = result.lasting, result.lasts_for
        if result.detection is not None:
            detections.append((k, result.detection))
            links.append(named_link(monitor, result.detection))
    time = (tape.stamp - tape.stamp[0]) / SECOND
    return Trace(time, q, dq, raw, filtered, threshold, exceeded, lasting, lasts_for, valid,
                 tuple(detections), tuple(links))


def named_link(monitor: CollisionMonitor, detection: Detection) -> str:
    """The link that the event of a detection names."""
    isolation = monitor.isolate(detection.new, detection.threshold)
    return monitor.model.link_names[isolation.joint if isolation else detection.joint]
