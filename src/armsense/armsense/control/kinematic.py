"""Laws that command velocities, followed on the boards (thesis 004, section 2.5; paper 001)."""

from dataclasses import dataclass
import math
from typing import Any

import numpy as np

from armsense.control.decentralised import PiVelocityGains
from armsense.control.law import Gain, Law
from armsense.drive import StrainLink
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.schema import quantity
from armsense.task.kinematics import damped_solve
from armsense.types import ArmState, Array, Command, constant, Reference


class Kinematic(Law):
    """PI velocity loop on the boards, fed with velocities (thesis 004, section 2.5.1).

    Its integral is the way between the integrated velocity command and the motor. That way is
    kept within what the torque limit can use (anti-windup).
    """

    def __init__(self, model: Arm, gains: Any) -> None:
        super().__init__(model, gains)
        self._kd, self._kp = self.gain('proportional'), self.gain('integral')
        self._stiffness = np.maximum(self._kp, 1e-9)           # [Nm/rad] (n,)
        reach = model.effort_limits / self._stiffness          # [rad] (n,)
        self._bounds = list(zip(model.velocity_limits.tolist(), reach.tolist(), strict=True))
        self._position: list[float] | None = None

    def reset(self, state: ArmState) -> None:
        self._position = state.theta.tolist()

    def halt(self, state: ArmState) -> None:
        """Keep of the integral what carries the arm."""
        self._position = (state.theta + self.weight(state) / self._stiffness).tolist()

    def feedback(self, state: ArmState) -> tuple[Array, Array]:
        """The joints, not the motors: [rad], [rad/s], (n,) each."""
        return state.q, state.dq

    def follow(self, state: ArmState, velocity: list[float], torque: Array, dt: float) -> Command:
        """Command that makes the motors turn at `velocity` [rad/s], on top of `torque` [Nm]."""
        theta = state.theta.tolist()
        start = theta if self._position is None else self._position
        positions, velocities = [], []
        # Plain numbers: for a handful of joints a loop is several times faster than arrays.
        for motor, begun, v, (limit, reach) in zip(theta, start, velocity, self._bounds,
                                                   strict=True):
            v = -limit if v < -limit else limit if v > limit else v
            way = begun + v * dt - motor
            way = -reach if way < -reach else reach if way > reach else way
            positions.append(motor + way)
            velocities.append(v)
        self._position = positions
        return Command(np.array(positions), np.array(velocities), torque, self._kp, self._kd,
                       self.zero)


@dataclass(frozen=True, kw_only=True)
class KinematicJointGains(PiVelocityGains):
    """Outer loop on the position error, inner loop on the velocity error."""

    position: Gain = quantity(unit='1/s', low=0, high=200, text='K of the error decay')


class KinematicJoint(Kinematic):
    """dq = dq_d + K (q_d - q), followed by the velocity loop; the error decays with exp(-K t).

    Thesis 004, section 2.5.2, fig. 2.6.
    """

    name = 'kinematic_joint'
    Gains = KinematicJointGains

    def __init__(self, model: Arm, gains: Any) -> None:
        super().__init__(model, gains)
        self._K = self.gain('position').tolist()
        self._coupled = self.drivetrain.elastic

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        velocity = self.velocity(state, reference)
        if self._coupled:
            velocity = self.drivetrain.motor(np.array(velocity)).tolist()
        return self.follow(state, velocity, self.zero, dt)

    def velocity(self, state: ArmState, reference: Reference) -> list[float]:
        """Joint velocity that shall be driven [rad/s], n numbers."""
        return [v + k * (p - x) for v, k, p, x in zip(
            reference.dq.tolist(), self._K, reference.q.tolist(), state.q.tolist(), strict=True)]


@dataclass(frozen=True, kw_only=True)
class OscillationDampingGains(KinematicJointGains):
    """Joint position loop, velocity loop and strain feedback."""

    strain: Gain = quantity(unit='rad/s', low=0, high=1e5, text='joint velocity per strain')
    mean_time: float = quantity(1.0, unit='s', above=0, text='over which the mean strain is taken')
    brake_time: float = quantity(0.02, unit='s', low=0,
                                 text='after a collision in which strain is not fed back')
    brake_gain: float = quantity(1.0, low=1, high=4,
                                 text='times the proportional gain during that time')


