"""Between joints and motors: where the motor stands for a joint angle, what torque it needs.

    theta = P q + K^-1 tau_el       tau_joint = P^T tau_el        P = 1 + R (cable coupling)

A rigid arm has P = 1 and no springs. Laws that know nothing of springs work on the joint angle
that the motor would hold without load, P^-1 theta, with the rotor's inertia added to the links'.
"""

from collections.abc import Callable
from math import tanh

import numpy as np

from armsense.drive import ElasticJoint, FrictionModel
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.types import Array

Map = Callable[[Array], Array]


class Drivetrain:
    """Transmission of one arm, as its yaml states it."""

    def __init__(self, model: Arm) -> None:
        config = model.config
        joints = list(config.joints.values())
        self.elastic = any(joint.elastic is not None for joint in joints)
        self.strained = np.array([joint.strain is not None for joint in joints])
        self.springs: ElasticJoint | None = None
        self._friction = FrictionModel.from_config(config)
        # (viscous, coulomb, 1 / smoothing), where nothing more is known of the friction
        self._plain = [(f.viscous, f.coulomb, 1.0 / f.smoothing) for f in
                       (joint.friction for joint in joints) if f.plain]
        if config.couplings:
            self._plain = []
        reflected = np.array([joint.reflected_inertia for joint in joints])
        self.rotor = reflected - np.asarray(model.armature)   # [kg m^2] not in the model's M, (n,)
        self.path: Array = np.eye(model.n)   # P, (n, n)
        if self.elastic:
            self.springs = ElasticJoint.from_config(config)
            self.path = self.path + self.springs.coupling
        inverse = np.linalg.inv(self.path)
        # Motor angles or velocities of unloaded joints, and the other way round, (n,) -> (n,).
        self.motor: Map = self.path.dot if self.elastic else _same
        self.joint: Map = inverse.dot if self.elastic else _same
        # Motor torque that puts a torque on the joints at rest [Nm], (n,) -> (n,).
        self.motor_torque: Map = (
            np.ascontiguousarray(inverse.T).dot if self.elastic else _same)

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
        if self._friction is None:
            return torque
        if len(self._plain) == len(self.rotor):   # for a handful of joints a loop is faster
            return np.array([tau + fraction * (coulomb * tanh(v * sharp) + viscous * v)
                             for tau, v, (viscous, coulomb, sharp)
                             in zip(torque.tolist(), dtheta.tolist(), self._plain)])  # noqa: B905
        return np.asarray(torque + fraction * self._friction.torque(dtheta, torque))

    def require_springs(self, law: str, arm: str) -> ElasticJoint:
        """The springs, where every joint has one."""
        if self.springs is None or not (self.springs.stiffness > 0.0).all():
            raise ArmsenseError(f'{law} needs an arm whose joints are all elastic; {arm} is not')
        return self.springs


def _same(values: Array) -> Array:
    return values
