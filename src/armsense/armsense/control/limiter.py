"""The last step before a command leaves: nothing beyond the limits, nothing that is no number."""

from math import isfinite
from typing import NamedTuple

import numpy as np

from armsense.drive import ElasticJoint
from armsense.model import Arm
from armsense.trajectory.limits import Limits
from armsense.types import ArmState, Array, Command, constant

# [rad] A place further away pulls no harder; the driver takes 0.5 for a mistake and brakes.
REACH = 0.4
NEAR = 0.8   # of the velocity limit, from which on torque that makes a motor faster fades


class Limited(NamedTuple):
    """A command that may be sent."""

    command: Command
    reason: str        # why it is damping instead of what the law asked; empty: it is not
    saturated: bool    # the law asked for more torque than there is


class Limiter:
    """Keeps position, velocity and torque of commands within the arm's limits.

    Torque that a joint cannot give is taken from its feedback: the gains are scaled so that
    feed-forward and feedback together reach the limit, at the state that the command answers.
    A place that an arm cannot follow to, for something holds it, is commanded no further than
    `REACH` from it. A motor close to its velocity limit gets no torque that makes it faster, one
    beyond it is braked: behind a soft spring a strong law would race the rotor.
    """

    def __init__(self, model: Arm, limits: Limits) -> None:
        """Prepare for an arm; its yaml gives the damping of the safe state."""
        self.torque = constant(limits.torque)
        self._damping = constant(np.array([j.safe_damping for j in model.config.joints.values()]))
        self._zero = constant(np.zeros(model.n))
        springs = ElasticJoint.from_config(model.config)
        self._low, self._high = (constant(edge) for edge in springs.motor_range(
            limits.lower, limits.upper, limits.torque))
        self._edges = (self._low.tolist(), self._high.tolist(),
                       springs.motor_speed(limits.velocity).tolist(), limits.torque.tolist())
        self._rest = constant(np.minimum(np.maximum(0.0, self._low), self._high))

    def apply(self, command: Command, state: ArmState) -> Limited:
        """The command within the limits, or damping if it holds no numbers."""
        kept = True
        rows: list[tuple[float, float, float, float, float, float]] = []
        # Plain numbers: for a handful of joints a loop is several times faster than arrays.
        for p, v, tau, kp, kd, ki, theta, dtheta, low, high, speed, limit in zip(
                *(values.tolist() for values in command), state.theta.tolist(),
                state.dtheta.tolist(), *self._edges, strict=True):
            if not isfinite(p + v + tau + kp + kd + ki):
                return Limited(self.damping(state), f'the law gave {_worst(command)}', True)
            total = tau + kp * (p - theta) + kd * (v - dtheta)
            fast = dtheta * total > 0.0 and abs(dtheta) > NEAR * speed
            if not fast and low <= p <= high and -REACH <= p - theta <= REACH and (
                    -speed <= v <= speed) and -limit <= tau <= limit and -limit <= total <= limit:
                rows.append((p, v, tau, kp, kd, ki))
                continue
            kept = False
            if fast:
                most = limit * max(-1.0, (1.0 - abs(dtheta) / speed) / (1.0 - NEAR))
                total = min(abs(total), most) * (1.0 if dtheta > 0.0 else -1.0)
                rows.append((min(max(p, low), high), 0.0, total, 0.0, 0.0, 0.0))
                continue
            p = min(max(min(max(p, theta - REACH), theta + REACH), low), high)
            v = min(max(v, -speed), speed)
            tau = min(max(tau, -limit), limit)
            share = _share(tau, kp * (p - theta) + kd * (v - dtheta), limit)
            rows.append((p, v, tau, share * kp, share * kd, share * ki))
        if kept:
            return Limited(command, '', False)
        return Limited(Command(*np.array(rows).T), '', True)

    def damping(self, state: ArmState | None) -> Command:
        """The safe command: brake every joint, hold nothing."""
        zero, kd = self._zero, self._damping
        if state is None or not state.finite:
            return Command(self._rest, zero, zero, zero, kd, zero)
        position = np.minimum(np.maximum(state.theta, self._low), self._high)
        # Divided, not multiplied: no speed overflows.
        kd = np.minimum(kd, self.torque / np.maximum(np.abs(state.dtheta), 1e-12))
        return Command(position, zero, zero, zero, kd, zero)


def too_heavy(model: Arm, limits: Limits, q: Array) -> str:
    """Which motor could not hold an arm at q [rad], (n,); empty: they all can."""
    weight = np.abs(model.gravity_torque(q))
    return next((f'{joint} would have to hold {torque:.3g} Nm where the arm is; it has '
                 f'{most:.3g} Nm' for joint, torque, most in zip(
                     limits.joints, weight, limits.torque, strict=True)
                 if not torque <= most), '')


def _share(torque: float, feedback: float, limit: float) -> float:
    """Part of the feedback that fits beside the feed-forward torque, 0 to 1."""
    room = limit - torque if feedback > 0.0 else -limit - torque
    if abs(feedback) <= abs(room):
        return 1.0
    return room / feedback if isfinite(feedback) else 0.0


def _worst(command: Command) -> str:
    for name, values in command._asdict().items():
        for j, value in enumerate(values):
            if not isfinite(value):
                return f'{name} {value} for joint {j + 1}'
    return 'numbers too large to use'
