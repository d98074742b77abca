"""Laws that know the dynamics of a rigid arm: gravity, floating, computed torque, impedance."""

from dataclasses import dataclass

import numpy as np

from armsense.control.law import Gain, Law
from armsense.model import Arm
from armsense.schema import quantity
from armsense.types import ArmState, Command, Reference, torque_command


@dataclass(frozen=True, kw_only=True)
class PdGravityGains:
    """PD on the position error."""

    kp: Gain = quantity(unit='Nm/rad', low=0, high=1e7)
    kd: Gain = quantity(unit='Nm s/rad', low=0, high=1e6)


class PdGravity(Law):
    """u = g(q) + K_P (q_d - q) + K_D (dq_d - dq); the PD runs on the boards (thesis 004, 2.14)."""

    name = 'pd_gravity'
    Gains = PdGravityGains

    def __init__(self, model: Arm, gains: PdGravityGains) -> None:
        super().__init__(model, gains)
        self._kp, self._kd = self.gain('kp'), self.gain('kd')

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        motor = self.drivetrain.motor
        return Command(motor(reference.q), motor(reference.dq), self.weight(state), self._kp,
                       self._kd, self.zero)


@dataclass(frozen=True, kw_only=True)
class FloatGains:
    """Hand guiding."""

    kd: Gain = quantity(unit='Nm s/rad', low=0, high=1e6, text='drag against drifting')
    friction: float = quantity(0.0, low=0, high=0.9, text='fraction of friction taken off')
    speed: float = quantity(1.0, unit='rad/s', above=0, text='beyond it the joints are braked')


class Float(Law):
    """Gravity compensation with a little drag: the arm stays where a hand leaves it.

    A load that was told and is not there, or the other way round, drives the arm. So the speed of
    a motor beyond `speed` is braked with the joint's `safe_damping`.
    """

    name = 'float'
    Gains = FloatGains

    def __init__(self, model: Arm, gains: FloatGains) -> None:
        super().__init__(model, gains)
        self._kd = self.gain('kd')
        self._brake = np.array([joint.safe_damping for joint in model.config.joints.values()])

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        """Gravity torque and drag; the reference is not followed."""
        torque, fraction = self.weight(state), self.gains.friction
        if fraction:
            torque = self.drivetrain.with_friction(torque, state.dtheta, fraction)
        kd, speed = self._kd, np.abs(state.dtheta)
        if speed.max() > self.gains.speed:
            over = np.maximum(speed - self.gains.speed, 0.0)
            kd = kd + self._brake * over / np.maximum(speed, 1e-9)
        return Command(state.theta, self.zero, torque, self.zero, kd, self.zero)


@dataclass(frozen=True, kw_only=True)
class ComputedTorqueGains:
    """Gains of the error dynamics dde + K_D de + K_P e = 0."""

    kp: Gain = quantity(unit='1/s^2', low=0, high=1e5)
    kd: Gain = quantity(unit='1/s', low=0, high=1e3)
    friction: float = quantity(1.0, low=0, high=1, text='fraction of friction fed forward')


