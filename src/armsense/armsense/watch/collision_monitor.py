"""From board readings to collisions: state, link torque, observer, detector, one after the other.

The `collision_observer` node, `./armsense replay` and campaigns all step this class with the same
numbers, so a replayed bag gives the residual of the live run bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from armsense import schema, share
from armsense.detector import (
    ContactEstimate,
    ContactOptions,
    fixed_thresholds,
    OnsetTest,
    Thresholds,
)
from armsense.detector.contact import (
    estimate_contact,
    isolate,
    Isolation,
    link_probabilities,
    touchable,
)
from armsense.detector.detector import Detection, Detector, DetectorOptions
from armsense.detector.onset import Onset
from armsense.drive import make_drive
from armsense.errors import BadValue
from armsense.geometry.capsules import link_capsules
from armsense.model import Arm
from armsense.model.base_motion import BaseMotion
from armsense.observer import FilterOptions, LIKELIHOOD, make_observer, ObserverOptions
from armsense.observer.observer import DEFAULT_OPTIONS
from armsense.schema import quantity
from armsense.types import ArmState, Array, Flags, Press
from armsense.watch.state_estimator import StateEstimator, VelocityOptions
from armsense.watch.wanted_contact import explained_torque

# Once a collision is certain, less than a threshold tells which joints it loads; but a joint
# beyond the contact shows a few per cent of a hard impact, through errors of the mass matrix.
LOADED, LEAKAGE = 0.35, 0.03
# The same for the largest residuals of 20 ms, which hold more noise and more of those errors.
PEAK_LOADED, PEAK_LEAKAGE = 0.7, 0.06
# Uncertainty of a residual: a calibrated threshold is about five standard deviations; an impact
# adds a share of its own height, for the model is no better than that.
NOISE, IMPACT_ERROR = 0.2, 0.05
QUICK_CONTACT = ContactOptions(grid=9, refinements=0)   # in a control cycle
BRIDGED = 3              # periods of an arm, however slow, that the observer bridges
# Of an arm without a block, below 500 Hz: a residual needs some samples, velocities little time.
GAIN_PER_RATE, WINDOW, LEAST_WINDOW = 0.3, 0.024, 6   # -, [s], samples
SHARE_OF_TORQUE = 0.15   # of the torque limit: threshold of an arm that nobody has calibrated


@dataclass(frozen=True, kw_only=True)
class DetectionConfig:
    """Block of an arm in `config/detection.yaml`."""

    observer: str = 'first_order'
    gain: float = quantity(100.0, unit='1/s', above=0, text='bandwidth of the residual')
    gains: tuple[float, ...] = quantity((), unit='1/s', above=0,
                                        text='per joint, instead of one for all')
    threshold: tuple[float, ...] = quantity((), unit='Nm', above=0,
                                            text='per joint, where model.yaml has none')
    onset: tuple[float, ...] = quantity(
        (), low=0, text='levels of sudden torques, where model.yaml has none')
    filter: FilterOptions = field(default_factory=FilterOptions)
    velocity: VelocityOptions = field(default_factory=VelocityOptions)
    detector: DetectorOptions = field(default_factory=DetectorOptions)

    @classmethod
    def of(cls, model: Arm, path: str | Path | None = None) -> DetectionConfig:
        """Block of an arm; one without a block gets defaults that follow its rate."""
        file = Path(path) if path is not None else share.find('config/detection.yaml')
        blocks = schema.read_yaml(file)
        if model.name not in blocks:
            rate = model.config.rate
            usual = VelocityOptions().window
            window = min(usual, max(LEAST_WINDOW, round(WINDOW * rate)))
            return cls(gain=min(cls.gain, GAIN_PER_RATE * rate),
                       velocity=VelocityOptions(window=window))
        return schema.load(cls, blocks[model.name], f'{file.name}: {model.name}')

    @property
    def mean_gain(self) -> float:
        """Bandwidth of the residual, averaged over the joints [1/s]."""
        return float(np.mean(self.gains or self.gain))

    def thresholds(self, model: Arm) -> Thresholds:
        """Fixed thresholds of an arm without calibration."""
        values = self.threshold or [SHARE_OF_TORQUE * j.torque_limit
                                    for j in model.config.joints.values()]
        return replace(fixed_thresholds(values), onset=self.onset)


def release_level(model: Arm, config: DetectionConfig | None = None,
                  thresholds: Thresholds | None = None) -> Array:
    """Residual below which the arm's detector calls a contact ended [Nm], (n,).

    The arguments are those of `CollisionMonitor`.
    """
    config = config or DetectionConfig.of(model)
    return config.detector.release_level(thresholds or config.thresholds(model))


NO_STATISTIC = np.zeros(0)


class MonitorResult(NamedTuple):
    """Answer to one state."""

    raw: Array                    # [Nm] (n,)
    filtered: Array               # [Nm] (n,)
    threshold: Array              # [Nm] (n,)
    exceeded: Flags               # (n,)
    lasting: Flags                # (n,) joints in contact; none where the residual is not valid
    lasts_for: float              # [s] of the oldest of these contacts; 0: there is none
    valid: bool
    detection: Detection | None   # in the state that decided it
    q: Array                      # [rad] (n,)
    dq: Array                     # [rad/s] (n,)
    isolation: Isolation | None = None   # where the detection points to
    statistic: Array = NO_STATISTIC      # of onsets by age; () where the observer tests for none


class CollisionMonitor:
    """Watches one arm."""

    def __init__(self, model: Arm, config: DetectionConfig | None = None,
                 thresholds: Thresholds | None = None, observer: str | None = None) -> None:
        """Prepare for an arm, identified if possible.

        By default observer and detector are those of `config/detection.yaml`, and so are
        thresholds.
        """
        self.model = model
        self.config = config or DetectionConfig.of(model)
        self.drive = make_drive(model.config, model=model)
        elastic = any(j.drive != 'rigid' for j in model.config.joints.values())
        period = 1.0 / model.config.rate
        options = ObserverOptions(period=period, torque='sampled' if elastic else 'held',
                                  max_gap=max(DEFAULT_OPTIONS.max_gap, BRIDGED * period))
        name = observer or self.config.observer
        self.observer = make_observer(name, model, self.config.gains or self.config.gain, options)
        # After a pause that the observer does not bridge, neither does the velocity.
        self.estimator = StateEstimator(model.config, self.config.velocity, options.max_gap)
        limits = self._checked(thresholds or self.config.thresholds(model))
        self.detector = Detector(limits, self.config.detector)
        self.onsets = self._make_onsets() if name == LIKELIHOOD else None
        self._free = np.zeros(model.n, bool)
        self._enabled = False
        self.press: Press | None = None   # contact on purpose; set it whenever it changes
        self.valid = False     # the last residual counts: the observer is sure and the motors on
        self._capsules = link_capsules(model)
        self._links = touchable(model, self._capsules)

    def _checked(self, thresholds: Thresholds) -> Thresholds:
        if thresholds.n != self.model.n:
            raise BadValue('number of thresholds', thresholds.n, f'{self.model.n}')
        if thresholds.acceleration:
            raise BadValue('thresholds.acceleration', thresholds.acceleration,
                           'left out: a monitor has no accelerations to compare with')
        return thresholds

    def _make_onsets(self) -> OnsetTest:
        options = self.observer.options
        return OnsetTest(self.model, self.drive, options.period, options.max_gap,
                         self.detector.thresholds.onset, self.config.filter)

    def step(self, position: Sequence[float], torque: Sequence[float],
             joint_position: Sequence[float], strain: Sequence[float], enabled: bool,
             dt: float, motion: BaseMotion | None = None) -> MonitorResult:
        """Take one state of the boards; what they say and dt as in `StateEstimator.step`.

        What holds an arm whose motors are not `enabled` nobody knows. Without `motion` the base
        stands still; an unknown one makes the residual invalid.
        """
        state = self.estimator.step(position, torque, joint_position, strain, dt)
        if enabled and not self._enabled:
            self.observer.reset()
            self.detector.reset()
        self._enabled = enabled
        q, dq = state.q, state.dq
        link_torque = self.drive.link_torque(state)
        if motion is not None:
            link_torque = link_torque - self.model.base_motion_torque(q, dq, motion)
        if not self.estimator.settled:
            # A velocity that still changes with its window is no anchor: the observer waits.
            link_torque = np.full(self.model.n, np.nan)
        residual = self.observer.step(q, dq, link_torque, dt)
        self.valid = self.observer.valid and enabled
        detection = isolation = None
        lasting, lasts_for = self._free, 0.0
        if self.valid:
            unexplained = residual if self.press is None else residual - explained_torque(
                self.model, q, residual, self.press, self.detector.threshold)
            onset = None if self.onsets is None else self._onset(state, motion, dt)
            detection = self.detector.step(unexplained, dq, dt, onset=onset)
            lasting, lasts_for = self.detector.lasting, self.detector.lasts_for
        else:
            self.detector.pass_time(dt)
            if self.onsets is not None:
                self.onsets.reset()
        if detection is not None:
            isolation = self.isolate_detection(detection, q)
        return MonitorResult(self.observer.raw, residual, self.detector.threshold,
                             self.detector.exceeded, lasting, lasts_for, self.valid, detection,
                             q, dq, isolation,
                             NO_STATISTIC if self.onsets is None else self.onsets.statistic)

    def _onset(self, state: ArmState, motion: BaseMotion | None, dt: float) -> Onset | None:
        """A torque that began.

        While a contact lasts or is wanted, or the base moves, residuals alone decide.
        """
        assert self.onsets is not None
        if self.detector.tripped or motion is not None or self.press is not None:
            self.onsets.reset()
            return None
        return self.onsets.step(state, dt)

    def reset(self) -> None:
        """Forget all states; the observer is anchored when the velocity has its window again."""
        self.estimator.reset()
        self.observer.reset()
        self.detector.reset()
        if self.onsets is not None:
            self.onsets.reset()

    def set_model(self, model: Arm) -> None:
        """Go on with other inertias (a payload); residual and contacts begin anew."""
        self.model = self.observer.model = model
        self.drive = make_drive(model.config, model=model)
        self.observer.reset()
        self.detector.reset()
        if self.onsets is not None:
            self.onsets = self._make_onsets()

    def isolate_detection(self, detection: Detection, q: Array) -> Isolation | None:
        """The link that a detection points to at q [rad], (n,).

        A sudden torque comes with its covariance: the link is the likeliest along the shapes.
        """
        onset = detection.onset
        if onset is None or not self._capsules or not math.isfinite(q.sum()):
            return self.isolate(detection.new, detection.threshold)
        probability = link_probabilities(self.model, q, onset.torque, onset.covariance,
                                         self._capsules, QUICK_CONTACT)
        joint = int(probability.argmax())
        return Isolation(joint, self.model.link_names[joint], detection.joint,
                         detection.direction, onset.ratio, 0.0, probability)

    def isolate(self, residual: Array, threshold: Array) -> Isolation | None:
        """The link that a residual points to [Nm], (n,) each."""
        highest = float((np.abs(residual) / threshold).max())
        return isolate(self.model, residual, threshold, max(LOADED, LEAKAGE * highest),
                       self._links)

    def settled_joint(self, peak: Array, threshold: Array, joint: int) -> int:
        """Joint that moves the link of a contact, when the residual has settled.

        A contact on an outer link may load an inner joint ten times more than an outer one, which
        does not show yet when the inner one decides. It never lies further in than it seemed.
        `peak` is the largest size of each joint's residual since then, without what was known
        before (`Detection.known`) [Nm], (n,), `joint` as isolated in the state that decided.
        """
        ratio = max(PEAK_LOADED, PEAK_LEAKAGE * float((peak / threshold).max()))
        found = isolate(self.model, peak, threshold, ratio, self._links)
        return joint if found is None else max(joint, found.joint)

    def contact(self, residual: Array, threshold: Array, q: Array, joint: int,
                options: ContactOptions = QUICK_CONTACT) -> ContactEstimate | None:
        """Force and point on the link that `joint` moves; None without a shape or a pose.

        In the state that decides, the residual has only begun to rise: the force is what has been
        felt so far. Some time constants of the observer later it is the whole force. The residual
        [Nm], (n,), is without what was known before (`Detection.known`); the threshold tells its
        uncertainty. With NaN in q [rad], (n,), there is no pose to find a point at.
        """
        if not math.isfinite(q.sum()):
            return None
        if all(self.model.moving_joint(shape.link) != joint for shape in self._capsules):
            return None
        highest = float((np.abs(residual) / threshold).max())
        noise = threshold * math.hypot(NOISE, IMPACT_ERROR * highest)
        return estimate_contact(self.model, q, residual, noise, self._capsules, joint, options)
