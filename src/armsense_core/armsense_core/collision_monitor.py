"""From board readings to collisions: state, link torque, observer, detector, one after the other.

The `collision_observer` node, `./armsense replay` and campaigns all step this class with the same
numbers, so a replayed bag gives the residual of the live run bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armsense_core import schema, share
from armsense_core.detector import Detection, Detector, DetectorOptions, fixed_thresholds, Thresholds
from armsense_core.drive import make_drive
from armsense_core.errors import ArmsenseError, BadValue
from armsense_core.model import ArmModel
from armsense_core.observer import make_observer, ObserverOptions
from armsense_core.schema import quantity
from armsense_core.state_estimator import StateEstimator, VelocityOptions

Array = NDArray[np.float64]
SHARE_OF_TORQUE = 0.15   # of the torque limit: threshold of an arm that nobody has calibrated


@dataclass(frozen=True, kw_only=True)
class DetectionConfig:
    """Block of an arm in `config/detection.yaml`."""

    observer: str = 'first_order'
    gain: float = quantity(100.0, unit='1/s', above=0, text='bandwidth of the residual')
    threshold: tuple[float, ...] = quantity((), unit='Nm', above=0,
                                            text='per joint, where model.yaml has none')
    velocity: VelocityOptions = field(default_factory=VelocityOptions)
    detector: DetectorOptions = field(default_factory=DetectorOptions)

    @classmethod
    def of(cls, model: ArmModel, path: str | Path | None = None) -> DetectionConfig:
        """Block of an arm; one without a block gets the defaults."""
        file = Path(path) if path is not None else share.find('config/detection.yaml')
        blocks = schema.read_yaml(file)
        if model.name not in blocks:
            return cls()
        return schema.load(cls, blocks[model.name], f'{file.name}: {model.name}')

    def thresholds(self, model: ArmModel) -> Thresholds:
        """Fixed thresholds of an arm without calibration."""
        if self.threshold:
            if len(self.threshold) != model.n:
                raise BadValue('number of thresholds', len(self.threshold), f'{model.n}')
            return fixed_thresholds(self.threshold)
        if model.config is None:
            raise ArmsenseError(f'{model.name} has neither thresholds nor torque limits')
        return fixed_thresholds([SHARE_OF_TORQUE * j.torque_limit
                                 for j in model.config.joints.values()])


class MonitorResult(NamedTuple):
    """Answer to one state."""

    raw: Array                    # [Nm] (n,)
    filtered: Array               # [Nm] (n,)
    threshold: Array              # [Nm] (n,)
    exceeded: NDArray[np.bool_]   # (n,)
    valid: bool
    detection: Detection | None   # in the state that decided it
    q: Array                      # [rad] (n,)
    dq: Array                     # [rad/s] (n,)


class CollisionMonitor:
    """Watches one arm."""

    def __init__(self, model: ArmModel, config: DetectionConfig | None = None,
                 thresholds: Thresholds | None = None, observer: str | None = None) -> None:
        """Prepare for an arm.

        Args:
            model: The arm, identified if possible.
            config: Observer and detector; None: from `config/detection.yaml`.
            thresholds: Calibrated ones; None: those of the configuration.
            observer: Another observer than the configured one.
        """
        if model.config is None:
            raise ArmsenseError('a collision monitor needs an arm with a configuration')
        self.model = model
        self.config = config or DetectionConfig.of(model)
        self._estimator = StateEstimator(model.config, self.config.velocity)
        self._drive = make_drive(model.config, model=model)
        elastic = any(j.drive != 'rigid' for j in model.config.joints.values())
        options = ObserverOptions(period=1.0 / model.config.rate,
                                  torque='sampled' if elastic else 'held')
        self.observer = make_observer(observer or self.config.observer, model, self.config.gain,
                                      options)
        self.detector = Detector(thresholds or self.config.thresholds(model),
                                 self.config.detector)
        self._enabled = False

    def step(self, position: Sequence[float], torque: Sequence[float],
             joint_position: Sequence[float], strain: Sequence[float], enabled: bool,
             dt: float) -> MonitorResult:
        """Take one state of the boards; see `StateEstimator.step` for the arguments.

        Args:
            position: Motor angles [rad], (n,).
            torque: Motor torques by current [Nm], (n,).
            joint_position: Link-side angles [rad], (n,) or empty.
            strain: (n,) or empty.
            enabled: The motors follow commands; what holds the arm otherwise nobody knows.
            dt: Time since the state before [s].
        """
        state = self._estimator.step(position, torque, joint_position, strain, dt)
        if enabled and not self._enabled:
            self.observer.reset()
            self.detector.reset()
        self._enabled = enabled
        q, dq = state.arm.q, state.arm.dq
        residual = self.observer.step(q, dq, self._drive.link_torque(state.drive), dt)
        valid = self.observer.valid and enabled
        detection = None
        if valid:
            detection = self.detector.step(residual, dq, dt)
        return MonitorResult(self.observer.raw, residual, self.detector.threshold,
                             self.detector.exceeded, valid, detection, q, dq)
