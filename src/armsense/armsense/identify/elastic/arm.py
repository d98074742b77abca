"""Elastic joints in two steps (thesis 000, chapter 4): springs from the motors, then the links.

Stiffness, damping and friction from motor torques (eq. 4.4, cable coupling eqs. 3.9-3.10),

    tau_m - I_m ddtheta = d_e ddelta + d_v dtheta + k_e delta + d_C sgn(dtheta) + o
    delta = theta - q - r q_c

where the cable of a joint runs over a pulley on joint c, k_e r is the coefficient of one more
column, -q_c. All parameters appear alone: no reduction is needed. Recordings have encoders on both
sides of the springs. The springs' torque then moves the links, and the load side is identified as
a rigid arm with that torque,

    P^T (K delta + D ddelta) = Phi(q, dq, ddq) pi + F dq,       P = 1 + R (cable coupling).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from armsense.drive.elastic_joint import ElasticJoint
from armsense.errors import ArmsenseError, BadValue
from armsense.identify.estimation.base_parameters import (
    base_parameters,
    BaseEstimate,
    estimate_base,
)
from armsense.identify.estimation.training import Options
from armsense.identify.identify import identify
from armsense.identify.model import IdentifiedModel, model_file
from armsense.identify.signals.filters import in_band, Motion, motion, period_in_band, torque_band
from armsense.identify.signals.recording import Recording
from armsense.model.arm import Arm
from armsense.model.arm_config import ArmConfig
from armsense.model.model_file import DriveParameters, IdentifiedFriction, ModelFile
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

    def springs(self) -> ElasticJoint:
        """Springs for a drive."""
        return ElasticJoint(self.stiffness, self.damping, self.coupling, None)

    def interval(self, name: str) -> tuple[float, float]:
        """95 % of one parameter, such as `stiffness2`."""
        low, high = self.estimate.intervals()[self.estimate.names.index(name)]
        return float(low), float(high)


@dataclass(frozen=True)
class ElasticArm:
    """Identified drives and links."""

    actuators: Actuators
    links: IdentifiedModel

    def model_file(self) -> ModelFile:
        """For the nodes."""
        file = model_file(self.links, [], {'train_percent': self.links.train.percent}, {})
        drives, friction = {}, {}
        bearing = self.links.drive_coefficients()['viscous']
        a = self.actuators
        for k, joint in enumerate(self.links.model.joint_names):
            ratio = a.coupling[k][np.flatnonzero(a.coupling[k])]
            drives[joint] = DriveParameters(
                stiffness=float(a.stiffness[k]), damping=max(float(a.damping[k]), 0.0),
                link_damping=max(float(bearing[k]), 0.0),
                coupling_ratio=float(ratio[0]) if len(ratio) else None)
            friction[joint] = IdentifiedFriction(viscous=float(a.viscous[k]),
                                                 coulomb=float(a.coulomb[k]),
                                                 asymmetry=float(a.offset[k]))
        return replace(file, drives=drives, friction=friction)


def identify_elastic(recordings: Sequence[ElasticRecording], model: Arm,
                     options: Options | None = None) -> ElasticArm:
    """Identify an arm with a spring in every joint, see `identify_links`."""
    return identify_links(recordings, model, identify_actuators(recordings, model), options)


def identify_links(recordings: Sequence[ElasticRecording], model: Arm, actuators: Actuators,
                   options: Options | None = None) -> ElasticArm:
    """Second step of two: the load side, moved by the springs.

    Args:
        recordings: Motor and joint angles, motor torques.
        model: Nominal arm with its yaml.
        actuators: Of the first step.
        options: For the load side; terms are the viscous friction of the bearings.
    """
    options = replace(options or Options(), terms=('viscous',))
    springs = actuators.springs()
    links = [r.link_side(spring_torque(r, springs)) for r in recordings]
    nominal = model.replace(armature=np.zeros(model.n))
    return ElasticArm(actuators, identify(links, nominal, options))


def identify_actuators(recordings: Sequence[ElasticRecording], model: Arm) -> Actuators:
    """First step of two: the drives.

    Args:
        recordings: With motor torques.
        model: The arm; its yaml states which cable runs over which joint, and rotor inertias.
    """
    config = elastic_config(model)
    inertia = np.array([joint.reflected_inertia for joint in config.joints.values()])
    cables = cable_joints(config)
    names = tuple(f'{term}{k + 1}' for term in TERMS for k in range(model.n)) + tuple(
        f'cable{k + 1}' for k in cables)
    columns, torques, periods = [], [], []
    for recording in recordings:
        band = torque_band(recording.motor_side())
        A, y = actuator_columns(recording, config, inertia, cables, BAND * band)
        columns.append(in_band(A, band, recording.rate))
        torques.append(in_band(y, band, recording.rate))
        periods.append(period_in_band(recording.motor_side(), band))
    base = base_parameters(np.concatenate([A.reshape(-1, len(names)) for A in columns]), names,
                           prefer=names)
    found = estimate_base(base, columns, torques, _weights(base.independent, columns, torques),
                          periods=periods)
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


def spring_torque(recording: ElasticRecording, springs: ElasticJoint) -> Array:
    """Torque on the links from the twist of the springs [Nm], (N, n)."""
    motors, joints = recording.motions(0.499 * recording.rate)      # unfiltered
    band = torque_band(recording.motor_side())
    slow, slow_joints = recording.motions(4.0 * band)
    path = np.eye(recording.q.shape[1]) + springs.coupling
    twist = motors.q - joints.q @ path.T
    rate = slow.dq - slow_joints.dq @ path.T
    return np.asarray((springs.stiffness * twist + springs.damping * rate) @ path)
