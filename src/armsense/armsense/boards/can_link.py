"""One `udriver_can` board as the driver sees any board; the host closes its loops.

The board takes currents only, so `iq = kp (p_ref - p) + kd (v_ref - v) + ki int + ff` is computed
here once a period from the measurements of the period before. Without them there is no current:
damping by an old velocity would be a constant push. The board's status comes once a second: its
errors are therefore known within a second, while a silent bus is known within a few periods.
"""

from socket import socket
from time import monotonic, perf_counter
from typing import Any

import can

from armsense.boards.protocol import udriver_can as wire
from armsense.boards.protocol.messages import (
    BoardCommand,
    BoardError,
    BoardState,
    BoardStatus,
    FrameError,
    MotorCommand,
    MotorState,
)
from armsense.boards.protocol.udriver_can import CommandCode
from armsense.boards.transport.can_bus import ERROR_BUS_OFF
from armsense.boards.transport.link import Exchange, LinkCounters, Outcome

_NEEDED = frozenset((wire.ID_CURRENT, wire.ID_POSITION, wire.ID_VELOCITY))


class CanLink:
    """Exchanges commands and states with one CAN board."""

    recovers_by_enable = True

    def __init__(self, bus: can.BusABC, period: float = 0.001, timeout: float = 0.005,
                 lock: socket | None = None) -> None:
        """Make a link over any python-can bus on which the board is alone.

        Exchanges come every `period` [s] and wait up to `timeout` [s] for a set of measurements;
        `lock` is closed with the link, see `lock_name`.
        """
        self.counters = LinkCounters()
        self._bus = bus
        self._lock = lock
        self._period = period
        self._timeout = timeout
        self._status = BoardStatus(0)
        self._pairs: dict[int, tuple[float, float]] = {}
        self._integral = [0.0, 0.0]           # [rad s]
        self._switches: tuple[bool, bool, bool, int] | None = None
        self._index: list[float | None] = [None, None]     # [rad] where the pulse was seen
        self._zero = [0.0, 0.0]               # [rad] subtracted from positions
        self._bus_off = False                 # the CAN controller has said so
        self._measured = False                # the last exchange brought all measurements
        self._count = 0

    def close(self) -> None:
        self._bus.shutdown()
        if self._lock is not None:
            self._lock.close()

    def exchange(self, command: BoardCommand) -> Exchange:
        """Send the currents of `command`, return what the board measured since."""
        start = perf_counter()
        for k in (0, 1):
            seen = self._index[k]
            self._zero[k] = seen if command.index_compensation[k] and seen is not None else 0.0
        sent = self._say(command)
        outcome = self._collect(self._timeout if sent else 0.0)   # why it was not sent may wait
        self._measured = outcome is Outcome.OK and not self._bus_off
        self.counters.observe(outcome, perf_counter() - start)
        if outcome is not Outcome.OK:
            return Exchange(None, outcome, False)
        if not sent:
            self.counters.rejected_commands += 1
        return Exchange(self._state(), outcome, sent)

    def _say(self, command: BoardCommand) -> bool:
        """Send what the board shall do; False: the bus does not take it."""
        try:
            self._switch(command)
            self._send(wire.ID_CURRENT_REFERENCE, wire.encode_pair(
                wire.ID_CURRENT_REFERENCE, *self._currents(command)))
        except can.CanError:
            self._switches = None             # everything is said again when the bus is back
            return False
        return True

    def _switch(self, command: BoardCommand) -> None:
        """Tell the board what has changed: enables, watchdog, streams."""
        motors = command.motor_enable if command.enable else (False, False)
        wanted = (command.enable, *motors, command.timeout_ms)
        if not self._measured:                # a board that was reset streams nothing
            self._set(CommandCode.SEND_ALL, 1)
        if wanted == self._switches:
            return
        self._set(CommandCode.RECEIVE_TIMEOUT_MS, command.timeout_ms)
        self._set(CommandCode.SYSTEM_ENABLE, command.enable)
        if command.enable:                    # a board after an error wants to hear a zero first
            self._status = BoardStatus(self._status & ~0xF)   # cleared by this, or told again
            self._integral = [0.0, 0.0]
            self._send(wire.ID_CURRENT_REFERENCE, wire.encode_pair(
                wire.ID_CURRENT_REFERENCE, 0.0, 0.0))
        self._set(CommandCode.MOTOR_1_ENABLE, motors[0])
        self._set(CommandCode.MOTOR_2_ENABLE, motors[1])
        self._switches = wanted

    def _currents(self, command: BoardCommand) -> tuple[float, float]:
        if not command.enable or not self._measured:
            self._integral = [0.0, 0.0]
            return 0.0, 0.0
        one, two = command.motors
        return self._law(0, one), self._law(1, two)

    def _law(self, number: int, motor: MotorCommand) -> float:
        error = motor.position - self._position(number)
        slip = motor.velocity - self._pairs[wire.ID_VELOCITY][number]
        integral = self._integral[number] + error * self._period if motor.ki else 0.0
        current = motor.kp * error + motor.kd * slip + motor.current + motor.ki * integral
        limit = motor.current_limit
        if abs(current) <= limit:             # the integrator rests while the limit holds
            self._integral[number] = integral
        return min(max(current, -limit), limit)

    def _position(self, number: int) -> float:
        return self._pairs[wire.ID_POSITION][number] - self._zero[number]

    def _collect(self, timeout: float) -> Outcome:
        """Read until one whole set of measurements is there and nothing newer waits.

        When the bus goes off, the set before is taken once more, to carry that error.
        """
        missing = set(_NEEDED)
        deadline = monotonic() + timeout
        while True:
            message = self._receive(deadline if missing else 0.0)
            if message is None:
                return Outcome.DROP if missing else Outcome.OK
            if message.is_error_frame:
                # The frame itself tells: `state` of python-can's SocketCAN bus never changes.
                if message.arbitration_id & ERROR_BUS_OFF:
                    self._bus_off = True
                    missing -= self._pairs.keys()
                continue
            self._bus_off = False             # whoever hears a board is on the bus
            try:
                self._take(message)
            except FrameError:
                return Outcome.MALFORMED
            missing.discard(message.arbitration_id)

    def _receive(self, deadline: float) -> Any:
        try:
            return self._bus.recv(max(0.0, deadline - monotonic()))
        except can.CanError:
            return None

    def _take(self, message: can.Message) -> None:
        payload, number = bytes(message.data), message.arbitration_id
        if number in wire.STREAM_IDS:
            self._pairs[number] = wire.decode_pair(number, payload)
        elif number == wire.ID_STATUS:
            self._status = wire.decode_status(payload)
        elif number == wire.ID_INDEX:
            event = wire.decode_index(payload)
            self._index[event.motor & 1] = event.position

    def _state(self) -> BoardState:
        self._count = (self._count + 1) & 0xFFFF
        pairs = self._pairs
        adc = pairs.get(wire.ID_ADC, (0.0, 0.0))
        motors = tuple(MotorState(
            position=self._position(k), velocity=pairs[wire.ID_VELOCITY][k],
            current=pairs[wire.ID_CURRENT][k], adc=round(adc[k] * 65536.0) & 0xFFFF)
            for k in (0, 1))
        detected = (self._index[0] is not None) << 10 | (self._index[1] is not None) << 9
        status = self._status & ~0xF | BoardError.LINK_FAILURE if self._bus_off else self._status
        return BoardState(BoardStatus(status | detected), self._count,
                          (motors[0], motors[1]), self._count)

    def _set(self, code: CommandCode, value: int) -> None:
        self._send(wire.ID_COMMAND, wire.encode_command(code, int(value)))

    def _send(self, arbitration_id: int, payload: bytes) -> None:
        self._bus.send(can.Message(arbitration_id=arbitration_id, data=payload,
                                   is_extended_id=False), timeout=0.0)
