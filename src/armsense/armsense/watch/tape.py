"""Board readings over time, and what collision monitors say to them.

Campaigns, calibration and replays look at the same recording more than once: the arm is simulated
or recorded once, every observer and threshold is tried on the tape.

Sensor processing does not depend on the observer's past, so a regular tape (one period, no NaN, a
base that stands) is processed in one go; only the observer goes from sample to sample, and the
detector where something exceeds a threshold. Observers that differ by their filter alone share the
dynamics. Every number is computed by the same operations in the same order as in
`watch_every_sample`, so the result is the same bit for bit; a test compares both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from armsense.detector import Detection, ONSETS
from armsense.drive import Drive, RigidDrive
from armsense.errors import BadValue
from armsense.model.base_motion import BaseMotion
from armsense.observer import Observer
from armsense.types import ArmState, Array, Flags
from armsense.watch.collision_monitor import CollisionMonitor

SECOND = 10**9   # [ns]
_SAME_PERIOD = 1e-6   # relative


class Tape(NamedTuple):
    """N readings of an arm of n joints."""

    stamp: NDArray[np.int64]      # [ns] (N,)
    position: Array               # [rad] (N, n)
    torque: Array                 # [Nm] (N, n)
    joint_position: Array         # [rad] (N, n) or (N, 0)
    strain: Array                 # [1] (N, n) or (N, 0)
    enabled: Flags                # (N,)
    base_motion: Array | None = None   # rows of `BaseMotion`, (N, 3, 3); None: the base stands

    @classmethod
    def of(cls, stamps: Iterable[int], readings: Sequence[Any], enabled: Iterable[bool]) -> Tape:
        """A tape of readings kept one by one, such as `boards.joint_map.Reading`."""
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
        parts: list[Any] = [None if rows is None else rows[begin:end] for rows in self]
        return Tape(*parts)


class Trace(NamedTuple):
    """A monitor's answers to a tape."""

    time: Array                        # [s] since the first reading, (N,)
    q: Array                           # [rad] (N, n)
    dq: Array                          # [rad/s] (N, n)
    raw: Array                         # [Nm] (N, n)
    filtered: Array                    # [Nm] (N, n)
    threshold: Array                   # [Nm] (N, n)
    exceeded: Flags                    # (N, n)
    lasting: Flags                     # (N, n) joints in contact
    lasts_for: Array                   # [s] (N,)
    valid: Flags                       # (N,)
    statistic: Array                   # of onsets by age (N, ONSETS), or (N, 0)
    onset_level: Array                 # of it (ONSETS,), or () where there is none
    detections: tuple[tuple[int, Detection], ...]   # with the number of the reading
    links: tuple[str, ...]             # that each detection points to

    @property
    def watched(self) -> Array:
        """Residuals and, behind them, the statistic of onsets, (N, n) or (N, n + ONSETS)."""
        return np.hstack([self.filtered, self.statistic])

    @property
    def ratio(self) -> Array:
        """Largest residual or statistic over its limit, 0 where it is not valid, (N,)."""
        ratio = (np.abs(self.filtered) / self.threshold).max(axis=1)
        if self.onset_level.size:
            ratio = np.maximum(ratio, (self.statistic / self.onset_level).max(axis=1))
        return np.asarray(np.where(self.valid, ratio, 0.0))


def watch_every_sample(monitor: CollisionMonitor, tape: Tape) -> Trace:
    """Step a new monitor through a tape, as the node steps through its messages."""
    count, n = tape.position.shape
    table = np.zeros((5, count, n))
    q, dq, raw, filtered, threshold = table
    exceeded, lasting = np.zeros((2, count, n), bool)
    statistic = np.zeros((count, 0 if monitor.onsets is None else ONSETS))
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
        statistic[k] = result.statistic
        if result.detection is not None:
            detections.append((k, result.detection))
            links.append(named_link(monitor, result.detection, result.q))
    time = (tape.stamp - tape.stamp[0]) / SECOND
    return Trace(time, q, dq, raw, filtered, threshold, exceeded, lasting, lasts_for, valid,
                 statistic, np.array(monitor.detector.thresholds.onset if monitor.onsets else ()),
                 tuple(detections), tuple(links))


def named_link(monitor: CollisionMonitor, detection: Detection, q: Array) -> str:
    """The link that the event of a detection names at q [rad], (n,)."""
    isolation = monitor.isolate_detection(detection, q)
    return monitor.model.link_names[isolation.joint if isolation else detection.joint]


def watch(monitor: CollisionMonitor, tape: Tape) -> Trace:
    """What a new monitor says to a tape."""
    return watch_all([monitor], tape)[0]


def watch_all(monitors: Sequence[CollisionMonitor], tape: Tape) -> list[Trace]:
    """What new monitors of one arm, alike but for observers and thresholds, say to a tape."""
    quick = [monitor for monitor in monitors if _regular(monitor, tape)]
    traces = iter(_watch_regular(quick, tape) if quick else ())
    return [next(traces) if monitor in quick else watch_every_sample(monitor, tape)
            for monitor in monitors]


def _watch_regular(monitors: Sequence[CollisionMonitor], tape: Tape) -> list[Trace]:
    first = monitors[0]
    states = first.estimator.batch(tape.position, tape.torque, tape.joint_position, tape.strain)
    torque = link_torques(first.drive, states)
    steps = np.diff(tape.stamp, prepend=tape.stamp[0]) * 1e-9
    resets = tape.enabled & ~np.concatenate([[False], tape.enabled[:-1]])
    known: dict[type[Observer], _Observed] = {}   # what differs by the filter alone
    traces = []
    for monitor in monitors:
        kind = type(monitor.observer)
        if kind in known:
            observed = _filter(monitor.observer, known[kind], steps, resets)
        else:
            observed = known[kind] = _observe(monitor.observer, states, torque, steps, resets)
        traces.append(_trace(monitor, tape, states, observed, steps, resets))
    return traces


