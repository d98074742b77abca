"""All boards of one arm as one device: start-up, exchange, what a board's answers mean. No ROS.

One call of `cycle` is one control period: what the arbiter decides goes out to every board, one
state comes back. Encoders that have lost their zero are a fault in every mode, and whoever clears
it is told before: see `Arbiter.clear_fault`.

Start-up: the boards align their motors, then the encoder index is searched. For that every joint
turns slowly by 1.1 motor turns forwards and then as far to the other side of where it began: a
pulse that is there lies within. It turns round where a limit is near, and stands still as soon as
its pulse was met.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from armsense.boards.arbiter import Arbiter, ArbiterSettings, Clock
from armsense.boards.board_monitor import BoardMonitor
from armsense.boards.command_guard import CommandGuard, GuardLimits
from armsense.boards.joint_map import JointMap, Reading
from armsense.boards.mode import Fault, FaultKind, Mode
from armsense.boards.protocol.messages import BoardCommand, BoardState, MotorCommand
from armsense.boards.transport.link import Exchange, LinkCounters
from armsense.errors import ArmsenseError
from armsense.model import ArmConfig
from armsense.schema import quantity
from armsense.types import Command, Floats

BRIEF = 500_000_000  # [ns] boards lost for longer end a wish to enable, a stalling host does not
SEARCH_SPEED = 0.3   # [rad/s] of the index search, joint side
TURNS = 1.1          # motor turns to either side in which an index is searched
CLEARANCE = 0.02     # [rad] from a joint limit at which a search turns round


@dataclass(frozen=True, kw_only=True)
class DriverSettings(ArbiterSettings):
    """Times in seconds unless the name says otherwise."""

    board_timeout_ms: int = 50         # watchdog of the boards
    start_timeout: float = quantity(
        8.0, unit='s', low=0.5, high=60.0, text='for alignment and index search')
    index_search: bool = False


class BoardLink(Protocol):
    """What the driver needs of a board, whatever bus it hangs on."""

    counters: LinkCounters
    recovers_by_enable: bool     # after a trip of the board's watchdog; else by a power-cycle

    def exchange(self, command: BoardCommand) -> Exchange: ...

    def close(self) -> None: ...


class ArmDriver(Arbiter):
    """Drives the boards of one arm."""

    def __init__(self, config: ArmConfig, limits: GuardLimits, links: Sequence[BoardLink],
                 settings: DriverSettings | None = None,
                 zero: Sequence[float] | None = None, clock: Clock | None = None) -> None:
        """Make a driver; nothing is sent before the first `cycle`.

        There is one link per board, in the order of the board numbers in the arm file; `zero` are
        motor angles where the encoders read zero, see `JointMap`; for `clock` see `Arbiter`.
        """
        self.settings = settings or DriverSettings()
        super().__init__(limits, self.settings, clock)
        self.map = JointMap(config, zero)
        if len(links) != self.map.boards:
            raise ArmsenseError(f'{config.arm} has {self.map.boards} boards, {len(links)} given')
        self.links = list(links)
        self._monitors = [BoardMonitor(k, config, self.settings.period)
                          for k in range(self.map.boards)]
        # An output without a joint stays off: its board would try to align a motor that is not
        # there and report an encoder error.
        self._outputs = [((k, 0) in self.map.slots, (k, 1) in self.map.slots)
                         for k in range(self.map.boards)]
        # In the cycle before, [board][motor].
        self._sent: list[tuple[MotorCommand, MotorCommand]] = []
        self._start = StartUp(self.map, self.guard, self.settings)
        self._wrong: Fault | None = None   # of positions, until the motors are ready again
        self._lost_at = 2**63              # [ns] when a board was lost; not yet

    # -- what the arbiter asks ---------------------------------------------------------------

    def why_not_enabled(self) -> str:
        reason = super().why_not_enabled()
        if reason or self.mode != Mode.DISCONNECTED:
            return reason
        troubles = [monitor.trouble() for monitor in self._monitors]
        return next((trouble.explanation for trouble in troubles if trouble is not None), '')

    def _begin(self) -> Mode:
        """Alignment and index search where the boards need them."""
        self._start.begin(self.time())
        return Mode.STARTING

    def _hindrance(self) -> Fault | None:
        for monitor in self._monitors:
            monitor.forget()               # what the user has dealt with; the rest is still there
            trouble = self._lasting_trouble(monitor)
            if trouble is not None and trouble is not monitor.lost_zero:
                return trouble
        return None

    def _lost_zeros(self) -> list[Fault]:
        return [m.lost_zero for m in self._monitors if m.lost_zero is not None]

    def _forget_lost_zeros(self) -> None:
        for monitor in self._monitors:
            monitor.lost_zero = None

    @property
    def lost_zero(self) -> str:
        return '' if self._wrong is None else self._wrong.explanation

    # -- the cycle ---------------------------------------------------------------------------

    def cycle(self) -> Reading | None:
        """One exchange with every board; None when one gave no usable state in this period."""
        self._next_cycle()
        self._check_rest()
        self._check_command()
        exchanges, answered, commands = [], 0, self._board_commands()
        followed, self._sent = self._sent, [command.motors for command in commands]
        for link, command in zip(self.links, commands, strict=True):
            exchanges.append(link.exchange(command))
            answered += self.time()
        self._note_sample(answered // len(self.links))
        states = self._judge(exchanges)
        if states is None:
            return None
        self.reading = reading = self.map.reading(states, followed)
        self._advance(states, reading)
        return reading

    def _board_commands(self) -> list[BoardCommand]:
        position = self.reading.position if self.reading else [0.0] * self.map.n
        off = self.guard.no_torque(position)
        joint = self.decide() or off
        if self.mode == Mode.STARTING:
            joint = self._start.command(position, self.reading.velocity) if self.reading else off
        commands = []
        for monitor, motors in zip(self._monitors, self.map.motor_commands(joint), strict=True):
            on = self._may_drive(monitor)
            monitor.ask(on)
            if not on:
                motors = self.map.motor_commands(off)[monitor.number]
            commands.append(BoardCommand(
                enable=on, motors=(motors[0], motors[1]),
                timeout_ms=self.settings.board_timeout_ms if on else 0,
                motor_enable=self._outputs[monitor.number] if on else (False, False),
                index_compensation=self._start.compensation))
        return commands

    def _may_drive(self, monitor: BoardMonitor) -> bool:
        """In the safe state a board that reset or failed must not be started again."""
        if self.released:
            return False
        if self.mode in (Mode.STARTING, Mode.ENABLED):
            return True
        return self.mode == Mode.DAMPING and monitor.was_driving

    def _lasting_trouble(self, monitor: BoardMonitor) -> Fault | None:
        """Trouble of a board that enabling it would not end."""
        trouble = monitor.trouble()
        if trouble is not None and trouble.kind is FaultKind.WATCHDOG \
                and self.links[monitor.number].recovers_by_enable:
            return None
        return trouble

    def _first_trouble(self) -> Fault | None:
        troubles = map(self._lasting_trouble, self._monitors)
        return next((trouble for trouble in troubles if trouble is not None), None)

    def _judge(self, exchanges: Sequence[Exchange]) -> list[BoardState] | None:
        complete = True
        driving = self.mode in (Mode.ENABLED, Mode.DAMPING) and not self.released
        for monitor, exchange in zip(self._monitors, exchanges, strict=True):
            fault = monitor.observe(exchange, self.time(), driving=driving,
                                    position_may_jump=self._start.rebasing)
            complete = complete and monitor.fresh
            if fault is None:
                continue
            if self.mode in (Mode.STARTING, Mode.ENABLED):
                self.fail(fault)
            elif self.mode == Mode.DISABLED and self._lasting_trouble(monitor) is not None:
                self.mode, self._fault, self._lost_at = Mode.DISCONNECTED, fault, self._now
        if self.mode == Mode.DISCONNECTED and self._fault is not None:
            trouble = self._first_trouble()    # one that goes on is told once
            if trouble is not None and trouble.kind is not self._fault.kind:
                self._fault = trouble
        if lost := self._lost_zeros():     # in whatever mode
            self._wrong = lost[0]
            # Any other fault but a stop is over, or comes again.
            self.wants_enable, self._fault, self.mode = False, None, Mode.DAMPING
        if not complete:
            return None
        return [monitor.state for monitor in self._monitors if monitor.state is not None]

    def _advance(self, states: Sequence[BoardState], reading: Reading) -> None:
        if self.mode == Mode.DISCONNECTED:
            if self._first_trouble() is None:
                self.mode, self._fault = Mode.DISABLED, None
                self.wants_enable &= self._now - self._lost_at <= BRIEF
        elif self.mode == Mode.STARTING:
            outcome = self._start.advance(states, reading.position, self._now)
            if isinstance(outcome, Fault):
                self.fail(outcome)
            elif outcome:
                self.map.rezero()
                self.mode, self._wrong = Mode.ENABLED, None
                self._check_state(reading)     # boards may count from a wrong zero since long ago
        else:
            self._check_state(reading)


class StartUp:
    """From enable to ready; phases: aligning (motors), searching (index), rebasing, done."""

    def __init__(self, joint_map: JointMap, guard: CommandGuard, settings: DriverSettings) -> None:
        self._map = joint_map
        self._guard = guard
        self._settings = settings
        self.begin(0)

    def begin(self, now: int) -> None:
        """Start over, at this monotonic time [ns]."""
        self._begun = now
        self._phase = 'aligning'
        self._origin: Sequence[float] = []              # [rad] where the search began, (n,)
        self._direction = [0.0] * self._map.n           # of the search; 0: the index was met
        self.compensation = (False, False)              # index-offset bits of every board

    @property
    def rebasing(self) -> bool:
        """Position readings move their zero now; references must not be compared across it."""
        return self._phase in ('aligning', 'rebasing', 'settling')

    def command(self, position: Sequence[float], velocity: Sequence[float]) -> Command[Floats]:
        """What the motors do meanwhile: nothing, or a slow turn to find the index."""
        if self._phase != 'searching':
            return self._guard.no_torque(position)
        speed = [SEARCH_SPEED * direction for direction in self._direction]
        command = self._guard.damping(position)._replace(velocity=speed)
        return self._guard.limited(command, position, velocity)

    def advance(self, states: Sequence[BoardState], position: Sequence[float],
                now: int) -> bool | Fault:
        """One period later [ns]: True when the arm is ready, a fault when it will not be."""
        if (now - self._begun) * 1e-9 > self._settings.start_timeout:
            return self._timeout(states)
        if self._phase == 'aligning' and not self._missing(states, 'motor_ready'):
            self._phase = 'searching' if self._settings.index_search else 'done'
            self._origin = position
            self._direction = [1.0] * self._map.n
        elif self._phase == 'searching':
            return self._search(states, position)
        elif self._phase == 'rebasing':
            self._phase = 'settling'                # the jump arrives one transfer later
        elif self._phase == 'settling':
            self._phase = 'done'
        return self._phase == 'done'

    def _search(self, states: Sequence[BoardState], position: Sequence[float]) -> bool | Fault:
        lower, upper = self._guard.limits.lower, self._guard.limits.upper
        for k, met in enumerate(self._flags(states, 'index_detected')):
            turned = (position[k] - self._origin[k]) / self._map.turns[k]
            if met:
                self._direction[k] = 0.0
            elif turned <= -TURNS or (self._direction[k] < 0.0
                                      and position[k] < lower[k] + CLEARANCE):
                return Fault(FaultKind.INDEX_NOT_FOUND, self._map.joint_names[k])
            elif turned >= TURNS or position[k] > upper[k] - CLEARANCE:
                self._direction[k] = -1.0
        if not any(self._direction):
            self.compensation = (True, True)
            self._phase = 'rebasing'
        return False

    def _flags(self, states: Sequence[BoardState], flag: str) -> list[bool]:
        """A flag of the boards' status by joint."""
        return [getattr(states[board].status, flag)[motor] for board, motor in self._map.slots]

    def _missing(self, states: Sequence[BoardState], flag: str) -> list[str]:
        return [name for name, there in zip(self._map.joint_names, self._flags(states, flag),
                                            strict=True) if not there]

    def _timeout(self, states: Sequence[BoardState]) -> Fault:
        if self._phase == 'aligning':
            return Fault(FaultKind.ALIGNMENT, ', '.join(self._missing(states, 'motor_ready')))
        return Fault(FaultKind.INDEX_NOT_FOUND, ', '.join(self._missing(states, 'index_detected')))
