"""Kinematic control of Cartesian motion (thesis 004, section 2.5.3, fig. 2.7)."""

from __future__ import annotations

from dataclasses import dataclass

from armsense.control.law import Gain, Law
from armsense.control.velocity_loop import VelocityLoop
from armsense.model import Arm
from armsense.schema import quantity
from armsense.trajectory.task_motion import damped_solve
from armsense.types import ArmState, Array, Command, Reference, TaskReference


@dataclass(frozen=True, kw_only=True)
class KinematicCartesianGains:
    """Outer loop on the tool position, inner loop on the joint velocities."""

    position: float = quantity(unit='1/s', low=0, high=200, text='K of the error decay')
    null_space: float = quantity(0.5, unit='1/s', low=0, high=10, text='pull to the mid-range')
    threshold: float = quantity(0.05, unit='m/rad', above=0, high=1,
                                text='singular value below which damping sets in')
    damping: float = quantity(0.05, unit='m/rad', above=0, high=1)
    proportional: Gain = quantity(unit='Nm s/rad', low=0, high=1e6)
    integral: Gain = quantity(unit='Nm/rad', low=0, high=1e7)


class KinematicCartesian(Law):
    """dq = J+ (dp_d + K (p_d - p)) + (1 - J+ J) k0 (q_mid - q), followed by the velocity loop.

    The task is the position of the tool's origin. J+ is damped near singularities, where the
    tool then lags instead of the joints running away. Where the reference is a motion of the
    joints, the tool follows theirs, and the freedom that is left follows the joints themselves:
    dq_d + k0 (q_d - q) instead of the pull to the middle.
    """

    name = 'kinematic_cartesian'
    Gains = KinematicCartesianGains

    def __init__(self, model: Arm, gains: KinematicCartesianGains) -> None:
        super().__init__(model, gains)
        lower, upper = model.position_limits
        self._middle = 0.5 * (lower + upper)
        self._loop = VelocityLoop(self.gain('proportional'), self.gain('integral'),
                                  model.effort_limits, model.velocity_limits, self.zero)

    def reset(self, state: ArmState) -> None:
        """Start without integral."""
        self._loop.reset(state)

    def halt(self, state: ArmState) -> None:
        """Keep of the integral what carries the arm."""
        self._loop.reset(state, self.weight(state))

    def feedback(self, state: ArmState) -> tuple[Array, Array]:
        """The joints, not the motors: [rad], [rad/s], (n,) each."""
        return state.q, state.dq

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        """Velocity for the boards."""
        q, task, pull = state.q, reference.task, None
        if task is None:
            position, J = self.model.tool_kinematics(reference.q)
            task = TaskReference(position, J.dot(reference.dq))
            pull = reference.dq + self.gains.null_space * (reference.q - q)
        velocity = self.drivetrain.motor(self.velocity(q, task, pull))
        return self._loop.command(state, velocity.tolist(), self.zero, dt)

    def velocity(self, q: Array, task: TaskReference, pull: Array | None = None) -> Array:
        """Joint velocity that shall be driven [rad/s], (n,).

        Args:
            q: Joint angles [rad], (n,).
            task: Motion of the tool.
            pull: Joint velocity for the null space [rad/s], (n,). None: to the mid-range.
        """
        gains: KinematicCartesianGains = self.gains
        position, J = self.model.tool_kinematics(q)   # J: (3, n)
        dp = task.velocity + gains.position * (task.position - position)
        if pull is None:
            pull = gains.null_space * (self._middle - q)
        dp -= J.dot(pull)
        return pull + damped_solve(J, dp, gains.threshold, gains.damping)
