"""An emulated SPI board: sees frames, answers frames."""

from collections.abc import Callable
from typing import Any

from armsense.boards.emulator.core import BoardCore, BoardProfile
from armsense.boards.emulator.faults import through_wire
from armsense.boards.protocol.messages import (
    BoardState,
    CURRENT_PER_A,
    FrameError,
    MotorState,
    POSITION_PER_RAD,
    RESISTANCE_PER_OHM,
    VELOCITY_PER_RAD_S,
)
from armsense.boards.protocol.spi import by_name
from armsense.boards.protocol.spi_fields import read_mode

_BLANK = BoardState(motors=(MotorState(power=0.0), MotorState(power=0.0)))


class EmulatedBoard(BoardCore):
    """One dual-motor board with an SPI protocol (`udriver_spi`, `uomodri`, `laas_inhouse`)."""

    bus = 'spi'

    def __init__(self, profile: BoardProfile | str, *arguments: Any, **options: Any) -> None:
        self.index_frozen = False
        self.rejected_frames = 0
        super().__init__(profile, *arguments, **options)
        self.protocol = by_name(self.profile.name)
        self._blank_reply = self.protocol.encode_state(_BLANK)
        self._resistances = [round(motor.physics.resistance * RESISTANCE_PER_OHM)
                             for motor in self.motors]

    def power_cycle(self) -> None:
        super().power_cycle()
        self._mode: int | None = None       # mode word of the last command; None before the first
        self._gain_block = b''
        self._asked: tuple[int, ...] = ()   # motors that the last command wants on
        self._last_index = 0
        self._reported_index = 0

    def receive(self, frame: bytes) -> bytes:
        """Answer with the state prepared before `frame` arrived; empty: the injector lost it."""
        blank = self._mode is None and self.profile.blank_until_command
        reply = self._blank_reply if blank else self._reply()
        tells_error = self.error != 0 and not blank
        if not self.wire:
            self._accept(frame)
            answered = reply
        else:
            heard, answered = through_wire(self.wire, frame, reply)
            if heard:
                self._accept(heard)
        if tells_error and answered == reply:
            self._error_reported = True
        return answered

    def _reply(self) -> bytes:
        """Frame of the present state; like firmware it counts in units of the wire."""
        if not self.index_frozen:
            self._reported_index = self._last_index
        protocol, (one, two) = self.protocol, self.motors
        (adc_1, adc_2), (resistance_1, resistance_2) = self.adc, self._resistances
        lead, (turning_1, turning_2) = self.lead, self._turning
        if lead and not self.timestamp_frozen:     # clock and shafts tell of the same time
            self._timestamp_ms = self._clock_ms(lead)
        return protocol.pack_state(
            self.status(), self._timestamp_ms,
            round((one.encoder.position + lead * turning_1) * POSITION_PER_RAD),
            round((two.encoder.position + lead * turning_2) * POSITION_PER_RAD),
            round(one.velocity * VELOCITY_PER_RAD_S), round(two.velocity * VELOCITY_PER_RAD_S),
            round(one.measured_current * CURRENT_PER_A),
            round(two.measured_current * CURRENT_PER_A),
            resistance_1, resistance_2, adc_1, adc_2,
            protocol.power_bytes(one.power, two.power) if protocol.has_ki_and_power else b'',
            self._reported_index)

    def _accept(self, frame: bytes) -> None:
        try:
            (mode, p_1, p_2, v_1, v_2, i_1, i_2, gains,
             self._last_index) = self.protocol.unpack_command(frame)
        except FrameError:
            self.rejected_frames += 1
            return
        self._silence_us = 0.0
        if gains != self._gain_block:     # seldom
            self._gain_block = gains
            self._gains = self.protocol.read_gains(gains)
        gains_1, gains_2 = self._gains
        self._command = (
            (p_1 / POSITION_PER_RAD, v_1 / VELOCITY_PER_RAD_S, i_1 / CURRENT_PER_A) + gains_1,
            (p_2 / POSITION_PER_RAD, v_2 / VELOCITY_PER_RAD_S, i_2 / CURRENT_PER_A) + gains_2)
        if mode != self._mode:            # seldom
            self._mode = mode
            self._follow(*read_mode(mode))
        for number in self._asked:
            self.unsafe.inspect(number, self._command[number], self._error_reported,
                                self._encoders[number])

    def _follow(self, enable: bool, timeout_ms: int, motor_enable: tuple[bool, bool],
                compensation: tuple[bool, bool], rollover_error: bool) -> None:
        """Take a new mode word."""
        self._asked = tuple(k for k in (0, 1) if enable and motor_enable[k])
        self.timeout_ms = timeout_ms
        self.rollover_error = rollover_error
        for encoder, on in zip(self._encoders, compensation, strict=True):
            encoder.compensate(on)
        self._set_enables(enable, *motor_enable)


class LoopbackTransport:
    """`SpiTransport` to a board in the same process, which `receive` calls directly."""

    def __init__(self, receive: Callable[[bytes], bytes]) -> None:
        self._receive = receive

    def transfer(self, frame: bytes) -> bytes:
        return self._receive(frame)

    def close(self) -> None:
        self._receive = lambda frame: b''
