"""An arm that somebody else drives: efforts in, efforts out, under the same rules as the boards.

For robots run by ros2_control (Gazebo, UR, Franka, ...): there is no board that could close a loop
or damp by itself, so the law `kp (p_ref - p) + kd (v_ref - v) + torque` and the safe state are
computed here, and silence of the robot is noticed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, nan

from armsense_core.errors import ArmsenseError
from armsense_core.model import ArmConfig
from armsense_driver.arm_driver import Answer, Mode
from armsense_driver.command_guard import CommandGuard, GuardLimits
from armsense_driver.faults import Fault, FaultKind
from armsense_driver.joint_map import JointCommand, Reading

NO_STATES = 'no joint states arrive'


class EffortBridge:
    """Modes, guard and law for one arm."""

    def __init__(self, config: ArmConfig, limits: GuardLimits, command_timeout: int = 20,
                 collision_answer: int = 10) -> None:
        """Make a bridge.

        Args:
            config: The arm.
            limits: Of its joints.
            command_timeout: States without a new command before damping.
            collision_answer: States for a controller to answer a collision.
        """
        self.names = config.joint_names
        self.guard = CommandGuard(limits)
        self.mode = Mode.DISCONNECTED
        self.fault: Fault | None = None
        self.seq = 0
        self._lack = NO_STATES
        self._torque_per_ampere = [j.torque_per_ampere for j in config.joints.values()]
        self._command_timeout = command_timeout
        self._collision_answer = collision_answer
        self._command: JointCommand | None = None
        self._received = 0
        self._collision = (0, 0)     # newest reported: its seq, our seq then
        self._answered = 0

    def enable(self) -> Answer:
        if self.mode == Mode.DISABLED:
            self.mode, self._command = Mode.ENABLED, None
            return Answer(True, 'enabled')
        if self.mode == Mode.ENABLED:
            return Answer(True, 'already enabled')
        reason = self.fault.explanation if self.fault else self._lack
        return Answer(False, f'cannot enable in mode {self.mode.name}: {reason}')

    def disable(self) -> Answer:
        if self.mode == Mode.ENABLED:
            self.mode = Mode.DISABLED
        return Answer(True, self.mode.name)

    def clear_fault(self) -> Answer:
        if self.mode == Mode.DAMPING:
            self.mode, self.fault = Mode.DISABLED, None
            self._answered = self._collision[0]
        return Answer(True, 'enable to go on')

    def emergency_stop(self) -> Answer:
        self.fail(Fault(FaultKind.EMERGENCY_STOP))
        return Answer(True, 'damping')

    def fail(self, fault: Fault) -> None:
        """Go to the safe state; the first fault stays."""
        if self.mode != Mode.DAMPING:
            self.mode, self.fault = Mode.DAMPING, fault

    def silence(self, lack: str = NO_STATES) -> None:
        """The robot has told nothing of use for too long; `lack` says what is missing."""
        self._lack = lack
        if self.mode == Mode.ENABLED:
            self.fail(Fault(FaultKind.JOINT_STATES, lack))
        elif self.mode == Mode.DISABLED:
            self.mode = Mode.DISCONNECTED

    def give(self, command: JointCommand, seq: int, collision_seq: int = 0) -> None:
        """Take the newest command."""
        self._command, self._received = command, self.seq
        self._answered = max(self._answered, collision_seq)

    def report_collision(self, seq: int) -> None:
        if seq > self._collision[0]:
            self._collision = (seq, self.seq)

    def read(self, names: Sequence[str], position: Sequence[float], velocity: Sequence[float],
             effort: Sequence[float]) -> Reading:
        """State from a joint-state message with any order of names, checked against the limits.

        Raises:
            ArmsenseError: A joint, its velocity or its effort is missing.
        """
        reading = self.watch(names, position, velocity, effort)
        if not velocity:
            # Differences of positions that come when they come would do for neither of the two.
            raise ArmsenseError('joint_states has no velocities; who moves a robot needs them to '
                                'brake it and to see that it is too fast (passive:=true only '
                                'watches and works without)')
        if self.mode == Mode.DISCONNECTED:
            self.mode = Mode.DISABLED
        bad = [f'{name} is at {q} rad with {dq} rad/s' for name, q, dq in zip(
            self.names, reading.position, reading.velocity, strict=True)
            if not isfinite(q + dq)]
        if bad:
            self.fail(Fault(FaultKind.JOINT_STATES, ', '.join(bad)))
        elif self.mode == Mode.ENABLED:
            self._check(reading)
        return reading

    def watch(self, names: Sequence[str], position: Sequence[float], velocity: Sequence[float],
              effort: Sequence[float]) -> Reading:
        """State from a joint-state message, without a say in what the robot does.

        Raises:
            ArmsenseError: A joint or its effort is missing.
        """
        missing = [name for name in self.names if name not in names]
        if missing:
            raise ArmsenseError(f'joint_states lacks {", ".join(missing)}; it has '
                                f'{", ".join(names)}')
        velocity = velocity or [nan] * len(names)   # an observer has its own from the positions
        if not len(position) == len(velocity) == len(effort) == len(names):
            raise ArmsenseError('joint_states needs position and effort of every joint')
        order = [list(names).index(name) for name in self.names]
        torque = [effort[k] for k in order]
        self.seq += 1
        return Reading([position[k] for k in order], [velocity[k] for k in order],
                       [t / c for t, c in zip(torque, self._torque_per_ampere, strict=True)],
                       torque, [], [], nan)

    def efforts(self, reading: Reading) -> list[float]:
        """What to send to the robot now [Nm], (n,)."""
        if self.mode == Mode.DAMPING:
            return self._law(self.guard.damping(reading.position), reading)
        if self.mode != Mode.ENABLED or self._command is None:
            return [0.0] * len(self.names)
        command = self.guard.limited(self._command, reading.position, reading.velocity)
        return self._law(command, reading)

    def _check(self, reading: Reading) -> None:
        fault = self.guard.watch(reading.position, reading.velocity)
        if fault is None and self._collision[0] > self._answered:
            waited = self.seq - self._collision[1]
            if waited > self._collision_answer:
                fault = Fault(FaultKind.COLLISION_UNANSWERED, f'for {waited} states')
        if fault is None and self._command is not None:
            silence = self.seq - self._received
            if silence > self._command_timeout:
                fault = Fault(FaultKind.COMMAND_TIMEOUT, f'for {silence} states')
            else:
                fault = self.guard.check(self._command, reading.position)
        if fault is not None:
            self.fail(fault)

    def _law(self, command: JointCommand, reading: Reading) -> list[float]:
        top = self.guard.limits.torque
        torque = [t + kp * (p - q) + kd * (v - dq) for t, kp, kd, p, q, v, dq in zip(
            command.torque, command.kp, command.kd, command.position, reading.position,
            command.velocity, reading.velocity, strict=True)]
        return [min(max(t, -limit), limit) if isfinite(t) else 0.0
                for t, limit in zip(torque, top, strict=True)]
