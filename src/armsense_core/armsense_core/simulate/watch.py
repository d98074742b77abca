"""The same answers as `tape.watch`, several times faster where a tape allows it.

Sensor processing does not depend on the observer's past, so a regular tape (one period, no NaN) is
processed in one go; only the observer goes from sample to sample, and the detector where something
exceeds a threshold. Every number is computed by the same operations in the same order, so the
result is the same bit for bit; a test compares both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from armsense_core.collision_monitor import CollisionMonitor
from armsense_core.detector import Detection
from armsense_core.drive import RigidDrive
from armsense_core.drive.reading import DriveReading
from armsense_core.simulate.tape import named_link, SECOND, Tape, Trace
from armsense_core.simulate.tape import watch as watch_every_sample

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
_SAME_PERIOD = 1e-6   # relative


def watch(monitor: CollisionMonitor, tape: Tape) -> Trace:
    """What a new monitor says to a tape."""
    if not _regular(monitor, tape):
        return watch_every_sample(monitor, tape)
    reading = monitor.estimator.batch(tape.position, tape.torque, tape.joint_position,
                                      tape.strain)
    steps = np.diff(tape.stamp, prepend=tape.stamp[0]) * 1e-9
    resets = tape.enabled & ~np.concatenate([[False], tape.enabled[:-1]])
    raw, filtered, anchored = _observe(monitor, reading, steps, resets)
    valid = anchored & tape.enabled
    threshold = np.broadcast_to(np.array(monitor.detector.thresholds.constant), filtered.shape)
    exceeded = _hold(np.abs(filtered) > threshold, valid, resets)
    detections = _detect(monitor, filtered, reading.joint_velocity, exceeded, steps, valid,
                         resets)
    time = (tape.stamp - tape.stamp[0]) / SECOND
    return Trace(time, reading.joint_position, reading.joint_velocity, raw, filtered, threshold,
                 exceeded, valid, tuple(detections),
                 tuple(named_link(monitor, detection) for _, detection in detections))


def _regular(monitor: CollisionMonitor, tape: Tape) -> bool:
    """Whether the short way is the same as the long one."""
    limits, options = monitor.detector.thresholds, monitor.detector.options
    if limits.velocity or limits.acceleration or any(options.standstill_margin) or any(
            options.reversal_margin):
        return False
    period = monitor.observer.options.period
    steps = np.diff(tape.stamp) * 1e-9
    return bool((np.abs(steps - period) <= _SAME_PERIOD * period).all()
                and all(np.isfinite(part).all() for part in (
                    tape.position, tape.torque, tape.joint_position, tape.strain)))


def _observe(monitor: CollisionMonitor, reading: DriveReading, steps: Array,
             resets: Flags) -> tuple[Array, Array, Flags]:
    """Raw and filtered residual (N, n), and whether they are valid (N,)."""
    observer, drive = monitor.observer, monitor.drive
    q, dq = reading.joint_position, reading.joint_velocity
    raw, filtered = np.empty_like(q), np.empty_like(q)
    valid = np.zeros(len(q), bool)
    if isinstance(drive, RigidDrive):
        torque = drive.link_torque(reading)
    else:
        rows = zip(*(part for part in reading if part is not None), strict=True)
        torque = np.array([drive.link_torque(DriveReading(*row)) for row in rows])
    step, starts = observer.step, resets.tolist()
    for k, dt in enumerate(steps.tolist()):
        if starts[k]:
            observer.reset()
        filtered[k] = step(q[k], dq[k], torque[k], dt)
        raw[k] = observer.raw
        valid[k] = observer.valid
    return raw, filtered, valid


def _hold(exceeded: Flags, valid: Flags, resets: Flags) -> Flags:
    """Samples that reach no detector repeat the flags before them; a reset clears them."""
    for k in np.flatnonzero(~valid).tolist():
        exceeded[k] = False if k == 0 or resets[k] else exceeded[k - 1]
    return exceeded


def _detect(monitor: CollisionMonitor, filtered: Array, dq: Array, exceeded: Flags, steps: Array,
            valid: Flags, resets: Flags) -> list[tuple[int, Detection]]:
    """Detections; the detector is stepped only from where a threshold is exceeded."""
    detector, found = monitor.detector, []
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
                quiet = 0 if detector.exceeded.any() else quiet + 1
                k += 1
    return found
