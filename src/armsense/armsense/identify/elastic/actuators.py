"""Actuator side of elastic joints: stiffness, damping and friction from motor torques.

    tau_m - I_m ddtheta = d_e ddelta + d_v dtheta + k_e delta + d_C sgn(dtheta) + o
    delta = theta - q - r q_c

Thesis 000, eq. 4.4, with the cable coupling of eqs. 3.9-3.10: where the cable of a joint runs over
a pulley on joint c, k_e r is the coefficient of one more column, -q_c. All parameters appear
alone: no reduction is needed. Recordings have encoders on both sides of the springs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armsense.drive.elastic_joint import ElasticJoint
from armsense.errors import ArmsenseError, BadValue
from armsense.identify.estimation.base_parameters import (
    base_parameters,
    BaseEstimate,
    estimate_base,
)
from armsense.identify.signals.filters import in_band, Motion, motion, torque_band
from armsense.identify.signals.recording import Recording
from armsense.model.arm import Arm
from armsense.model.arm_config import ArmConfig
from armsense.types import Array

SMOOTHING = 0.01     # [rad/s] of the sign
BAND = 1.6           # motion filter over torque filter
TERMS = ('stiffness', 'damping', 'viscous', 'coulomb', 'offset')


@dataclass(frozen=True)
class ElasticRecording:
    """Samples on a regular clock, motor quantities on the joint side of the gear."""

    t: Array        # [s], (N,)
    theta: Array    # motor angles [rad], (N, n)
    q: Array        # joint angles [rad], (N, n)
    tau: Array      # motor torques [Nm], (N, n)
    name: str = 'recording'

    def __post_init__(self) -> None:
        if self.theta.shape != self.q.shape:
            raise BadValue(f'{self.name}: shape of the motor angles', self.theta.shape,
                           f'{self.q.shape}, as the joint angles')
        self.motor_side(), self.link_side(self.tau)     # they check themselves

    @property
    def rate(self) -> float:
        """[Hz]."""
        return self.motor_side().rate

    def motor_side(self) -> Recording:
        """Motor angles and motor torques."""
        return Recording(self.t, self.theta, self.tau, None, f'{self.name}, motors')

    def link_side(self, tau: Array) -> Recording:
        """Joint angles and torques behind the springs."""
        return Recording(self.t, self.q, tau, None, f'{self.name}, links')

    def motions(self, cutoff: float) -> tuple[Motion, Motion]:
        """Smooth motion of motors and joints."""
        return (motion(self.motor_side(), cutoff), motion(self.link_side(self.tau), cutoff))


@dataclass(frozen=True)
class Actuators:
    """Drives of n elastic joints, (n,) each."""

    stiffness: Array       # k_e [Nm/rad]
    damping: Array         # d_e [Nm s/rad]
    viscous: Array         # d_v [Nm s/rad]
    coulomb: Array         # d_C [Nm]
    offset: Array          # [Nm]
    inertia: Array         # I_m on the joint side [kg m^2]
    coupling: Array        # R, (n, n)
    estimate: BaseEstimate   # with intervals, names such as stiffness2

    def springs(self, link_damping: Array | None = None) -> ElasticJoint:
        """Springs for a drive."""
        return ElasticJoint(self.stiffness, self.damping, self.coupling, link_damping)

    def interval(self, name: str) -> tuple[float, float]:
        """95 % of one parameter, such as `stiffness2`."""
        low, high = self.estimate.intervals()[self.estimate.names.index(name)]
        return float(low), float(high)


def identify_actuators(recordings: Sequence[ElasticRecording], model: Arm,
                       cutoff: float | None = None, find_coupling: bool = True) -> Actuators:
    """First step of two: the drives.

    Args:
        recordings: With motor torques.
        model: The arm; its yaml states which cable runs over which joint, and rotor inertias.
        cutoff: Of the torque band [Hz]; None: from the motion.
        find_coupling: Whether the ratios of the cables are identified too.
    """
    config = elastic_config(model)
    inertia = np.array([joint.reflected_inertia for joint in config.joints.values()])
    cables = cable_joints(config) if find_coupling else {}
    names = tuple(f'{term}{k + 1}' for term in TERMS for k in range(model.n)) + tuple(
        f'cable{k + 1}' for k in cables)
    columns, torques = [], []
    for recording in recordings:
        band = cutoff or torque_band(recording.motor_side())
        A, y = actuator_columns(recording, config, inertia, cables, BAND * band)
        columns.append(in_band(A, band, recording.rate))
        torques.append(in_band(y, band, recording.rate))
    base = base_parameters(np.concatenate([A.reshape(-1, len(names)) for A in columns]), names,
                           prefer=names)
    found = estimate_base(base, columns, torques, _weights(base.independent, columns, torques))
    value = dict(zip(base.names, found.values, strict=True))
    parts = {term: np.array([value.get(f'{term}{k + 1}', 0.0) for k in range(model.n)])
             for term in TERMS}
    coupling = ElasticJoint.from_config(config).coupling
    for k, c in cables.items():
        coupling[k, c] = value[f'cable{k + 1}'] / parts['stiffness'][k]
    return Actuators(**parts, inertia=inertia, coupling=coupling, estimate=found)


def actuator_columns(recording: ElasticRecording, config: ArmConfig, inertia: Array,
                     cables: dict[int, int], cutoff: float) -> tuple[Array, Array]:
    """Columns of all joints, (N, n, p), and torques without the rotors', (N, n)."""
    motors, joints = recording.motions(cutoff)
    springs = ElasticJoint.from_config(config)
    path = np.eye(config.n) + springs.coupling
    for k, c in cables.items():
        path[k, c] = 0.0            # a column of its own
    delta, rate = motors.q - joints.q @ path.T, motors.dq - joints.dq @ path.T
    shapes = (delta, rate, motors.dq, np.tanh(motors.dq / SMOOTHING), np.ones_like(delta))
    A = np.concatenate([shape[:, :, None] * np.eye(config.n) for shape in shapes], axis=2)
    extra = np.zeros((len(delta), config.n, len(cables)))
    for column, (k, c) in enumerate(cables.items()):
        # The damper of the cable moves with the same ratio; its share is small beside the spring.
        ratio = config.joints[config.joint_names[k]].elastic
        assert ratio is not None
        extra[:, k, column] = -(joints.q[:, c]
                                + ratio.damping / ratio.stiffness * joints.dq[:, c])
    return np.concatenate([A, extra], axis=2), recording.tau - inertia * motors.ddq


def elastic_config(model: Arm) -> ArmConfig:
    """The arm's yaml, where every joint has a spring."""
    if any(joint.elastic is None for joint in model.config.joints.values()):
        raise ArmsenseError(f'{model.name}: every joint must be elastic')
    return model.config


def cable_joints(config: ArmConfig) -> dict[int, int]:
    """Joints whose cable runs over another: index -> index of the other."""
    out = {}
    for k, joint in enumerate(config.joints.values()):
        if joint.elastic is not None and joint.elastic.coupled_to is not None:
            out[k] = config.joint_names.index(joint.elastic.coupled_to)
    return out


def _weights(keep: tuple[int, ...], columns: list[Array], torques: list[Array]) -> list[Array]:
    """Inverse variances of the joints' errors."""
    X = np.concatenate(columns)[:, :, list(keep)]
    y = np.concatenate(torques)
    beta = np.linalg.lstsq(X.reshape(-1, X.shape[2]), y.ravel(), rcond=None)[0]
    variance = np.maximum(np.mean(np.square(y - X @ beta), axis=0), 1e-18)
    return [np.broadcast_to(1.0 / variance, part.shape) for part in torques]
