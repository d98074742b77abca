"""An arm that somebody else drives: joint states in, efforts out, under the arbiter's rules.

For robots run by ros2_control (Gazebo, UR, Franka, ...): there is no board that could close a loop
or damp by itself, so the law `kp (p_ref - p) + kd (v_ref - v) + torque` and the safe state are
computed here, and silence of the robot is noticed here.

A board damps a thousand times a second; here a joint of inertia M that is damped by D at states
every T multiplies its speed by 1 - D T / M from one to the next, which swings up beyond two, and
beyond one if the effort comes a state late. So D is lowered to what the robot's pace allows. Where
states come in bursts, T is the period that most of the time is spent in, sum(T^2) / sum(T): an
effort acts as long as the pause that follows, and the median of the pauses would not show it.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from math import exp, isfinite, nan
from statistics import median_low

import numpy as np

from armsense.boards.arbiter import Arbiter, ArbiterSettings, Clock, STATES_TO_ANSWER
from armsense.boards.command_guard import GuardLimits
from armsense.boards.joint_map import Reading
from armsense.boards.mode import Fault, FaultKind, Mode
from armsense.control.drivetrain import Drivetrain
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.types import Command, Floats

NO_STATES = 'no joint states arrive'
TRUSTED = 4   # stamps in a row that advance
STABLE = 0.8  # of D T / M: an effort may come a state late
PACE = 15     # newest times between two states; their median is the robot's usual period
MEMORY = 0.5  # [s] of its uneven pace: shorter than from pause to pause, damping would come and go


class EffortBridge(Arbiter):
    """Reads the joint states of one arm and closes its loops."""

    def __init__(self, model: Arm, limits: GuardLimits,
                 settings: ArbiterSettings | None = None, clock: Clock | None = None, *,
                 trust_efforts: bool = True) -> None:
        """Make a bridge for an arm whose inertia tells how much damping is stable.

        Times (`settings`) are by default those of boards, at the rate of the arm file. Efforts
        that the robot tells are those of its motors if `trust_efforts`. Those of Gazebo are not:
        it tells what is left behind friction (older gz_ros2_control: nothing), so what was sent
        counts.
        """
        config = model.config
        super().__init__(limits, settings or ArbiterSettings(period=1.0 / config.rate), clock)
        self.names = config.joint_names
        self._lack = NO_STATES             # empty: states come and are of use
        self._torque_per_ampere = [j.torque_per_ampere for j in config.joints.values()]
        self._torque_per_effort = model.effort_torque(np.ones(model.n)).tolist()
        self._stamps = StampClock()
        self._pace: deque[int] = deque(maxlen=PACE)    # [ns]
        self._spent = self._squared = 0.0              # [s], [s^2] of these times, fading
        self._model, self._rotor = model.replace(), np.diag(Drivetrain(model).rotor)
        self._damping = np.array(limits.damping)       # [Nm s/rad] that is wanted, (n,)
        self._trusts_efforts = trust_efforts
        self.sent = [0.0] * model.n                    # [Nm] newest efforts, (n,)

    def why_not_enabled(self) -> str:
        return super().why_not_enabled() or (
            self._lack if self.mode == Mode.DISCONNECTED else '')

    def _hindrance(self) -> Fault | None:
        return Fault(FaultKind.JOINT_STATES, self._lack) if self._lack else None

    def silence(self, lack: str = NO_STATES) -> None:
        """The robot has told nothing of use for too long; `lack` says what is missing."""
        self._lack = lack
        if self._ending:
            self.let_go()                  # nothing to brake by
        elif self.mode == Mode.ENABLED:
            self.fail(Fault(FaultKind.JOINT_STATES, lack))
        elif self.mode == Mode.DISABLED:
            self.mode = Mode.DISCONNECTED

    def read(self, names: Sequence[str], position: Sequence[float], velocity: Sequence[float],
             effort: Sequence[float], stamp_ns: int = 0) -> Reading:
        """State from a joint-state message as for `watch`, checked against the limits."""
        reading = self.watch(names, position, velocity, effort, stamp_ns)
        if not velocity:
            # Differences of positions that come when they come would do for neither of the two.
            raise ArmsenseError('joint_states has no velocities; who moves a robot needs them to '
                                'brake it and to see that it is too fast (passive:=true only '
                                'watches and works without)')
        self._lack = ', '.join(f'{name} is at {q} rad with {dq} rad/s' for name, q, dq in zip(
            self.names, reading.position, reading.velocity, strict=True) if not isfinite(q + dq))
        if self.mode == Mode.DISCONNECTED:
            self.mode = Mode.DISABLED
        if self._lack:
            self.fail(Fault(FaultKind.JOINT_STATES, self._lack))
        else:
            self.guard.limits = replace(
                self.guard.limits, damping=self.stable_damping(reading.position))
        self.reading = reading
        self._check_state(reading)
        self._check_rest()
        self._check_command()
        return reading

    def watch(self, names: Sequence[str], position: Sequence[float], velocity: Sequence[float],
              effort: Sequence[float], stamp_ns: int = 0) -> Reading:
        """State from a joint-state message, without a say in what the robot does.

        Joints come in any order, in [rad], [rad/s] and efforts of the robot; the stamp is of any
        clock, 0: there is none. A message without a joint or its effort is an error.
        """
        missing = [name for name in self.names if name not in names]
        if missing:
            raise ArmsenseError(f'joint_states lacks {", ".join(missing)}; it has '
                                f'{", ".join(names)}')
        velocity = velocity or [nan] * len(names)   # an observer has its own from the positions
        if not len(position) == len(velocity) == len(effort) == len(names):
            raise ArmsenseError('joint_states needs position and effort of every joint')
        order = [list(names).index(name) for name in self.names]
        torque = self.sent
        if self._trusts_efforts:
            torque = [effort[k] * g for k, g in zip(order, self._torque_per_effort, strict=True)]
        self._keep_time(stamp_ns)
        return Reading([position[k] for k in order], [velocity[k] for k in order],
                       [t / c for t, c in zip(torque, self._torque_per_ampere, strict=True)],
                       torque, [], [], nan)

    def stable_damping(self, position: Sequence[float]) -> list[float]:
        """What of the safe state's damping the robot's pace allows [Nm s/rad], (n,)."""
        period = self._squared / self._spent if self._spent else self.rules.period
        M = self._model.mass_matrix(np.array(position)) + self._rotor     # (n, n)
        damping = np.minimum(self._damping, STABLE * M.diagonal() / max(period, 1e-6))
        # Joints that move each other are quicker than each alone.
        root = np.sqrt(damping)
        fastest = np.linalg.eigvalsh(root[:, None] * np.linalg.inv(M) * root)[-1]   # [1/s]
        share = min(1.0, STABLE / max(fastest * period, 1e-9))
        return [share * d for d in damping.tolist()]

    def efforts(self, reading: Reading) -> list[float]:
        """What to send to the robot now [Nm], (n,)."""
        command = self.decide()
        self.sent = [0.0] * len(self.names) if command is None else self._law(command, reading)
        return self.sent

    def _keep_time(self, stamp_ns: int) -> None:
        before = self._now
        self._next_cycle()
        if self.seq > 1:
            self._pace.append(self._now - before)
            # However slowly this robot speaks, a controller has some of its states to answer.
            self._patience = STATES_TO_ANSWER * median_low(self._pace)
            if not self._lack:             # a silence before is no pace
                period = 1e-9 * (self._now - before)
                fade = exp(-period / MEMORY)
                self._spent = fade * self._spent + period
                self._squared = fade * self._squared + period**2
        self.time_ns = self._stamps.time(stamp_ns, self._now)

    def _law(self, command: Command[Floats], reading: Reading) -> list[float]:
        top = self.guard.limits.torque
        torque = [t + kp * (p - q) + kd * (v - dq) for t, kp, kd, p, q, v, dq in zip(
            command.torque, command.kp, command.kd, command.position, reading.position,
            command.velocity, reading.velocity, strict=True)]
        return [min(max(t, -limit), limit) if isfinite(t) else 0.0
                for t, limit in zip(torque, top, strict=True)]


class StampClock:
    """Monotonic time of states that somebody else stamps, perhaps with a clock that is set.

    Where stamps advance as states do, their differences count: a simulator's time, or samples
    that are more even than their arrival. After a stamp that leaps or stands still the time
    between arrivals counts, until some stamps in a row have advanced again.
    """

    def __init__(self) -> None:
        self._time = self._stamp = self._received = 0
        self._good = 0                     # stamps in a row that advanced
        self._steps: deque[int] = deque(maxlen=PACE)    # [ns] between stamps, newest

    def time(self, stamp_ns: int, received_ns: int) -> int:
        """Time of a state [ns], from its stamp and the monotonic time of its arrival."""
        if not self._time:
            self._time = received_ns
        else:
            step, waited = stamp_ns - self._stamp, received_ns - self._received
            usual = median_low(self._steps) if self._steps else waited
            self._good = self._good + 1 if 0 < step <= 2 * (usual + waited) else 0
            self._time += step if self._good >= TRUSTED else waited
            if step > 0:
                self._steps.append(step)
        self._stamp, self._received = stamp_ns, received_ns
        return self._time