class ComputedTorque(Law):
    """u = M(q) [ddq_d + K_D (dq_d - dq) + K_P (q_d - q)] + C(q, dq) dq + g(q) + friction(dq_d).

    Thesis 004, eq. 2.21. Friction is fed forward from the reference velocity: compensating the
    measured one would chatter at standstill. On elastic joints the law works with the motors'
    unloaded joint angles.

    All but the inverse dynamics and the sign of the friction is linear, so two matrix products
    do it: a NumPy call on a handful of numbers costs half as much as the inverse dynamics.
    """

    name = 'computed_torque'
    Gains = ComputedTorqueGains

    def __init__(self, model: Arm, gains: ComputedTorqueGains) -> None:
        super().__init__(model, gains)
        n, drivetrain = model.n, self.drivetrain
        rows = drivetrain.friction_rows(gains.friction)
        self._plain = rows is not None
        viscous, coulomb, sharp = np.array(rows or [(0.0, 0.0, 0.0)] * n).T
        P = drivetrain.path
        inverse, kp, kd = np.linalg.inv(P), np.diag(self.gain('kp')), np.diag(self.gain('kd'))
        zero, rotor = np.zeros((n, n)), np.diag(drivetrain.rotor) @ P * drivetrain.elastic
        # Of [q_d, dq_d, ddq_d, motor angle, motor velocity], (5 n, 5 n):
        self._inputs = np.block([
            [zero, zero, zero, inverse, zero],                        # q
            [zero, zero, zero, zero, inverse],                        # dq
            [kp, kd, np.eye(n), -kp @ inverse, -kd @ inverse],        # acceleration
            [zero, P, zero, zero, zero],                              # motor velocity, wanted
            [zero, sharp[:, None] * P, zero, zero, zero]])            # for the sign of friction
        # Of [acceleration, wanted velocity, sign, joint torque], (n, 4 n):
        self._outputs = np.hstack([rotor, np.diag(viscous), np.diag(coulomb), inverse.T])
        work = np.zeros(6 * n)
        self._q, self._dq, self._ddq, self._wanted, self._sign, self._torque = work.reshape(6, n)
        self._linear, self._terms = work[:5 * n], work[2 * n:]
        self.set_model(model)

    def set_model(self, model: Arm) -> None:
        """Go on with other inertias; rotors that the links carry along count with them."""
        super().set_model(model)
        self._dynamics = model
        if not self.drivetrain.elastic and self.drivetrain.rotor.any():
            self._dynamics = model.replace(armature=model.armature + self.drivetrain.rotor)

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        q, dq, theta, dtheta, _, _ = state
        if self.drivetrain.elastic:
            q, dq = theta, dtheta
        self._inputs.dot(np.concatenate((reference.q, reference.dq, reference.ddq, q, dq)),
                         self._linear)
        np.tanh(self._sign, self._sign)
        self._torque[:] = self._dynamics.inverse_dynamics(self._q, self._dq, self._ddq)
        torque = self._outputs.dot(self._terms)
        if not self._plain:
            torque = self.drivetrain.with_friction(torque, self._wanted, self.gains.friction)
        return torque_command(state, torque, self.zero)


@dataclass(frozen=True, kw_only=True)
class JointImpedanceGains:
    """What a hand feels."""

    stiffness: Gain = quantity(unit='Nm/rad', low=0, high=1e7)
    damping_ratio: Gain = quantity(unit='1', low=0, high=5)
    friction: float = quantity(0.8, low=0, high=1, text='fraction of friction fed forward')


class JointImpedance(Law):
    """M(q) dde + D de + K e = tau_ext with D = 2 zeta sqrt(K M_ii(q)), inertia left as it is.

    Stiffness and damping run on the boards; the rest is fed forward, so a free arm tracks.
    """

    name = 'joint_impedance'
    Gains = JointImpedanceGains

    def __init__(self, model: Arm, gains: JointImpedanceGains) -> None:
        super().__init__(model, gains)
        self._stiffness = self.gain('stiffness')
        self._factor = 4.0 * self.gain('damping_ratio') ** 2 * self._stiffness   # D^2 / M_ii
        self._offset = self._factor * self.drivetrain.rotor   # D^2 of the rotors
        self._friction = gains.friction
        self._has_rotor = bool(self.drivetrain.rotor.any())
        self._rotor = np.diag(self.drivetrain.rotor) @ self.drivetrain.path   # (n, n)

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        drivetrain, model, q = self.drivetrain, self.model, state.q
        square = self._factor * model.mass_matrix(q).diagonal()
        torque = drivetrain.motor_torque(model.inverse_dynamics(q, state.dq, reference.ddq))
        velocity = drivetrain.motor(reference.dq)
        if self._has_rotor:
            square += self._offset
            torque = torque + self._rotor.dot(reference.ddq)
        if self._friction:
            torque = drivetrain.with_friction(torque, velocity, self._friction)
        return Command(drivetrain.motor(reference.q), velocity, torque, self._stiffness,
                       np.sqrt(square, square), self.zero)
