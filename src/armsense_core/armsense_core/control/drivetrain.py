"""Between joints and motors: where the motor stands for a joint angle, what torque it needs.

    theta = P q + K^-1 tau_el       tau_joint = P^T tau_el        P = 1 + R (cable coupling)

A rigid arm has P = 1 and no springs. Laws that know nothing of springs work on the joint angle
that the motor would hold without load, P^-1 theta, with the rotor's inertia added to the links'.
"""

from __future__ import annotations

import dataclasses
from math import exp, tanh

import numpy as np

from armsense_core.drive import ElasticJoint
from armsense_core.errors import ArmsenseError
from armsense_core.model import ArmModel
from armsense_core.trajectory.reference import Array


class Drivetrain:
    """Transmission of one arm, as its yaml states it."""

    def __init__(self, model: ArmModel) -> None:
        config = model.config
        joints = list(config.joints.values()) if config is not None else []
        self.elastic = any(joint.elastic is not None for joint in joints)
        self.strained = np.array([joint.strain is not None for joint in joints]
                                 or [False] * model.n)
        self.springs: ElasticJoint | None = None
        self._rows = ([] if config is None else
                      [dataclasses.astuple(joint.friction) for joint in joints])
        # (viscous, coulomb, 1 / smoothing), where nothing more is known of the friction
        self._plain = [(row[0], row[1], 1.0 / row[4]) for row in self._rows
                       if row[2] == 0.0 and row[5] == 0.0]
        reflected = np.array([joint.reflected_inertia for joint in joints] or [0.0] * model.n)
        self.rotor = reflected - np.asarray(model.armature)   # [kg m^2] not in the model's M, (n,)
        self._path: Array | None = None
        if self.elastic:
            assert config is not None
            self.springs = ElasticJoint.from_config(config)
            self._path = np.eye(model.n) + self.springs.coupling
            self._inverse = np.linalg.inv(self._path)
            self._torque = np.ascontiguousarray(self._inverse.T)

    @property
    def path(self) -> Array:
        """P, (n, n)."""
        return np.eye(len(self.rotor)) if self._path is None else self._path

    def motor(self, joint: Array) -> Array:
        """Motor angles or velocities of unloaded joints, (n,)."""
        return joint if self._path is None else self._path.dot(joint)

    def joint(self, motor: Array) -> Array:
        """Joint angles or velocities of unloaded motors, (n,)."""
        return motor if self._path is None else self._inverse.dot(motor)

    def motor_torque(self, joint_torque: Array) -> Array:
        """Motor torque that puts a torque on the joints at rest [Nm], (n,)."""
        return joint_torque if self._path is None else self._torque.dot(joint_torque)

    def friction_rows(self, fraction: float) -> list[tuple[float, float, float]] | None:
        """Viscous and Coulomb friction times `fraction` and 1 / smoothing of each motor.

        None: there is more to the friction, and `with_friction` must do it.
        """
        if len(self._plain) != len(self.rotor):
            return None
        return [(fraction * viscous, fraction * coulomb, sharp)
                for viscous, coulomb, sharp in self._plain]

    def with_friction(self, torque: Array, dtheta: Array, fraction: float) -> Array:
        """Torque plus a fraction of the motors' friction at a velocity [Nm], (n,)."""
        if not self._rows:
            return torque
        if len(self._plain) == len(self._rows):
            return np.array([tau + fraction * (coulomb * tanh(v * sharp) + viscous * v)
                             for tau, v, (viscous, coulomb, sharp)
                             in zip(torque.tolist(), dtheta.tolist(), self._plain)])  # noqa: B905
        # As `FrictionModel.torque`; for a handful of joints a loop is faster than arrays.
        return np.array([
            tau + fraction * (tanh(v / smooth) * (coulomb + (stribeck * exp(-(v / slow) ** 2)
                                                             if stribeck else 0.0))
                              + viscous * v + offset)
            for tau, v, (viscous, coulomb, stribeck, slow, smooth, offset)
            in zip(torque.tolist(), dtheta.tolist(), self._rows, strict=True)])

    def require_springs(self, law: str, arm: str) -> ElasticJoint:
        """The springs, where every joint has one."""
        if self.springs is None or not (self.springs.stiffness > 0.0).all():
            raise ArmsenseError(f'{law} needs an arm whose joints are all elastic; {arm} is not')
        return self.springs
