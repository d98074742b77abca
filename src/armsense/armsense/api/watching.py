"""Collisions of a robot, sample by sample or of a whole recording: the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armsense.detector import ContactEstimate
from armsense.errors import BadValue
from armsense.identify.signals.recording import Recording
from armsense.jobs.replay import Event, Replay, replay
from armsense.model import Arm
from armsense.model.model_file import ModelFile, Thresholds
from armsense.recordings.bag_tape import BagTape
from armsense.types import Array, Flags
from armsense.watch import calibrate as calibration
from armsense.watch.collision_monitor import CollisionMonitor, DetectionConfig
from armsense.watch.tape import SECOND, Tape

NONE: tuple[float, ...] = ()


class Hit(NamedTuple):
    """A collision in the sample that decided it."""

    time: float     # [s]
    joint: str      # whose residual exceeds its threshold
    link: str       # that was touched
    residual: Array    # [Nm], (n,)
    contact: ContactEstimate | None   # force felt so far and point; None: no shape, no point

    def __repr__(self) -> str:
        return f'<Hit at {self.time:.3f} s: {self.link}, felt at {self.joint}>'


class Sample(NamedTuple):
    """Answer to one state; true where a collision begins."""

    time: float           # [s]
    residual: Array       # torque that the model does not explain [Nm], (n,)
    threshold: Array      # [Nm], (n,)
    valid: bool           # False while the observer settles
    collision: Hit | None    # in the sample that decided it
    lasting: Flags        # joints in contact, (n,)

    @property
    def contact(self) -> ContactEstimate | None:
        """Force and point, in the sample of a collision."""
        return None if self.collision is None else self.collision.contact

    def __bool__(self) -> bool:
        return self.collision is not None

    def __repr__(self) -> str:
        what = repr(self.collision) if self.collision else 'free' if self.valid else 'not valid'
        return f'<Sample {self.time:.3f} s: {np.round(self.residual, 2).tolist()} Nm, {what}>'


class Watch:
    """Watches one robot; made by `watch`."""

    def __init__(self, monitor: CollisionMonitor) -> None:
        self.monitor = monitor
        self._last: int | None = None   # [ns]

    @property
    def robot(self) -> Arm:
        return self.monitor.model

    def step(self, t: float, q: ArrayLike, effort: ArrayLike, enabled: bool = True) -> Sample:
        """Take one state: time [s], angles [rad] and efforts as the robot reports them, (n,).

        Velocities are taken from the angles, as the nodes do. While the motors are off nobody
        knows what holds the robot: then `enabled` is False.
        """
        stamp = round(t * SECOND)
        dt = 0.0 if self._last is None else (stamp - self._last) * 1e-9
        if dt < 0.0:
            raise BadValue('time', t, f'>= {self._last} ns, that of the sample before')
        self._last = stamp
        angles, tau = np.asarray(q, float), self.robot.effort_torque(effort)
        for what, values in (('angles', angles), ('efforts', tau)):
            if values.shape != (self.robot.n,):
                raise BadValue(f'shape of the {what}', values.shape, f'({self.robot.n},)')
        result = self.monitor.step(angles, tau, NONE, NONE, enabled, dt)  # type: ignore[arg-type]
        hit = None
        if result.detection is not None:
            found, names = result.detection, self.robot.link_names
            joint = result.isolation.joint if result.isolation else found.joint
            hit = Hit(t, self.robot.joint_names[found.joint], names[joint], found.residual,
                      self.monitor.contact(found.new, found.threshold, result.q, joint))
        return Sample(t, result.filtered, result.threshold, result.valid, hit,
                      np.array(result.lasting))

    def reset(self) -> None:
        """Forget all states, such as after a pause."""
        self.monitor.reset()
        self._last = None

    def __repr__(self) -> str:
        limits = ', '.join(f'{x:.3g}' for x in self.monitor.detector.thresholds.constant)
        return (f'<Watch {self.robot.name}: {self.robot.config.rate:g} Hz, '
                f'{self.monitor.config.observer} observer, thresholds {limits} Nm>')


def watch(robot: Arm, *, rate: float | None = None, thresholds: Thresholds | str | None = None,
          observer: str | None = None) -> Watch:
    """Watch a robot: its states in, residuals and collisions out.

    Args:
        robot: Identified if possible: `fit.robot`, or `load('ur10e', 'model.yaml')`.
        rate: Of the states [Hz]; None: that of the robot.
        thresholds: Of `calibrate`, or the `model.yaml` that holds them; None: a share of the
            effort limits.
        observer: Such as `'kalman'`; None: that of config/detection.yaml.

    Example:
        >>> watch = armsense.watch(robot, rate=500)
        >>> for t, q, tau in recording:
        ...     if watch.step(t, q, tau):
        ...         print('felt at', t)
    """
    return Watch(_monitor(robot, rate, thresholds, observer))


@dataclass(frozen=True, repr=False)
class Residuals:
    """Of a whole recording; made by `residuals`."""

    run: Replay

    @property
    def t(self) -> Array:
        """[s] since the first sample, (N,)."""
        return self.run.trace.time

    @property
    def residual(self) -> Array:
        """[Nm], (N, n)."""
        return self.run.trace.filtered

    @property
    def threshold(self) -> Array:
        """[Nm], (N, n)."""
        return self.run.trace.threshold

    @property
    def valid(self) -> Flags:
        """Whether the observer had settled, (N,)."""
        return self.run.trace.valid

    @property
    def collisions(self) -> tuple[Event, ...]:
        """Time, joint, link, force and point of each."""
        return self.run.events

    def plot(self, path: str | Path | None = None) -> Any:
        """A figure of residuals and thresholds, joint by joint; with a path, as a file."""
        from matplotlib import pyplot

        from armsense.jobs.replay import draw_on
        figure = draw_on(self.run, lambda **how: pyplot.figure(**how))
        if path is not None:
            figure.savefig(path, dpi=110)
        return figure

    def to_dataframe(self) -> Any:
        """A pandas data frame: t, residual and threshold of each joint, valid."""
        import pandas
        names = self.run.model.joint_names
        return pandas.DataFrame({'t': self.t, **{
            f'{what}_{name}': rows[:, k] for what, rows in (
                ('residual', self.residual), ('threshold', self.threshold))
            for k, name in enumerate(names)}, 'valid': self.valid})

    def __repr__(self) -> str:
        count = len(self.collisions)
        return (f'<Residuals of {self.run.model.name}: {len(self.t)} samples, {self.t[-1]:.1f} s, '
                f'{count} collision{"" if count == 1 else "s"}>')


def residuals(recording: Recording, robot: Arm, *, thresholds: Thresholds | str | None = None,
              observer: str | None = None) -> Residuals:
    """What a watch would have said to a recording, at its own rate; the same numbers.

    Example:
        >>> trace = armsense.residuals(rec, fit.robot)
        >>> trace.plot()
    """
    monitor = _monitor(robot, _rate(recording), thresholds, observer)
    bag = BagTape(_tape(recording), np.arange(len(recording.t), dtype=np.uint64), None, ())
    return Residuals(replay(monitor.model, bag, monitor.config, monitor.detector.thresholds,
                            observer))


def calibrate(recordings: Recording | Sequence[Recording], robot: Arm, *, per_hour: float = 0.1,
              confidence: float = 0.9, observer: str | None = None) -> Thresholds:
    """Thresholds for so many false alarms per hour, from motion that nobody touched.

    Its `warnings` say what a recording was too short for.

    Example:
        >>> watch = armsense.watch(robot, thresholds=armsense.calibrate(free, robot))
    """
    several = (recordings,) if isinstance(recordings, Recording) else tuple(recordings)
    arm = robot.with_rate(_rate(several[0]))
    config = DetectionConfig.of(arm)
    found = [calibration.free_residuals(arm, config, _tape(recording), observer)
             for recording in several]
    return calibration.calibrate(found, arm.n, config, 1.0 / arm.config.rate, per_hour,
                                 confidence).thresholds


def _monitor(robot: Arm, rate: float | None, thresholds: Thresholds | str | None,
             observer: str | None) -> CollisionMonitor:
    arm = robot if rate is None else robot.with_rate(rate)
    if isinstance(thresholds, (str, Path)):
        thresholds = ModelFile.read(thresholds, arm=arm.name).thresholds
    return CollisionMonitor(arm, DetectionConfig.of(arm), thresholds, observer)


def _rate(recording: Recording) -> float:
    """Without the last digits, which are those of the stamps [Hz]."""
    return float(f'{recording.rate:.6g}')


def _tape(recording: Recording) -> Tape:
    count = len(recording.t)
    return Tape(np.round(recording.t * SECOND).astype(np.int64), recording.q, recording.tau,
                np.empty((count, 0)), np.empty((count, 0)), np.ones(count, bool))
