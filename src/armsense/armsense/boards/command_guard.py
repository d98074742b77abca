"""The last check before the wire: no command that could hurt passes."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import isfinite

from armsense.boards.mode import Fault, FaultKind
from armsense.drive import ElasticJoint
from armsense.model import Arm
from armsense.schema import quantity
from armsense.trajectory.limits import Limits
from armsense.types import Command, Floats


@dataclass(frozen=True, kw_only=True)
class GuardLimits:
    """Limits of one arm, each list in joint order; angles and velocities of the motors."""

    lower: Sequence[float]              # [rad]
    upper: Sequence[float]              # [rad]
    velocity: Sequence[float]           # [rad/s]
    torque: Sequence[float]             # [Nm]
    damping: Sequence[float]            # [Nm s/rad] of the safe state
    names: Sequence[str]
    links: Sequence[tuple[float, float]] = ()   # [rad] range of each link
    integrates: bool = False            # the boards have an integrator
    position_margin: float = quantity(0.15, unit='rad', text='beyond a limit before it is a fault')
    speed_margin: float = quantity(1.5, text='times the velocity limit before it is a fault')
    step: float = quantity(0.5, unit='rad', text='largest distance of a position command')


def guard_limits(model: Arm) -> GuardLimits:
    """Limits of an arm: those of the controllers, and how the safe state brakes.

    A motor behind a spring turns further than its link, and one whose cable passes another joint
    turns with that joint, too.
    """
    config = model.config
    limits, springs = Limits.of(model), ElasticJoint.from_config(config)
    lower, upper = springs.motor_range(limits.lower, limits.upper, limits.torque)
    return GuardLimits(
        lower=lower.tolist(), upper=upper.tolist(),
        velocity=springs.motor_speed(limits.velocity).tolist(), torque=limits.torque.tolist(),
        links=list(zip(limits.lower.tolist(), limits.upper.tolist(), strict=True)),
        damping=[j.safe_damping for j in config.joints.values()],
        names=config.joint_names,
        integrates=bool(config.boards and config.boards.protocol == 'laas_inhouse'))


class CommandGuard:
    """Checks and limits commands; holds no state."""

    def __init__(self, limits: GuardLimits) -> None:
        self.limits = limits
        self._zeros = [0.0] * len(limits.names)

    def check(self, command: Command[Floats], position: Sequence[float]) -> Fault | None:
        """The fault in a command, if any."""
        limits = self.limits
        for field, values in zip(Command._fields, command, strict=True):
            for k, value in enumerate(values):
                if not isfinite(value):
                    return Fault(FaultKind.COMMAND_NOT_FINITE,
                                 f'{field} of {limits.names[k]} is {value}')
        for k, name in enumerate(limits.names):
            if command.kp[k] < 0.0 or command.kd[k] < 0.0 or command.ki[k] < 0.0:
                return Fault(FaultKind.COMMAND_UNSUPPORTED, f'negative gain of {name}')
            if command.ki[k] and not limits.integrates:
                return Fault(FaultKind.COMMAND_UNSUPPORTED,
                             f'ki of {name} is {command.ki[k]:g}; the boards have no integrator')
            distance = command.position[k] - position[k]
            if command.kp[k] and abs(distance) > limits.step:
                return Fault(FaultKind.COMMAND_STEP,
                             f'{name}: {distance:+.3f} rad from the arm, at most {limits.step}')
        return None

    def limited(self, command: Command[Floats], position: Sequence[float],
                velocity: Sequence[float]) -> Command[Floats]:
        """The command within limits; at a joint limit nothing pushes outwards and damping acts."""
        limits = self.limits
        reference = [min(max(p, low), high)
                     for p, low, high in zip(command.position, limits.lower, limits.upper,
                                             strict=True)]
        speed = [min(max(v, -top), top)
                 for v, top in zip(command.velocity, limits.velocity, strict=True)]
        torque = [min(max(t, -top), top)
                  for t, top in zip(command.torque, limits.torque, strict=True)]
        kd = list(command.kd)
        for k, q in enumerate(position):
            outward = 1.0 if q > limits.upper[k] else -1.0 if q < limits.lower[k] else 0.0
            if outward:
                torque[k] = min(torque[k] * outward, 0.0) * outward
                speed[k] = min(speed[k] * outward, 0.0) * outward
                if velocity[k] * outward > 0.0:
                    kd[k] = max(kd[k], limits.damping[k])
        return Command(reference, speed, torque, command.kp, kd, command.ki)

    def watch(self, position: Sequence[float], velocity: Sequence[float],
              links: Sequence[float] = ()) -> Fault | None:
        """The fault in a state of motors, and of links behind springs, if any."""
        limits, margin = self.limits, self.limits.position_margin
        motors = zip(limits.names, position, zip(limits.lower, limits.upper, strict=True),
                     strict=True)
        behind = zip(limits.names, links, limits.links, strict=True) if links else ()
        for name, q, (low, high) in chain(motors, behind):
            if not low - margin <= q <= high + margin:
                return Fault(FaultKind.POSITION_LIMIT,
                             f'{name} at {q:.3f} rad, limits {low:.3f} .. {high:.3f}')
        for k, name in enumerate(limits.names):
            if abs(velocity[k]) > limits.speed_margin * limits.velocity[k]:
                return Fault(FaultKind.OVERSPEED,
                             f'{name} at {velocity[k]:.2f} rad/s, limit {limits.velocity[k]:.2f}')
        return None

    def damping(self, position: Sequence[float]) -> Command[Floats]:
        """The safe state: every joint brakes its own motion, nothing pulls."""
        zeros = self._zeros
        return Command(position, zeros, zeros, zeros, self.limits.damping, zeros)

    def no_torque(self, position: Sequence[float]) -> Command[Floats]:
        """No current at all."""
        zeros = self._zeros
        return Command(position, zeros, zeros, zeros, zeros, zeros)
