"""An emulated CAN board (`udriver_can`): takes currents, streams measurements.

After an error the board listens again in this order: system enable (clears the error), a current
reference of zero, motor enables.
"""

from typing import Any, NamedTuple

from armsense.boards.emulator.core import BoardCore, BoardProfile
from armsense.boards.emulator.faults import through_wire
from armsense.boards.protocol import udriver_can as wire_format
from armsense.boards.protocol.messages import BoardError, FrameError, MotorCommand
from armsense.boards.protocol.udriver_can import CommandCode
from armsense.boards.transport.can_bus import ERROR_BUS_OFF, ERROR_RESTARTED

_STREAMS = {
    CommandCode.SEND_CURRENT: wire_format.ID_CURRENT,
    CommandCode.SEND_POSITION: wire_format.ID_POSITION,
    CommandCode.SEND_VELOCITY: wire_format.ID_VELOCITY,
    CommandCode.SEND_ADC: wire_format.ID_ADC,
    CommandCode.SEND_INDEX: wire_format.ID_INDEX,
}


class CanFrame(NamedTuple):
    """A message on the bus."""

    arbitration_id: int
    data: bytes
    is_error: bool = False


class EmulatedCanBoard(BoardCore):
    """One dual-motor board on its own CAN bus."""

    bus = 'can'

    def __init__(self, profile: BoardProfile | str = 'udriver_can', *arguments: Any,
                 **options: Any) -> None:
        self.outbox: list[CanFrame] = []      # messages to the host, oldest first
        self.bus_off = False
        super().__init__(profile, *arguments, **options)

    def power_cycle(self) -> None:
        super().power_cycle()
        self._streams: set[int] = set()
        self._must_see_zero = False
        self._index_toggle = [False, False]
        self._next_stream_us = self._uptime_us
        self._next_status_us = self._uptime_us

    def receive(self, frame: CanFrame) -> None:
        if self.bus_off or self._is_lost():
            return
        try:
            if frame.arbitration_id == wire_format.ID_CURRENT_REFERENCE:
                self._take_currents(*wire_format.decode_pair(
                    frame.arbitration_id, frame.data))
            elif frame.arbitration_id == wire_format.ID_COMMAND:
                self._take_command(*wire_format.decode_command(frame.data))
        except FrameError:
            return      # a message of the wrong length is ignored

    def step(self, dt: float, shaft_position: Any, shaft_velocity: Any) -> tuple[float, float]:
        torque = super().step(dt, shaft_position, shaft_velocity)
        self._tell_index()
        if self._uptime_us >= self._next_stream_us - 0.5:
            self._next_stream_us += self.profile.stream_period * 1e6
            self._stream()
        if self._uptime_us >= self._next_status_us - 0.5:
            self._next_status_us += self.profile.status_period * 1e6
            self._tell_status()
        return torque

    def set_bus_off(self, off: bool) -> None:
        """Take the controller off the bus or back; the host's controller notices either."""
        self.bus_off = off
        self.outbox.append(CanFrame(ERROR_BUS_OFF if off else ERROR_RESTARTED, bytes(8), True))

    def drain(self) -> list[CanFrame]:
        """Messages queued since the last call."""
        messages, self.outbox = self.outbox, []
        return messages

    def _take_currents(self, current_1: float, current_2: float) -> None:
        self._silence_us = 0.0
        if self._must_see_zero and current_1 == 0.0 and current_2 == 0.0:
            self._must_see_zero = False
        one, two = self.motors
        self._command = (
            MotorCommand(current=current_1, current_limit=one.physics.max_current),
            MotorCommand(current=current_2, current_limit=two.physics.max_current))
        for number, command in enumerate(self._command):
            if self._motor_on[number] or self.error:
                self.unsafe.inspect(
                    number, command, self._error_reported, self._encoders[number])

    def _take_command(self, code: int, value: int) -> None:
        on = bool(value)
        if code == CommandCode.SYSTEM_ENABLE:
            self._enable_system(on)
        elif code in (CommandCode.MOTOR_1_ENABLE, CommandCode.MOTOR_2_ENABLE):
            self._enable_motor(code - CommandCode.MOTOR_1_ENABLE, on)
        elif code == CommandCode.SEND_ALL:
            self._streams = set(_STREAMS.values()) if on else set()
        elif code in _STREAMS:
            stream = _STREAMS[CommandCode(code)]
            self._streams = self._streams | {stream} if on else self._streams - {stream}
        elif code == CommandCode.RECEIVE_TIMEOUT_MS:
            self.timeout_ms = max(value, 0)
        elif code == CommandCode.ROLLOVER_ERROR:
            self.rollover_error = on

    def _enable_system(self, on: bool) -> None:
        if on and self.error and self.profile.recovers_by_enable:
            self.error = BoardError.NONE
            self._error_reported = False
            self._must_see_zero = True
        self._set_enables(on, on and self._motor_on[0], on and self._motor_on[1])

    def _enable_motor(self, number: int, on: bool) -> None:
        if self._must_see_zero:
            return
        wanted = list(self._motor_on)
        wanted[number] = on
        self._set_enables(self.system_enabled, wanted[0], wanted[1])

    def _stream(self) -> None:
        one, two = self.motors
        measured = {wire_format.ID_CURRENT: (one.measured_current, two.measured_current),
                    wire_format.ID_POSITION: (one.encoder.position, two.encoder.position),
                    wire_format.ID_VELOCITY: (one.velocity, two.velocity),
                    wire_format.ID_ADC: (self.adc[0] / 65536.0, self.adc[1] / 65536.0)}
        messages = [CanFrame(number, wire_format.encode_pair(number, *pair))
                    for number, pair in measured.items() if number in self._streams]
        if messages:
            self._send(messages)

    def _tell_status(self) -> None:
        if self._send([CanFrame(
                wire_format.ID_STATUS, wire_format.encode_status(self.status()))]):
            self._error_reported |= bool(self.error)

    def _tell_index(self) -> None:
        for number, motor in enumerate(self.motors):
            if motor.encoder.index_toggle == self._index_toggle[number]:
                continue
            self._index_toggle[number] = motor.encoder.index_toggle
            if wire_format.ID_INDEX in self._streams:
                event = wire_format.IndexEvent(motor.encoder.last_index_position, number)
                self._send([CanFrame(wire_format.ID_INDEX, wire_format.encode_index(event))])

    def _send(self, messages: list[CanFrame]) -> bool:
        """Queue messages that belong together; say whether they went out."""
        if self.bus_off or self._is_lost():
            return False
        self.outbox.extend(messages)
        return True

    def _is_lost(self) -> bool:
        return not through_wire(self.wire, b'\x01', b'\x01')[0]