def _trace(monitor: CollisionMonitor, tape: Tape, states: ArmState, observed: _Observed,
           steps: Array, resets: Flags) -> Trace:
    raw, filtered, anchored = observed
    valid = anchored & tape.enabled
    threshold = np.broadcast_to(np.array(monitor.detector.thresholds.constant), filtered.shape)
    exceeded = _hold(np.abs(filtered) > threshold, valid, resets)
    detections, lasting, lasts_for = _detect(monitor, filtered, states.dq, exceeded,
                                             steps, valid, resets)
    time = (tape.stamp - tape.stamp[0]) / SECOND
    return Trace(time, states.q, states.dq, raw, filtered, threshold,
                 exceeded, lasting, lasts_for, valid, np.zeros((len(time), 0)), np.zeros(0),
                 tuple(detections),
                 tuple(named_link(monitor, found, states.q[k]) for k, found in detections))


def _regular(monitor: CollisionMonitor, tape: Tape) -> bool:
    """Whether the short way is the same as the long one."""
    limits, options = monitor.detector.thresholds, monitor.detector.options
    if tape.base_motion is not None or monitor.onsets is not None:
        return False
    if limits.velocity or limits.acceleration or any(options.standstill_margin) or any(
            options.reversal_margin):
        return False
    period = monitor.observer.options.period
    steps = np.diff(tape.stamp) * 1e-9
    return bool((np.abs(steps - period) <= _SAME_PERIOD * period).all()
                and all(np.isfinite(part).all() for part in (
                    tape.position, tape.torque, tape.joint_position, tape.strain)))


class _Observed(NamedTuple):
    raw: Array        # [Nm] (N, n)
    filtered: Array   # [Nm] (N, n)
    valid: Flags      # (N,)


def link_torques(drive: Drive, states: ArmState) -> Array:
    """Of a whole recording [Nm], (N, n)."""
    if isinstance(drive, RigidDrive):
        return drive.link_torque(states)
    rows = zip(*(part for part in states if part is not None), strict=True)
    return np.array([drive.link_torque(ArmState(*row)) for row in rows])


def _observe(observer: Observer, states: ArmState, torque: Array, steps: Array,
             resets: Flags) -> _Observed:
    q, dq = states.q, states.dq
    raw, filtered = np.empty_like(q), np.empty_like(q)
    valid = np.zeros(len(q), bool)
    step, starts = observer.step, resets.tolist()
    for k, dt in enumerate(steps.tolist()):
        if starts[k]:
            observer.reset()
        filtered[k] = step(q[k], dq[k], torque[k], dt)
        raw[k] = observer.raw
        valid[k] = observer.valid
    return _Observed(raw, filtered, valid)


def _filter(observer: Observer, other: _Observed, steps: Array, resets: Flags) -> _Observed:
    """The same raw torque through another filter."""
    filtered = np.empty_like(other.raw)
    residual = np.zeros(other.raw.shape[1])
    step, reset = observer.filter.step, observer.filter.reset
    starts, valid = resets.tolist(), other.valid.tolist()
    for k, dt in enumerate(steps.tolist()):
        if starts[k]:
            reset()
            residual = np.zeros(other.raw.shape[1])
        if valid[k]:
            residual = step(other.raw[k], dt)
        filtered[k] = residual
    return _Observed(other.raw, filtered, other.valid)


def _hold(exceeded: Flags, valid: Flags, resets: Flags) -> Flags:
    """Samples that reach no detector repeat the flags before them; a reset clears them."""
    for k in np.flatnonzero(~valid).tolist():
        exceeded[k] = False if k == 0 or resets[k] else exceeded[k - 1]
    return exceeded


def _detect(monitor: CollisionMonitor, filtered: Array, dq: Array, exceeded: Flags, steps: Array,
            valid: Flags, resets: Flags) -> tuple[list[tuple[int, Detection]], Flags, Array]:
    """Detections and contacts that last; stepped only from where a threshold is exceeded."""
    detector, found = monitor.detector, []
    lasting, lasts_for = np.zeros_like(exceeded), np.zeros(len(valid))
    bounds = [0, *np.flatnonzero(resets).tolist(), len(valid)]
    for begin, end in zip(bounds[:-1], bounds[1:], strict=True):
        numbers = begin + np.flatnonzero(valid[begin:end])
        loud = np.flatnonzero(exceeded[numbers].any(axis=1))   # among the numbers
        clock = np.concatenate([[0.0], np.cumsum(steps[numbers])])
        k = 0
        while (later := loud[np.searchsorted(loud, k):]).size:
            k = int(later[0])
            detector.reset()
            detector.time = float(clock[k])
            quiet = 0
            while k < len(numbers) and (detector.tripped or quiet <= detector.options.window):
                number = int(numbers[k])
                detection = detector.step(filtered[number], dq[number], float(steps[number]))
                if detection is not None:
                    found.append((number, detection))
                lasting[number], lasts_for[number] = detector.lasting, detector.lasts_for
                quiet = 0 if detector.exceeded.any() else quiet + 1
                k += 1
    return found, lasting, lasts_for
