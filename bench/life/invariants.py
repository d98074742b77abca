"""What must hold in every history: a name, a bound, and why it matters."""

from __future__ import annotations

import collections
import math

import numpy as np

from armsense.boards.mode import Mode
from armsense.control.goal import GoalStatus
from armsense.reaction.options import Phase
from armsense.trajectory import ErrorCode
from armsense.types import Array, board_torque
from bench.life.backs import MS
from bench.life.feeling import Felt
from bench.life.goals import GoalsEnd
from bench.life.invariant import Invariant
from bench.life.senses import BaseSense, JointSense
from bench.life.world import restore, snapshot, World

PRESS = 15.0          # [N] left half a second after giving up
FADE = 0.5            # [s]
KNOCK = 0.1           # [s] an arm that yields and meets something else knocks, it does not press
JUMP = 0.05           # [rad] of an arm whose obstacle is taken away
FLOAT = 1.5           # [rad/s] braked beyond 1 rad/s
GRACE = 0.1           # [s] until a board whose host is silent has no current either
ZERO = 0.05           # [rad] of a reading that is believed
REST = 0.15           # [rad/s] at which an arm that was let go rests
MOVED = 0.02          # [rad] by which an arm that follows a goal has moved
LAST = 2.0            # [s] longest damping at the end


class Press(Invariant):
    """An arm that has given up does not press."""

    name = 'press'
    bound = f'{PRESS:g} N after {FADE:g} s, for no longer than {1e3 * KNOCK:g} ms'
    reason = 'whoever is clamped must come free'

    def __init__(self) -> None:
        super().__init__()
        self._since: float | None = None       # [s] it has given up
        self._status: object = None
        self._loaded = -math.inf               # [s] a person pushed
        self._light = 0.0                      # [s] it pressed with less

    def gave_up(self, world: World) -> None:
        if world.mode is Mode.ENABLED and world.phase is not Phase.SAFE and self._since is None:
            self._since = world.time

    def cycle(self, world: World) -> None:
        status = world.controller.status
        ended = status is not None and not status.active
        if status is not self._status:
            self._status, self._since = status, None
        if ended and status.code is not ErrorCode.SUCCESSFUL and self._since is None:
            self._since = world.time
        if world.mode is not Mode.ENABLED or world.floats or world.cycle_ms > 5 or (
                world.phase in (Phase.VERIFYING, Phase.RESUMING, Phase.SAFE)) or (
                status is not None and status.active):
            self._since = None

    def tick(self, world: World) -> None:
        if world.pushes:
            self._loaded = world.time
        if self._since is None or world.time < max(self._since, self._loaded) + FADE:
            self._light = world.time
            return
        if world.plant.obstacles:
            force = world.pressing()
            if force < PRESS:
                self._light = world.time
            self.require(world, world.time < self._light + KNOCK, f'presses with {force:.1f} N '
                         f'{world.time - self._since:.2f} s after it gave up '
                         f'({world.phase.value}, {world.controller.law_name})')

    @property
    def since(self) -> float | None:
        return self._since

    @property
    def loaded(self) -> float:
        return self._loaded


class Jump(Invariant):
    """Nothing jumps when an obstacle is taken away from an arm that has given up."""

    name = 'jump'
    bound = f'{JUMP:g} rad in 0.3 s'
    reason = 'force that is stored in a reference hits whoever frees the arm'

    def __init__(self, press: Press) -> None:
        super().__init__()
        self._press = press
        self._start: tuple[float, Array] | None = None

    def freed(self, world: World) -> None:
        since = self._press.since
        if since is not None and world.time > since + FADE and not world.pushes and (
                # An arm that somebody has just pushed aside comes back on its own.
                world.time > self._press.loaded + FADE) and (
                float(np.abs(world.dq).max()) < REST and world.plant.obstacles):
            self._start = world.time, world.q.copy()

    def tick(self, world: World) -> None:
        if self._start is None:
            return
        time, q = self._start
        if world.time > time + 0.3 or self._press.since is None or world.pushes:
            self._start = None
            return
        moved = np.abs(world.q - q)
        self.require(world, bool(moved.max() < JUMP), f'joint {int(moved.argmax()) + 1} moved by '
                     f'{moved.max():.3f} rad when it was freed')


