"""All boards of one arm as one device: modes, start-up, faults, limits. No ROS, no clock.

One call of `cycle` is one control period: the newest command goes out to every board, one state
comes back. The driver is the last arbiter: what it does not trust it replaces by damping, and only
`clear_fault` followed by `enable` leads out of that. Encoders that have lost their zero are a
fault in every mode, and whoever clears it is told before: see `clear_fault`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
import time
from typing import NamedTuple, Protocol

from armsense_core.errors import ArmsenseError
from armsense_core.model import ArmConfig
from armsense_driver.board_monitor import BoardMonitor, MonitorSettings
from armsense_driver.command_guard import CommandGuard, GuardLimits
from armsense_driver.faults import Fault, FaultKind
from armsense_driver.joint_map import JointCommand, JointMap, Reading
from armsense_driver.protocol import BoardCommand, BoardState
from armsense_driver.start_up import StartUp
from armsense_driver.transport.counters import LinkCounters
from armsense_driver.transport.link import Exchange


class Mode(IntEnum):
    """The same numbers as in armsense_msgs/DriverMode."""

    DISCONNECTED = 0
    STARTING = 1
    DISABLED = 2
    ENABLED = 3
    DAMPING = 4


class BoardLink(Protocol):
    """What the driver needs of a board, whatever bus it hangs on."""

    counters: LinkCounters
    recovers_by_enable: bool     # after a trip of the board's watchdog; else by a power-cycle

    def exchange(self, command: BoardCommand) -> Exchange: ...


@dataclass(frozen=True, kw_only=True)
class DriverSettings:
    """Times in control periods unless the name says otherwise."""

    period: float = 0.001              # [s]
    board_timeout_ms: int = 50         # watchdog of the boards
    command_timeout: int = 20          # without a new command
    command_age: int = 20              # between a state and the command that answers it
    collision_answer: int = 10         # from a collision to a command that knows of it
    overspeed: int = 20                # too fast for so long; a knock alone is no fault
    start_timeout: float = 8.0         # [s] alignment and index search
    index_search: bool = False
    start_speed: float = 0.3           # [rad/s] of the index search, joint side


class Answer(NamedTuple):
    """Result of a request."""

    success: bool
    message: str


class ArmDriver:
    """Drives the boards of one arm."""

    def __init__(self, config: ArmConfig, limits: GuardLimits, links: Sequence[BoardLink],
                 settings: DriverSettings | None = None,
                 monitor: MonitorSettings | None = None,
                 zero: Sequence[float] | None = None) -> None:
        """Make a driver; nothing is sent before the first `cycle`.

        Args:
            config: The arm.
            limits: Of the joints.
            links: One per board, in the order of the board numbers in the arm file.
            settings: Times.
            monitor: When a silent or doubtful board is a fault.
            zero: Motor angles where the encoders read zero; see `JointMap`.
        """
        self.map = JointMap(config, zero)
        if len(links) != self.map.boards:
            raise ArmsenseError(f'{config.arm} has {self.map.boards} boards, {len(links)} given')
        self.settings = settings or DriverSettings()
        self.guard = CommandGuard(limits)
        self.links = list(links)
        self.mode = Mode.DISCONNECTED
        self.fault: Fault | None = None
        self.reading: Reading | None = None
        self.released = False              # the motors carry no current, whatever the mode
        self.seq = 0
        self.exchanged_ns = 0              # [ns] wall clock at which the boards answered, mean
        self._monitors = [BoardMonitor(k, config, self.settings.period, monitor)
                          for k in range(self.map.boards)]
        # An output without a joint stays off: its board would try to align a motor that is not
        # there and report an encoder error.
        self._outputs = [(self.map.drives(k, 0), self.map.drives(k, 1))
                         for k in range(self.map.boards)]
        self._start = StartUp(self.map, self.guard, self.settings)
        self._told: list[Fault] = []       # lost zeros that the user has been told of
        self._command: JointCommand | None = None
        self._fast = 0                     # periods at overspeed
        self._command_seq = 0
        self._command_received = 0         # seq when it came
        self._collision_seq = 0            # newest collision reported
        self._collision_received = 0
        self._collision_answered = 0       # newest collision that a command knows of

    # -- requests ----------------------------------------------------------------------------

    def enable(self) -> Answer:
        """Start the motors: alignment and index search where the boards need them."""
        if self.mode == Mode.ENABLED:
            return Answer(True, 'already enabled')
        if self.mode != Mode.DISABLED:
            self._told = self._lost_zeros()
            return Answer(False, f'cannot enable in mode {self.mode.name}: {self.obstacle()}')
        self._command = None
        self._start.begin()
        self.mode = Mode.STARTING
        return Answer(True, 'starting')

    @property
    def commanded(self) -> bool:
        """A controller has spoken since the motors were last started."""
        return self._command is not None

    def obstacle(self) -> str:
        """Why the motors cannot be enabled now; empty: they can, or are."""
        if self.fault is not None:
            return self.fault.explanation
        if self.mode != Mode.DISCONNECTED:
            return ''
        troubles = [monitor.trouble() for monitor in self._monitors]
        return next((trouble.explanation for trouble in troubles if trouble is not None), '')

    def disable(self) -> Answer:
        """Motors without current; a fault stays."""
        if self.mode in (Mode.STARTING, Mode.ENABLED):
            self.mode = Mode.DISABLED
        return Answer(True, self.mode.name)

    def release(self) -> None:
        """Nobody will speak to the boards any more: no current and no watchdog, in any mode.

        A fault stays. `released` is set back by whoever goes on with the cycle.
        """
        self.disable()
        self.released = True

    def clear_fault(self) -> Answer:
        """Leave the safe state for DISABLED, if what caused it is gone.

        Where a board has lost its zero, the first call only says so; the next one is the word of
        the user that the arm is at its home pose.
        """
        if self.mode != Mode.DAMPING:
            return Answer(True, 'no fault')
        lost = self._lost_zeros()
        for monitor in self._monitors:
            monitor.forget()               # what the user has dealt with; the rest is still there
            trouble = self._hindrance(monitor)
            if trouble is not None and trouble is not monitor.lost_zero:
                return Answer(False, trouble.explanation)
        if self.reading is not None:
            trouble = self.guard.watch(self.reading.position, self.reading.velocity)
            if trouble is not None and trouble.kind is FaultKind.OVERSPEED:
                return Answer(False, trouble.explanation)
        if lost != self._told:
            self._told = lost
            return Answer(False, lost[0].explanation)
        for monitor in self._monitors:
            monitor.lost_zero = None
        self._told = []
        self.fault = None
        self._collision_answered = self._collision_seq
        self.mode = Mode.DISABLED
        return Answer(True, 'the arm is at its home pose; enable to go on' if lost
                      else 'cleared; enable to go on')

    def emergency_stop(self) -> Answer:
        self.fail(Fault(FaultKind.EMERGENCY_STOP))
        return Answer(True, 'damping')

    def fail(self, fault: Fault) -> None:
        """Go to the safe state; the first fault stays."""
        if self.mode != Mode.DAMPING:
            self.fault = fault
            self.mode = Mode.DAMPING

    def give(self, command: JointCommand, seq: int, collision_seq: int = 0) -> None:
        """Take the newest command, which answers the state `seq`."""
        self._collision_answered = max(self._collision_answered, collision_seq)
        if seq < self._command_seq and self._command is not None:
            return                                  # overtaken on the way
        self._command = command
        self._command_seq = seq
        self._command_received = self.seq

    def report_collision(self, seq: int) -> None:
        """A collision was detected in the state `seq`; a controller has to answer it."""
        if seq > self._collision_seq:
            self._collision_seq = seq
            self._collision_received = self.seq

    # -- the cycle ---------------------------------------------------------------------------

    def cycle(self) -> Reading | None:
        """One exchange with every board.

        Returns:
            The arm's state, or None when a board gave no usable one in this period.
        """
        self.seq += 1
        if self.mode == Mode.ENABLED:
            fault = self._command_fault()
            if fault is not None:
                self.fail(fault)
        commands = self._board_commands()
        exchanges, answered = [], 0
        for link, command in zip(self.links, commands, strict=True):
            exchanges.append(link.exchange(command))
            answered += time.time_ns()
        self.exchanged_ns = answered // len(self.links)
        states = self._judge(exchanges)
        if states is None:
            return None
        self.reading = reading = self.map.reading(states)
        self._advance(states, reading)
        return reading

    def _command_fault(self) -> Fault | None:
        settings = self.settings
        if self._collision_seq > self._collision_answered:
            waited = self.seq - self._collision_received
            if waited > settings.collision_answer:
                return Fault(FaultKind.COLLISION_UNANSWERED, f'for {waited} periods')
        if self._command is None or self.reading is None:
            return None                             # enabled, but no controller has spoken yet
        silence = self.seq - self._command_received
        if silence > settings.command_timeout:
            return Fault(FaultKind.COMMAND_TIMEOUT, f'for {silence} periods')
        age = self._command_received - self._command_seq
        if age > settings.command_age:
            return Fault(FaultKind.COMMAND_STALE, f'{age} periods old')
        return self.guard.check(self._command, self.reading.position)

    def _board_commands(self) -> list[BoardCommand]:
        position = self.reading.position if self.reading else [0.0] * self.map.n
        joint = self.guard.limp(position)
        if self.mode == Mode.DAMPING:
            joint = self.guard.damping(position)
        elif self.mode == Mode.STARTING and self.reading is not None:
            joint = self._start.command(position, self.reading.velocity)
        elif self.mode == Mode.ENABLED:
            if self._command is None or self.reading is None:
                joint = self.guard.damping(position)
            else:
                joint = self.guard.limited(self._command, position, self.reading.velocity)
        commands = []
        for monitor, motors in zip(self._monitors, self.map.motor_commands(joint), strict=True):
            on = self._may_drive(monitor)
            if not on:
                motors = self.map.motor_commands(self.guard.limp(position))[monitor.number]
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

    def _hindrance(self, monitor: BoardMonitor) -> Fault | None:
        """Trouble of a board that enabling it would not end."""
        trouble = monitor.trouble()
        if trouble is not None and trouble.kind is FaultKind.WATCHDOG \
                and self.links[monitor.number].recovers_by_enable:
            return None
        return trouble

    def _judge(self, exchanges: Sequence[Exchange]) -> list[BoardState] | None:
        complete = True
        driving = self.mode in (Mode.ENABLED, Mode.DAMPING) and not self.released
        for monitor, exchange in zip(self._monitors, exchanges, strict=True):
            fault = monitor.observe(exchange, driving=driving,
                                    position_may_jump=self._start.rebasing)
            complete = complete and monitor.fresh
            if fault is None:
                continue
            if self.mode in (Mode.STARTING, Mode.ENABLED):
                self.fail(fault)
            elif self.mode == Mode.DISABLED and self._hindrance(monitor) is not None:
                self.mode = Mode.DISCONNECTED
                self.fault = fault
        self._show_lost_zero()
        if not complete:
            return None
        return [monitor.state for monitor in self._monitors if monitor.state is not None]

    def _lost_zeros(self) -> list[Fault]:
        return [m.lost_zero for m in self._monitors if m.lost_zero is not None]

    def _show_lost_zero(self) -> None:
        """Latch it in whatever mode, before any other fault: that one is over or comes again."""
        lost = self._lost_zeros()
        if lost and not (self.mode == Mode.DAMPING and self.fault in lost):
            self.mode = Mode.DAMPING
            self.fault = lost[0]

    def _advance(self, states: Sequence[BoardState], reading: Reading) -> None:
        if self.mode == Mode.DISCONNECTED:
            if all(self._hindrance(monitor) is None for monitor in self._monitors):
                self.mode = Mode.DISABLED
                self.fault = None
        elif self.mode == Mode.STARTING:
            outcome = self._start.advance(states, reading.position)
            if isinstance(outcome, Fault):
                self.fail(outcome)
            elif outcome:
                self.map.rezero()
                self.mode = Mode.ENABLED
        elif self.mode == Mode.ENABLED:
            fault = self.guard.watch(reading.position, reading.velocity)
            fast = fault is not None and fault.kind is FaultKind.OVERSPEED
            self._fast = self._fast + 1 if fast else 0
            if fault is not None and (not fast or self._fast > self.settings.overspeed):
                self.fail(fault)
