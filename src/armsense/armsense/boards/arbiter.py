"""The one place that decides what reaches the motors of an arm. No ROS; time is given, in ns.

Modes, latched faults, requests, the age of commands, unanswered collisions and limits are the same
whatever drives the arm. Two back ends stand on it: `ArmDriver` (motor boards) and `EffortBridge`
(an effort interface). They read states and turn `decide()` (follow a command, brake, or nothing)
into frames or efforts; what they alone know they answer in `_begin`, `_hindrance` and
`_lost_zeros`.

What is not trusted is replaced by damping, and only `clear_fault` followed by `enable` leads out
of that. Faults are kept in order: an emergency stop before encoders without a zero before any
other, and `clear_fault` deals with one kind at a time, by name.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from armsense.boards.command_guard import CommandGuard, GuardLimits
from armsense.boards.joint_map import Reading
from armsense.boards.mode import Fault, FaultKind, Mode
from armsense.schema import quantity
from armsense.types import Command, Floats

STATES_TO_ANSWER = 3     # where states come slowly, a controller still has so many of them
KEPT = 256               # states whose time is remembered
REST_WAY = 0.002         # [rad] no joint of an arm that rests moves further
REST_TIME = 100_000_000  # [ns] in this time
ENDING = 'the driver ends: it brakes the arm until it rests'
RELEASED = 'the driver has let the motors go; activate it first'

Clock = Callable[[], int]    # [ns] monotonic


@dataclass(frozen=True, kw_only=True)
class ArbiterSettings:
    """Times of the arbiter [s]."""

    period: float = 0.001              # between two states, nominal
    command_timeout: float = quantity(
        0.02, unit='s', low=0.002, high=1.0, text='without a command before damping')
    command_age: float = quantity(
        0.02, unit='s', low=0.002, high=1.0,
        text='from a state to the arrival of the command that answers it, before damping')
    collision_answer: float = quantity(
        0.01, unit='s', low=0.001, high=1.0, text='for a controller to answer a collision')
    overspeed: float = 0.02            # too fast for so long; a knock alone is no fault
    brake_time: float = quantity(
        2.0, unit='s', low=0.0, high=5.0,
        text='longest braking when the node ends, before the motors are let go')


class Answer(NamedTuple):
    """Result of a request."""

    success: bool
    message: str


class Arbiter:
    """Decides for one arm; requests and cycles must not run at the same time."""

    def __init__(self, limits: GuardLimits, settings: ArbiterSettings,
                 clock: Clock | None = None) -> None:
        """Begin disconnected; without a clock time is virtual, one period per cycle."""
        self.guard = CommandGuard(limits)
        self.rules = settings
        self.mode = Mode.DISCONNECTED
        self.reading: Reading | None = None
        self.seq = 0
        self.time_ns = 0                   # of the newest state, monotonic, for controllers
        self.wants_enable = False          # as soon as somebody attends to the arm
        self.released = False              # the motors carry no current, whatever the mode
        self._clock = clock
        self._now = 0                      # [ns] of this cycle
        self._patience = STATES_TO_ANSWER * _ns(settings.period)
        self._sampled = [(0, 0)] * KEPT    # seq and time [ns] of the newest states
        self._stop: Fault | None = None    # an emergency stop: nothing replaces it
        self._fault: Fault | None = None   # of all others the first
        self._named: list[Fault] = []       # lost zeros that clear_fault has named
        self._ending = False
        self._brake_until = 0              # [ns] while ending
        self._place: Sequence[float] = []  # [rad] where the arm was
        self._moved = 0                    # [ns] when it came there
        self._fast_since: int | None = None
        self._command: Command[Floats] | None = None
        self._command_seq = 0
        self._command_age = 0              # [ns] of the state it answers, when it came
        self._command_at = 0               # [ns] when it came
        self._collision_seq = 0            # newest collision reported
        self._collision_at = 0             # [ns]
        self._collision_answered = 0       # newest collision that a command knows of

    # -- what a back end answers -------------------------------------------------------------

    def _begin(self) -> Mode:
        """Mode after a granted `enable`."""
        return Mode.ENABLED

    def _hindrance(self) -> Fault | None:
        """What still prevents that the safe state is left."""
        return None

    def _lost_zeros(self) -> list[Fault]:
        """Encoders that have to be zeroed again."""
        return []

    def _forget_lost_zeros(self) -> None:
        """The arm is at its home pose."""

    @property
    def lost_zero(self) -> str:
        """Why the positions are wrong, whatever other fault is shown; empty: they are right."""
        return ''

    # -- requests ----------------------------------------------------------------------------

    @property
    def faults(self) -> tuple[Fault, ...]:
        """All that is latched, the gravest first."""
        found = (self._stop, *self._lost_zeros(), self._fault)
        return tuple(fault for fault in found if fault is not None)

    @property
    def fault(self) -> Fault | None:
        """The gravest."""
        return next(iter(self.faults), None)

    @property
    def commanded(self) -> bool:
        """A controller has spoken since the motors were last started."""
        return self._command is not None

    def why_not_enabled(self) -> str:
        """Why the motors cannot be enabled now; empty: they can, or are."""
        if self.fault is not None:
            return self.fault.explanation
        return RELEASED if self.released else ENDING if self._ending else ''

    def enable(self) -> Answer:
        """Start the motors."""
        if self.mode == Mode.ENABLED:
            return Answer(True, 'already enabled')
        if self.mode != Mode.DISABLED or self.released:
            return Answer(False,
                          f'cannot enable in mode {self.mode.name}: {self.why_not_enabled()}')
        self.wants_enable = False
        self._command = self._fast_since = None
        self._collision_answered = self._collision_seq     # of an arm without current: it is over
        self.mode = self._begin()
        return Answer(True, self.mode.name.lower())

    def disable(self) -> Answer:
        """Motors without current; a fault stays."""
        self.wants_enable = False
        if self.mode in (Mode.STARTING, Mode.ENABLED):
            self.mode = Mode.DISABLED
        return Answer(True, self.mode.name)

    def emergency_stop(self) -> Answer:
        """Brake and stay so until this stop itself is cleared."""
        self.fail(Fault(FaultKind.EMERGENCY_STOP))
        return Answer(True, 'damping')

    def fail(self, fault: Fault) -> None:
        """Go to the safe state; an emergency stop is always kept, of the others the first."""
        self.wants_enable = False
        if fault.kind is FaultKind.EMERGENCY_STOP:
            self._stop = fault
            if self.mode != Mode.DAMPING:
                self._fault = None         # what kept the arm disconnected is asked for again
        elif self.mode != Mode.DAMPING:
            self._fault = fault
        self.mode = Mode.DAMPING

    def clear_fault(self) -> Answer:
        """Leave the safe state for DISABLED, if what caused it is gone.

        An emergency stop is cleared first and alone. Where encoders have lost their zero, the
        first call only says so; the next is the user's word that the arm is at its home pose.
        """
        if self.mode != Mode.DAMPING:
            return Answer(True, 'no fault')
        if self._ending and not self.released:
            return Answer(False, ENDING)
        hindrance = self._hindrance() or self._too_fast()
        if hindrance is not None:
            return Answer(False, hindrance.explanation)
        if self._stop is not None:
            return self._clear_stop()
        lost = self._lost_zeros()
        if lost and lost != self._named:
            self._named = lost
            return Answer(False, lost[0].explanation)
        self._leave_safe_state()
        return Answer(True, 'the arm is at its home pose; enable to go on' if lost
                      else 'cleared; enable to go on')

    def _clear_stop(self) -> Answer:
        self._stop = None
        left = self.faults
        if left:
            return Answer(False, 'emergency_stop cleared; there is still '
                          f'{", ".join(fault.name for fault in left)}: {left[0].explanation}')
        self._leave_safe_state()
        return Answer(True, 'emergency_stop cleared; enable to go on')

    def _leave_safe_state(self) -> None:
        self._forget_lost_zeros()
        self._named, self._fault = [], None
        self._collision_answered = self._collision_seq
        self.mode = Mode.DISABLED

    def release(self) -> None:
        """Brake until the arm rests, then no current; until `released` cycles go on."""
        self.wants_enable = False
        if self._ending:
            return
        self._ending = True
        self._brake_until = self.time() + _ns(self.rules.brake_time)
        self._moved = self.time()
        if self.mode in (Mode.STARTING, Mode.ENABLED):
            self.mode = Mode.DAMPING
        elif self.mode != Mode.DAMPING:
            self.let_go()                  # without current already

    def let_go(self) -> None:
        """No current from now on, in any mode."""
        self.wants_enable = False
        self._ending = self.released = True
        if self.mode != Mode.DISCONNECTED and not self.faults:
            self.mode = Mode.DISABLED

    def take_up(self) -> None:
        """Somebody drives the arm again after a release."""
        self._ending = self.released = False

    # -- what controllers and observers say ----------------------------------------------------

    def give(self, command: Command[Floats], seq: int, collision_seq: int = 0) -> None:
        """Take the newest command, which answers the state `seq`."""
        if seq > self.seq:
            return                         # answers a driver that was there before
        self._collision_answered = max(self._collision_answered, min(collision_seq, self.seq))
        if seq < self._command_seq and self._command is not None:
            return                         # overtaken on the way
        self._command, self._command_seq = command, seq
        self._command_at = self.time()
        known, sampled = self._sampled[seq % KEPT]
        if known != seq:                   # long gone: as old as the oldest known
            sampled = self._sampled[(self.seq + 1) % KEPT][1]
        self._command_age = self._command_at - sampled

    def report_collision(self, seq: int) -> None:
        """A collision was detected in the state `seq`; a controller has to answer it."""
        seq = min(seq, self.seq)           # of a driver that was there before: now
        if seq > self._collision_seq:
            self._collision_seq = seq
            self._collision_at = self.time()

    # -- the cycle -------------------------------------------------------------------------------

    def time(self) -> int:
        """Now [ns]."""
        return self._now if self._clock is None else self._clock()

    def decide(self) -> Command[Floats] | None:
        """What the motors shall do: follow this command, brake by it, or (None) nothing."""
        if self.released or self.mode in (Mode.DISCONNECTED, Mode.DISABLED):
            return None
        reading = self.reading
        if reading is None:
            return self.guard.damping([0.0] * len(self.guard.limits.names))
        if self.mode == Mode.DAMPING or self._command is None:
            return self.guard.damping(reading.position)
        return self.guard.limited(self._command, reading.position, reading.velocity)

    def _next_cycle(self) -> None:
        self.seq += 1
        self._now = self._clock() if self._clock else _ns(self.seq * self.rules.period)
        self._note_sample(self._now)

    def _note_sample(self, time_ns: int) -> None:
        """The state of this cycle was sampled at `time_ns`."""
        self.time_ns = time_ns
        self._sampled[self.seq % KEPT] = (self.seq, time_ns)

    def _check_command(self) -> None:
        """Before the command is followed: may it be?"""
        if self.mode == Mode.ENABLED and (fault := self._command_fault()) is not None:
            self.fail(fault)

    def _check_state(self, reading: Reading) -> None:
        """After a state has come: is the arm where and as fast as it may be?"""
        if not self._place or any(abs(q - p) > REST_WAY for q, p in zip(
                reading.position, self._place, strict=True)):
            self._place, self._moved = reading.position, self._now
        if self.mode != Mode.ENABLED:
            self._fast_since = None
            return
        fault = self.guard.watch(reading.position, reading.velocity, reading.joint_position)
        if fault is None or fault.kind is not FaultKind.OVERSPEED:
            self._fast_since = None
        elif self._fast_since is None:
            self._fast_since = self._now
        if fault is not None and (self._fast_since is None or self._now - self._fast_since
                                  >= _ns(self.rules.overspeed)):
            self.fail(fault)

    def _check_rest(self) -> None:
        """While ending: once the arm rests, or does not in time, the motors are let go."""
        if self._ending and not self.released and (
                self._now >= self._brake_until or self._now - self._moved >= REST_TIME):
            self.let_go()

    def _command_fault(self) -> Fault | None:
        rules = self.rules
        if self._collision_seq > self._collision_answered:
            waited = self._now - self._collision_at
            if waited > self._limit(rules.collision_answer):
                return Fault(FaultKind.COLLISION_UNANSWERED, f'for {_ms(waited)}')
        if self._command is None or self.reading is None:
            return None                    # enabled, but no controller has spoken yet
        silence = self._now - self._command_at
        if silence > self._limit(rules.command_timeout):
            return Fault(FaultKind.COMMAND_TIMEOUT, f'for {_ms(silence)}')
        if self._command_age > self._limit(rules.command_age):
            return Fault(FaultKind.COMMAND_STALE, f'{_ms(self._command_age)} old')
        return self.guard.check(self._command, self.reading.position)

    def _limit(self, seconds: float) -> int:
        """[ns], never shorter than some states take to come."""
        return max(_ns(seconds), self._patience)

    def _too_fast(self) -> Fault | None:
        if self.reading is None:
            return None
        fault = self.guard.watch(self.reading.position, self.reading.velocity,
                                 self.reading.joint_position)
        return fault if fault is not None and fault.kind is FaultKind.OVERSPEED else None


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)


def _ms(nanoseconds: int) -> str:
    return f'{nanoseconds * 1e-6:.0f} ms'