class Current(Invariant):
    """No current without an enable after the last stop, fault or power loss; damping only."""

    name = 'no_current_without_enable'
    bound = f'{1e3 * GRACE:g} ms after it'
    reason = 'a person beside an arm that was stopped is not moved by it'

    def __init__(self) -> None:
        super().__init__()
        self._fastest: collections.deque[Array] = collections.deque(maxlen=40)
        self._damped = -math.inf               # [s] the motors damped last

    def cycle(self, world: World) -> None:
        if world.mode is Mode.DAMPING:
            self._damped = world.time

    def tick(self, world: World) -> None:
        speed = np.abs(np.array(world.plant.readings.motor_velocity))
        self._fastest.append(speed)
        if world.permit or world.time < world.revoked + GRACE + 3e-3 * world.cycle_ms:
            return
        self.require(world, world.mode not in (Mode.STARTING, Mode.ENABLED),
                     f'the driver is {world.mode.name} and nobody has enabled it')
        torque = np.array(world.torque)
        allowed = 0.02 * world.limits.torque
        if world.time < self._damped + GRACE or world.ended:
            allowed = allowed + world.damping * (1.1 * np.max(self._fastest, axis=0) + 0.3)
        worst = int((np.abs(torque) - allowed).argmax())
        self.require(world, abs(torque[worst]) <= allowed[worst],
                     f'motor {worst + 1} gives {torque[worst]:+.2f} Nm in {world.mode.name} '
                     f'({world.fault or "no fault"}), at {speed[worst]:.2f} rad/s')


class Stop(Invariant):
    """An emergency stop stays, under its name, until it is cleared."""

    name = 'emergency_stop_stays'
    bound = 'until clear_fault'
    reason = 'a stop that another fault replaces is cleared by whoever clears that fault'

    def cycle(self, world: World) -> None:
        if world.stopped and not world.ended:
            self.require(world, world.fault == 'emergency_stop' and world.mode is Mode.DAMPING,
                         f'after an emergency stop the driver is {world.mode.name} with '
                         f'{world.fault or "no fault"}')


class Reference(Invariant):
    """References stay within position, velocity and acceleration; plans within jerk, too.

    Only a joint whose reference begins anew in this cycle, at the arm, is not compared with the
    cycle before.
    """

    name = 'reference_limits'
    bound = 'limits of the arm, 1 to 5 % for finite differences'
    reason = 'also goals that preempt each other must be something that the arm can follow'

    def __init__(self) -> None:
        super().__init__()
        self._last: tuple[Array, Array] | None = None      # [rad] and [rad/s^2] of the reference
        self._speed: Array | None = None                   # [rad/s] from its positions,
        self._span = 0.0                                   # [s] and the cycle that it is of
        self._begun: tuple[object, Array] | None = None    # controller, beginnings of each joint
        self._planned = False

    def cycle(self, world: World) -> None:
        controller, reference = world.controller, world.controller.reference
        if not world.stepped or reference is None or controller.phase is Phase.SAFE:
            self._last = self._speed = None
            return
        limits, q, dq, ddq = world.limits, *reference[:3]
        self._within(world, ('position', np.maximum(q - limits.upper, limits.lower - q), 1e-6),
                     ('velocity', np.abs(dq), 1.001 * limits.velocity),
                     ('acceleration', np.abs(ddq), 1.03 * limits.acceleration))
        before, self._last = self._last, (q, ddq)
        begun, self._begun = self._begun, (controller, controller.restarts)
        planned, self._planned = self._planned and controller.planned, controller.planned
        if before is None or begun is None or begun[0] is not controller or world.dt <= 0.0:
            self._speed = None
            return
        self._compare(world, before, begun[1] == controller.restarts, planned)

    def _compare(self, world: World, before: tuple[Array, Array], led: Array,
                 planned: bool) -> None:
        """With the cycle before; joints that are not led begin where the arm is."""
        assert self._last is not None
        limits, dt, q = world.limits, world.dt, self._last[0]
        # Who is planned to a limit, or brakes on the way there, stops at it.
        free = (q > limits.lower) & (q < limits.upper)
        speed = np.where(led, (q - before[0]) / dt, np.nan)
        # Each is the speed in the middle of its cycle, and cycles differ in length.
        apart = 0.5 * (dt + self._span)
        change = (0.0 * speed if self._speed is None else speed - self._speed) * free / apart
        self._speed, self._span = speed, dt
        self._within(world, ('velocity of steps', np.abs(np.nan_to_num(speed)),
                             1.01 * limits.velocity + 0.01),
                     ('acceleration of steps', np.abs(np.nan_to_num(change)),
                      1.03 * limits.acceleration + 1.5))
        if planned:
            jerk = np.abs(self._last[1] - before[1]) * (free & led) / dt
            self._within(world, ('jerk of steps', jerk, 1.05 * limits.jerk + 30.0))

    def _within(self, world: World, *limited: tuple[str, Array, Array | float]) -> None:
        self.checks += 1
        for what, value, limit in limited:
            if (value > limit).any():
                worst = int((value - limit).argmax())
                top = np.broadcast_to(limit, value.shape)[worst]
                self.require(world, False, f'{what} of joint {worst + 1}: {value[worst]:.3f}, at '
                             f'most {top:.3f}')