class OscillationDamping(KinematicJoint):
    """dq = dq_d + K (q_d - q) - k_e (strain - static - mean), load and friction fed forward.

    Inner damping of link oscillations from strain (paper 001, sections 2-3).

    A link that lags behind its joint has positive strain. Slowing the joint by an amount
    proportional to it makes the joint's acceleration proportional to the rate of bending, which is
    a damping force for the link. What gravity and the planned acceleration bend according to the
    model is taken off, and the moving average of the rest, which payload and model error cause:
    the joint gives way to neither. The average alone would lag behind gravity while the arm moves.

    For a moment after a collision the joints only brake: strain is not fed back, and the motors
    are given the load that the gauges measure, so that the swinging links do not drag them on.
    """

    name = 'oscillation_damping'
    Gains = OscillationDampingGains

    def __init__(self, model: Arm, gains: OscillationDampingGains) -> None:
        super().__init__(model, gains)
        if not self.drivetrain.strained.any():
            raise ArmsenseError(f'{self.name} needs strain gauges; {model.name} has none')
        self._feedback = self.gain('strain').tolist()   # k_e [rad/s]
        self._gauges = StrainLink.from_config(model.config, model)
        self._mean: list[float] | None = None
        self._brake = constant(gains.brake_gain * self.gain('proportional'))
        self._braking = 0.0   # [s] left in which the arm only brakes

    def set_model(self, model: Arm) -> None:
        super().set_model(model)
        self._gauges = StrainLink.from_config(model.config, model)

    def reset(self, state: ArmState) -> None:
        """Take the present strain as the mean; a brake that had begun has ended."""
        super().reset(state)
        self._mean, self._braking = None, 0.0

    def halt(self, state: ArmState) -> None:
        """First stand, then yield: the mean stays, so the joint gives way to a contact."""
        super().reset(state)
        self._braking = self.gains.brake_time

    def relax(self, state: ArmState) -> None:
        """Without the brake, which feeds the load of the contact forward, and its strain."""
        self.reset(state)

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        """Velocity for the boards and the torque of the load."""
        expected = self.model.inverse_dynamics(state.q, reference.dq, reference.ddq)
        velocity = self.velocity(state, reference)
        yielding = self.yielding(state, expected, dt)
        if self._braking > 0.0:
            self._braking -= dt
            command = self.follow(state, velocity, self.load(state, expected), dt)
            return command._replace(kd=self._brake)
        torque = self.drivetrain.with_friction(expected, reference.dq, 1.0)
        velocity = [v - w for v, w in zip(velocity, yielding, strict=True)]
        return self.follow(state, velocity, torque, dt)

    def load(self, state: ArmState, expected: Array) -> Array:
        """Torque of the links on the motors [Nm], (n,): by the gauges, else `expected`."""
        return np.where(self.drivetrain.strained, self._gauges.link_torque(state), expected)

    def yielding(self, state: ArmState, expected: Array, dt: float) -> list[float]:
        """k_e times the strain beyond the expected one and the average [rad/s], n numbers.

        Expected: load by the model [Nm], (n,).
        """
        if state.strain is None:
            raise ArmsenseError(f'{self.name} needs strain readings; the state has none')
        share, means, yields = 1.0 - math.exp(-dt / self.gains.mean_time), [], []
        rows = zip(self._feedback, self.drivetrain.strained.tolist(), state.strain.tolist(),
                   self._gauges.strain(expected, state.q).tolist(), strict=True)
        for k, (gain, gauged, strain, planned) in enumerate(rows):
            bent = strain - planned if gauged else 0.0
            mean = bent if self._mean is None else self._mean[k]
            mean += share * (bent - mean)
            means.append(mean)
            yields.append(gain * (bent - mean))
        self._mean = means
        return yields


@dataclass(frozen=True, kw_only=True)
class KinematicCartesianGains(PiVelocityGains):
    """Outer loop on the tool position, inner loop on the joint velocities."""

    position: float = quantity(unit='1/s', low=0, high=200, text='K of the error decay')
    null_space: float = quantity(0.5, unit='1/s', low=0, high=10, text='pull to the reference')
    threshold: float = quantity(0.05, unit='m/rad', above=0, high=1,
                                text='singular value below which damping sets in')
    damping: float = quantity(0.05, unit='m/rad', above=0, high=1)


class KinematicCartesian(Kinematic):
    """dq = J+ (dp_d + K (p_d - p)) + (1 - J+ J) (dq_d + k0 (q_d - q)), then the velocity loop.

    Thesis 004, section 2.5.3, fig. 2.7. The task is the position of the tool's origin, which
    follows that of the joints' reference. J+ is damped near singularities, where the tool then
    lags instead of the joints running away. The freedom that is left follows the joints.
    """

    name = 'kinematic_cartesian'
    Gains = KinematicCartesianGains

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        q = state.q
        position, J = self.model.tool_kinematics(reference.q)
        pull = reference.dq + self.gains.null_space * (reference.q - q)
        velocity = self.velocity(q, position, J.dot(reference.dq), pull)
        return self.follow(state, self.drivetrain.motor(velocity).tolist(), self.zero, dt)

    def velocity(self, q: Array, goal: Array, speed: Array, pull: Array) -> Array:
        """Joint velocity that shall be driven at q [rad]: [rad/s], (n,).

        For the tool at a place [m] that moves at a speed [m/s], (3,) each; `pull` [rad/s], (n,),
        is one for the null space.
        """
        gains: KinematicCartesianGains = self.gains
        position, J = self.model.tool_kinematics(q)   # J: (3, n)
        dp = speed + gains.position * (goal - position) - J.dot(pull)
        return pull + damped_solve(J, dp, gains.threshold, gains.damping)
