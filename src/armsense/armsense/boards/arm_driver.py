"""All boards of one arm as one device: start-up, exchange, what a board's answers mean. No ROS.

One call of `cycle` is one control period: what the arbiter decides goes out to every board, one
state comes back. Encoders that have lost their zero are a fault in every mode, and whoever clears
it is told before: see `Arbiter.clear_fault`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from armsense.boards.arbiter import Arbiter, Clock
from armsense.boards.board_monitor import BoardMonitor, MonitorSettings
from armsense.boards.command_guard import GuardLimits
from armsense.boards.driver_settings import DriverSettings
from armsense.boards.faults import Fault, FaultKind
from armsense.boards.joint_map import JointMap, Reading
from armsense.boards.mode import Mode
from armsense.boards.protocol import BoardCommand, BoardState
from armsense.boards.start_up import StartUp
from armsense.boards.transport.link import Exchange, LinkCounters
from armsense.errors import ArmsenseError
from armsense.model import ArmConfig


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
                 monitor: MonitorSettings | None = None,
                 zero: Sequence[float] | None = None, clock: Clock | None = None) -> None:
        """Make a driver; nothing is sent before the first `cycle`.

        Args:
            config: The arm.
            limits: Of the joints.
            links: One per board, in the order of the board numbers in the arm file.
            settings: Times.
            monitor: When a silent or doubtful board is a fault.
            zero: Motor angles where the encoders read zero; see `JointMap`.
            clock: Monotonic time [ns]; None: virtual time, one period per cycle.
        """
        self.settings = settings or DriverSettings()
        super().__init__(limits, self.settings, clock)
        self.map = JointMap(config, zero)
        if len(links) != self.map.boards:
            raise ArmsenseError(f'{config.arm} has {self.map.boards} boards, {len(links)} given')
        self.links = list(links)
        self._monitors = [BoardMonitor(k, config, self.settings.period, monitor)
                          for k in range(self.map.boards)]
        # An output without a joint stays off: its board would try to align a motor that is not
        # there and report an encoder error.
        self._outputs = [(self.map.drives(k, 0), self.map.drives(k, 1))
                         for k in range(self.map.boards)]
        self._start = StartUp(self.map, self.guard, self.settings)
        self._wrong: Fault | None = None   # of positions, until the motors are ready again

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
        """One exchange with every board.

        Returns:
            The arm's state, or None when a board gave no usable one in this period.
        """
        self._next_cycle()
        self._check_rest()
        self._check_command()
        exchanges, answered = [], 0
        for link, command in zip(self.links, self._board_commands(), strict=True):
            exchanges.append(link.exchange(command))
            answered += self.time()
        self._note_sample(answered // len(self.links))
        states = self._judge(exchanges)
        if states is None:
            return None
        self.reading = reading = self.map.reading(states)
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
                index_compensation=self._start.compensation(monitor.number)))
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

    def _tell_present_trouble(self, told: Fault) -> None:
        """What a remedy is needed for now; a trouble that goes on is told once."""
        trouble = self._first_trouble()
        if trouble is not None and trouble.kind is not told.kind:
            self._fault = trouble

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
                self.mode, self.wants_enable = Mode.DISCONNECTED, False
                self._fault = fault
        if self.mode == Mode.DISCONNECTED and self._fault is not None:
            self._tell_present_trouble(self._fault)
        if lost := self._lost_zeros():     # in whatever mode
            self._wrong = lost[0]
            self._latch_lost_zeros()
        if not complete:
            return None
        return [monitor.state for monitor in self._monitors if monitor.state is not None]

    def _latch_lost_zeros(self) -> None:
        """Any other fault but a stop is over, or comes again."""
        self.wants_enable = False
        self._fault = None
        self.mode = Mode.DAMPING

    def _advance(self, states: Sequence[BoardState], reading: Reading) -> None:
        if self.mode == Mode.DISCONNECTED:
            if self._first_trouble() is None:
                self.mode = Mode.DISABLED
                self._fault = None
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