class Torque(Invariant):
    """Commands and motors stay within the torque limits."""

    name = 'torque_limits'
    bound = 'limit of the arm; 2 % for what a motor gives'
    reason = 'nothing behind the controller can make up for too much torque'

    def cycle(self, world: World) -> None:
        if world.stepped and world.command is not None and world.state is not None:
            wanted = np.abs(board_torque(world.command, world.state))
            worst = int((wanted / world.limits.torque).argmax())
            self.require(world, bool(wanted[worst] <= 1.001 * world.limits.torque[worst]),
                         f'the controller asks {wanted[worst]:.2f} Nm of joint {worst + 1}')

    def tick(self, world: World) -> None:
        given = np.abs(np.array(world.torque))
        worst = int((given / world.strongest).argmax())
        self.require(world, bool(given[worst] <= 1.02 * world.strongest[worst]),
                     f'motor {worst + 1} gives {given[worst]:.2f} Nm of '
                     f'{world.strongest[worst]:.2f}')


class Truth(Invariant):
    """What the arm says of itself is so: zero, success, motors, goals."""

    name = 'says_the_truth'
    bound = f'readings within {ZERO:g} rad; success within the tolerance'
    reason = 'people act on what the arm says'

    def __init__(self) -> None:
        super().__init__()
        self._done: object = None

    def cycle(self, world: World) -> None:
        status = world.controller.status
        if world.mode is Mode.ENABLED and world.reading is not None:
            wrong = np.abs(np.array(world.reading.position)
                           - np.array(world.plant.readings.motor_position))
            self.require(world, bool(wrong.max() < ZERO + 0.01 * world.cycle_ms),
                         f'ENABLED, and joint {int(wrong.argmax()) + 1} reads '
                         f'{wrong.max():.3f} rad beside where it is')
        if status is None or status.active or status is self._done:
            return
        self._done = status
        if status.succeeded and status.desired is not None:
            away = np.abs(status.desired.q - world.q)
            self.require(world, bool(away.max() < 0.1), f'the goal is said to be reached, '
                         f'{away.max():.3f} rad away')


class Age(Invariant):
    """Silence of a controller ends in the safe state after time, not after cycles."""

    name = 'commands_in_time'
    bound = '60 ms, or three cycles'
    reason = 'a slow loop must not follow a dead controller longer than a fast one'

    def cycle(self, world: World) -> None:
        age = world.time - world.given
        if world.mode is Mode.ENABLED and world.given > world.enabled_at and (
                age > max(0.06, 3.5e-3 * world.cycle_ms)):
            self.require(world, False, f'ENABLED, {1e3 * age:.0f} ms after the last command')
        self.checks += 1


class Clock(Invariant):
    """Setting the wall clock changes nothing."""

    name = 'wall_clock'
    bound = 'mode and phase of the next 50 ms'
    reason = 'a computer without a clock of its own sets it when the network comes'

    def __init__(self) -> None:
        super().__init__()
        self._before: tuple[float, bool, Mode] | None = None

    def clock_set(self, world: World) -> None:
        self._before = world.time, world.phase is Phase.SAFE, world.mode

    def cycle(self, world: World) -> None:
        if self._before is None:
            return
        time, safe, mode = self._before
        if world.time > time + 0.05:
            self._before = None
            return
        words = world.controller.explanation
        self.require(world, safe or world.phase is not Phase.SAFE or not (
            'time step' in words or 'no state for' in words), f'the controller is safe: {words}')


class Floating(Invariant):
    """An arm that floats does not run away, whatever it carries."""

    name = 'float_speed'
    bound = f'{FLOAT:g} rad/s, {FADE:g} s after the last touch'
    reason = 'a load that was told and fell down lifts the arm that a person leads'

    def __init__(self) -> None:
        super().__init__()
        self._touched = 0.0                    # [s] or led otherwise
        self._stops = 0                        # joints at their end stops

    def tick(self, world: World) -> None:
        stops = int(np.count_nonzero(world.stop_torque())) if world.floats else 0
        if stops > self._stops:                # the next joint takes over the momentum
            self._touched = world.time
        self._stops = stops
        if not (world.floats and world.mode is Mode.ENABLED) or world.pushes or (
                world.plant.contact or world.cycle_ms > 5):
            self._touched = world.time
        elif world.time > self._touched + FADE:
            speed = np.abs(world.dq)
            self.require(world, bool(speed.max() < FLOAT), f'joint {int(speed.argmax()) + 1} '
                         f'floats at {speed.max():.2f} rad/s')


