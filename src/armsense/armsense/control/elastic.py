"""State feedback for elastic joints (thesis 000, section 3.2.4, fig. 3.9).

    tau = P^-T g(q) + k_th (theta_d - theta) + d_th (dtheta_d - dtheta)
          + k_q (q_d - q) + d_q (dq_d - dq) + i_q integral(q_d - q)

P gains on all four states, PI on q, gravity compensated separately. The motor position comes from

    theta_d = K^-1 tau_el + q_d + alpha_c(q_d)          (3.26)

with the static torque tau_el = g(q_d) (3.28) in `ElasticState` and the torque of the whole motion
in `ElasticInverseDynamics`, which also feeds the motor torque of eq. 3.27 forward. The gains on
theta run on the boards, those on q on the host.
"""

from dataclasses import dataclass
from math import factorial

import numpy as np

from armsense.control.law import Gain, Law
from armsense.model import Arm
from armsense.schema import quantity
from armsense.types import ArmState, Array, Command, Reference

STEP = 1e-3   # [s] of the central differences along the reference
# Value, first and second derivative from three samples, (3, 3).
CENTRAL = np.array([[0.0, 1.0, 0.0], [-0.5 / STEP, 0.0, 0.5 / STEP],
                    [1.0 / STEP**2, -2.0 / STEP**2, 1.0 / STEP**2]])
# q, dq, ddq at -STEP, 0, STEP from q and its four derivatives, (9, 5).
TAYLOR = np.array([[s**(k - d) / factorial(k - d) if k >= d else 0.0 for k in range(5)]
                   for s in (-STEP, 0.0, STEP) for d in range(3)])


@dataclass(frozen=True, kw_only=True)
class ElasticGains:
    """Gains on motor and joint states."""

    motor_position: Gain = quantity(unit='Nm/rad', low=0, high=1e7)
    motor_velocity: Gain = quantity(unit='Nm s/rad', low=0, high=1e6)
    joint_position: Gain = quantity(unit='Nm/rad', low=-1e5, high=1e5)
    joint_velocity: Gain = quantity(unit='Nm s/rad', low=-1e3, high=1e3)
    joint_integral: Gain = quantity(unit='Nm/(rad s)', low=0, high=1e5)
    integral_limit: float = quantity(0.3, low=0, high=1,
                                     text='of the integral torque, per torque limit')
    integral_zone: float = quantity(0.05, unit='rad', above=0,
                                    text='error beyond which the integral rests, against windup')
    friction: float = quantity(0.0, low=0, high=1, text='fraction of friction fed forward')


class ElasticState(Law):
    """State feedback with the static motor position."""

    name = 'elastic_state'
    Gains = ElasticGains

    def __init__(self, model: Arm, gains: ElasticGains) -> None:
        super().__init__(model, gains)
        self.springs = self.drivetrain.require_springs(self.name, model.name)
        self._k_th, self._d_th = self.gain('motor_position'), self.gain('motor_velocity')
        limit = gains.integral_limit * model.effort_limits   # [Nm]
        self._rows = list(zip(self.gain('joint_integral').tolist(), limit.tolist(), strict=True))
        self._integral = [0.0] * model.n                     # [Nm]
        n, P, zero = model.n, self.drivetrain.path, np.zeros((model.n, model.n))
        to_spring = np.linalg.inv(P.T)                       # joint torque -> tau_el
        k_q, d_q = np.diag(self.gain('joint_position')), np.diag(self.gain('joint_velocity'))
        # theta_d, dtheta_d and torque are linear in [q_d, dq_d, q, dq, g(q_d), g(q), integral]:
        # one product instead of a dozen small ones, (3 n, 7 n).
        self._map = np.block([
            [P, zero, zero, zero, to_spring / self.springs.stiffness[:, None], zero, zero],
            [zero, P, zero, zero, zero, zero, zero],
            [k_q, d_q, -k_q, -d_q, zero, to_spring, np.eye(n)]])
        self._n = n

    def reset(self, state: ArmState) -> None:
        self._integral = [0.0] * self._n

    def feedback(self, state: ArmState) -> tuple[Array, Array]:
        """The joints, not the motors: [rad], [rad/s], (n,) each."""
        return state.q, state.dq

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        """Motor reference, motor gains and the torque of everything else."""
        n, out = self._n, self._map.dot(self.terms(state, reference, dt))
        dtheta, torque = out[n:2 * n], out[2 * n:]
        if self.gains.friction:
            torque = self.drivetrain.with_friction(torque, dtheta, self.gains.friction)
        return Command(out[:n], dtheta, torque, self._k_th, self._d_th, self.zero)

    def terms(self, state: ArmState, reference: Reference, dt: float) -> Array:
        """What the motor reference and the host's torque depend on, (7 n,)."""
        gravity = self.model.gravity_torque
        return np.concatenate((reference.q, reference.dq, state.q, state.dq, gravity(reference.q),
                               gravity(state.q), self._integrate(state, reference, dt)))

    def _integrate(self, state: ArmState, reference: Reference, dt: float) -> list[float]:
        """Integral torque [Nm], n numbers."""
        zone, integral = self.gains.integral_zone, []
        for wound, goal, q, (gain, limit) in zip(self._integral, reference.q.tolist(),
                                                 state.q.tolist(), self._rows, strict=True):
            error = goal - q
            if -zone < error < zone:
                wound += gain * error * dt
                wound = -limit if wound < -limit else limit if wound > limit else wound
            integral.append(wound)
        self._integral = integral
        return integral


