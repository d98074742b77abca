"""State feedback for elastic joints (thesis 000, section 3.2.4, fig. 3.9).

    tau = P^-T g(q) + k_th (theta_d - theta) + d_th (dtheta_d - dtheta)
          + k_q (q_d - q) + d_q (dq_d - dq) + i_q integral(q_d - q)

P gains on all four states, PI on q, gravity compensated separately. The motor position comes from

    theta_d = K^-1 tau_el + q_d + alpha_c(q_d)          (3.26)

with the static torque tau_el = g(q_d) (3.28) in `ElasticState` and the torque of the whole motion
in `ElasticInverseDynamics`, which also feeds the motor torque of eq. 3.27 forward. The gains on
theta run on the boards, those on q on the host.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np

from armsense_core.control.law import Gain, Law
from armsense_core.control.types import ArmState, Array, Command, Reference
from armsense_core.model import ArmModel
from armsense_core.schema import quantity

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

    def __init__(self, model: ArmModel, gains: ElasticGains) -> None:
        super().__init__(model, gains)
        self.springs = self.drivetrain.require_springs(self.name, model.name)
        self._k_th, self._d_th = self.gain('motor_position'), self.gain('motor_velocity')
        self._k_q, self._d_q = self.gain('joint_position'), self.gain('joint_velocity')
        self._i_q = self.gain('joint_integral')
        self._limit = gains.integral_limit * model.effort_limits   # [Nm]
        self._integral = np.zeros(model.n)                         # [Nm]

    def reset(self, state: ArmState) -> None:
        """Forget the integral."""
        self._integral = np.zeros(self.model.n)

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        """Motor reference, motor gains and the torque of everything else."""
        theta, dtheta, torque = self.motor_reference(state, reference)
        if self.gains.friction:
            torque = self.drivetrain.with_friction(torque, dtheta, self.gains.friction)
        error = reference.q - state.q
        rate = np.where(np.abs(error) < self.gains.integral_zone, self._i_q * error, 0.0)
        wound = self._integral + rate * dt
        self._integral = np.minimum(np.maximum(wound, -self._limit), self._limit)
        torque = torque + self._k_q * error + self._d_q * (reference.dq - state.dq)
        return Command(theta, dtheta, torque + self._integral, self._k_th, self._d_th, self.zero)

    def motor_reference(self, state: ArmState,
                        reference: Reference) -> tuple[Array, Array, Array]:
        """Motor angle [rad], motor velocity [rad/s] and feed-forward torque [Nm], (n,) each."""
        drivetrain, model = self.drivetrain, self.model
        held = drivetrain.motor_torque(model.gravity_torque(reference.q))   # tau_el at the goal
        theta = drivetrain.motor(reference.q) + held / self.springs.stiffness
        gravity = drivetrain.motor_torque(model.gravity_torque(state.q))
        return theta, drivetrain.motor(reference.dq), gravity


class ElasticInverseDynamics(ElasticState):
    """State feedback around the motor motion and torque of the elastic inverse dynamics.

    The derivatives of the spring torque (3.6-3.7) are central differences of the rigid inverse
    dynamics along the reference, which is extrapolated by its jerk and snap: three calls and
    no derivative of the mass matrix.
    """

    name = 'elastic_inverse_dynamics'

    def __init__(self, model: ArmModel, gains: ElasticGains) -> None:
        super().__init__(model, gains)
        self._P = self.drivetrain.path
        self._P_inverse = np.linalg.inv(self._P)

    def motor_reference(self, state: ArmState,
                        reference: Reference) -> tuple[Array, Array, Array]:
        """Motor angle [rad], motor velocity [rad/s] and feed-forward torque [Nm], (n,) each."""
        q, dq, ddq, jerk, snap, _ = reference
        motion = np.array((q, dq, ddq, self.zero if jerk is None else jerk,
                           self.zero if snap is None else snap))            # (5, n)
        around = TAYLOR.dot(motion)          # q, dq, ddq a moment before, now, a moment after
        inverse_dynamics = self.model.inverse_dynamics
        torque = np.array([inverse_dynamics(*around[k:k + 3]) for k in (0, 3, 6)])
        torque += self.springs.link_damping * around[1::3]
        spring = torque.dot(self._P_inverse)                                # rows: tau_el, (3, n)
        motor = motion[:3].dot(self._P.T) + CENTRAL.dot(spring) / self.springs.stiffness
        return motor[0], motor[1], spring[1] + self.drivetrain.rotor * motor[2]