class Frames(Invariant):
    """No frame that no board should get."""

    name = 'unsafe_frames'
    bound = 'none'
    reason = 'the wire is the last place where a wrong command can be seen'

    def cycle(self, world: World) -> None:
        count = world.back.unsafe_frames
        self.require(world, count == 0, f'{count} unsafe frames')


class Ending(Invariant):
    """When the program ends the arm is not faster than damping lets it be, and rests at last."""

    name = 'soft_end'
    bound = f'1.3 times the tool speed under damping and 0.1 m/s; rests, or {LAST:g} s are over'
    reason = 'an arm that is let go falls on whoever is below'

    def __init__(self) -> None:
        super().__init__()
        self._damped: list[float] = []         # [m/s] highest that is fine, by millisecond
        self._since = math.inf                 # [s] the end was asked for

    def judge(self, world: World) -> None:
        """End the program now; nobody pushes meanwhile."""
        world.release()
        driven = world.mode in (Mode.ENABLED, Mode.DAMPING, Mode.STARTING) and any(world.torque)
        if not driven:                         # boards that lost power are not started again
            world.end()
            return
        self._damped, self._since = self._damp(world), world.time
        world.end()
        self._damped = []
        # Of the motors: a link that rattles in the play of its gear goes nowhere.
        took = world.time - self._since
        speed = float(np.abs(world.plant.readings.motor_velocity).max())
        self.require(world, took > LAST - 0.01 or speed < REST,
                     f'let go after {took:.2f} s with a motor at {speed:.2f} rad/s')
        self.require(world, took < LAST + 0.1, f'it took {took:.2f} s to end')

    def tick(self, world: World) -> None:
        place = round((world.time - self._since) / MS) if self._damped else 0
        if 0 < place < len(self._damped):
            speed, fine = world.tool_speed(), self._damped[place]
            self.require(world, speed <= 1.3 * fine + 0.1, f'tool at {speed:.2f} m/s {place} ms '
                         f'after the end; damping would have let it {fine:.2f} m/s')

    def _damp(self, world: World) -> list[float]:
        """Highest tool speed until each millisecond, with damping from now on [m/s]."""
        plant, saved, top, found = world.plant, snapshot(world.plant), 0.0, []
        damping = world.damping * world.back.brakes      # a board that tripped brakes nothing
        for _ in range(400):
            torque = -damping * np.array(plant.readings.motor_velocity)
            top = max(top, world.tool_speed())
            found.append(top)
            plant.step(np.clip(torque, -world.limits.torque, world.limits.torque), MS)
        restore(plant, saved)
        return found


class Alive(Invariant):
    """From every state the documented way leads to an arm that moves."""

    name = 'never_stuck'
    bound = 'clear_fault twice, clear_fault of the controller, enable, hold, a goal'
    reason = 'people who must restart software to go on stop trusting it'

    def judge(self, world: World) -> None:
        """Tidy up around the arm, as a person would, then try."""
        world.tidy()
        for _ in range(3):                     # a fault may come while the arm is still knocked
            world.recover()
            if world.mode is Mode.ENABLED:
                break
        world.usual_law()
        self.require(world, world.mode is Mode.ENABLED, f'after clearing and enabling the driver '
                     f'is {world.mode.name}: {world.driver.fault}')
        world.run(0.1)
        status, why, moved = self._drive(world)
        if moved < MOVED and world.base is not None and world.base.lasting:
            world.zero_cells()                 # their zero was taken while something touched
            status, why, moved = self._drive(world)
        self.require(world, status is not None, f'a goal is refused: {why}')
        self.require(world, moved > MOVED, f'the arm moved by {moved:.4f} rad: '
                     f'{status.text}, {world.mode.name}, {world.phase.value} '
                     f'{world.controller.explanation}')

    @staticmethod
    def _drive(world: World) -> tuple[GoalStatus | None, str, float]:
        """A goal, why it is refused, and how far the arm moved [rad]."""
        status, why = world.try_goal()
        start = world.q.copy()
        if status is not None:
            world.run_until(lambda: bool(np.abs(world.q - start).max() > MOVED), 1.0)
        return status, why, float(np.abs(world.q - start).max())


def all_invariants() -> list[Invariant]:
    """One of each, for one history."""
    press = Press()
    return [Felt('felt', JointSense), Felt('base_felt', BaseSense), press, Jump(press), Current(),
            Stop(), Reference(), Torque(), Truth(), Age(), Clock(), Floating(), Frames(),
            GoalsEnd(), Ending(), Alive()]