class ElasticInverseDynamics(ElasticState):
    """State feedback around the motor motion and torque of the elastic inverse dynamics.

    The derivatives of the spring torque (3.6-3.7) are central differences of the rigid inverse
    dynamics along the reference, which is extrapolated by its jerk and snap: three calls and
    no derivative of the mass matrix.
    """

    name = 'elastic_inverse_dynamics'

    def __init__(self, model: Arm, gains: ElasticGains) -> None:
        super().__init__(model, gains)
        n, eye, P = model.n, np.eye(model.n), self.drivetrain.path
        k_q, d_q = np.diag(self.gain('joint_position')), np.diag(self.gain('joint_velocity'))
        self._taylor = np.kron(TAYLOR, eye)                                     # (9 n, 5 n)
        to_spring = np.linalg.inv(P.T)
        damped = to_spring @ np.diag(self.springs.link_damping)
        # theta_d, dtheta_d, ddtheta_d from tau_el a moment before, now and after; then the torque.
        springs = np.kron(CENTRAL, np.diag(1.0 / self.springs.stiffness))       # (3 n, 3 n)
        torques = springs @ np.kron(np.eye(3), to_spring)
        rates = springs @ np.kron(np.eye(3), damped) @ self._taylor.reshape(
            3, 3, n, 5 * n)[:, 1].reshape(3 * n, 5 * n)
        motion = np.hstack([np.kron(np.eye(3), P), np.zeros((3 * n, 2 * n))]) + rates
        motor = np.hstack([motion, np.zeros((3 * n, 2 * n)), torques,
                           np.zeros((3 * n, n))])                               # (3 n, 11 n)
        rotor = self.drivetrain.rotor[:, None] * motor[2 * n:]
        rotor[:, n:2 * n] += damped + d_q
        rotor[:, :n] += k_q
        rotor[:, 5 * n:6 * n] -= k_q
        rotor[:, 6 * n:7 * n] -= d_q
        rotor[:, 8 * n:9 * n] += to_spring
        rotor[:, 10 * n:] += eye
        self._map = np.vstack([motor[:2 * n], rotor])

    def terms(self, state: ArmState, reference: Reference, dt: float) -> Array:
        """What the motor reference and the host's torque depend on, (11 n,)."""
        q, dq, ddq, jerk, snap, _ = reference
        n, zero, torque = self._n, self.zero, self.model.inverse_dynamics
        motion = np.concatenate((q, dq, ddq, zero if jerk is None else jerk,
                                 zero if snap is None else snap))             # (5 n,)
        # q, dq, ddq a moment before, now, a moment after
        a = self._taylor.dot(motion).reshape(9, n)
        return np.concatenate((motion, state.q, state.dq, torque(a[0], a[1], a[2]),
                               torque(q, dq, ddq), torque(a[6], a[7], a[8]),
                               self._integrate(state, reference, dt)))
