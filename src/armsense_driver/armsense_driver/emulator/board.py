"""An emulated SPI board: sees frames, answers frames."""

from __future__ import annotations

from typing import Any

from armsense_driver.emulator.core import BoardCore
from armsense_driver.emulator.motor import MotorPhysics
from armsense_driver.emulator.profile import BoardProfile, profile_by_name
from armsense_driver.emulator.wire import WireFaults
from armsense_driver.protocol.errors import FrameError
from armsense_driver.protocol.messages import BoardState, MotorCommand, MotorState
from armsense_driver.protocol.registry import by_name

_BLANK = BoardState(motors=(MotorState(power=0.0), MotorState(power=0.0)))


class EmulatedBoard(BoardCore):
    """One dual-motor board with an SPI protocol (`udriver_spi`, `uomodri`, `laas_inhouse`)."""

    bus = 'spi'

    def __init__(
        self, profile: BoardProfile | str,
        motors: tuple[MotorPhysics, MotorPhysics] = (MotorPhysics(), MotorPhysics()),
        seed: int = 0, **options: Any,
    ) -> None:
        """Make a board; see `BoardCore` for the options.

        Args:
            profile: a profile or the name of one.
            motors: constants of the two motors.
            seed: of the current noise.
            **options: position_limits, start_timestamp_ms.
        """
        profile = profile_by_name(profile) if isinstance(profile, str) else profile
        self.protocol = by_name(profile.name)
        self.wire = WireFaults()
        self.index_frozen = False
        self.rejected_frames = 0
        super().__init__(profile, motors, seed, **options)

    def power_cycle(self) -> None:
        """Restart the firmware."""
        super().power_cycle()
        self._mode: tuple[object, ...] = ()     # as the last command set it; empty before
        self._last_index = 0
        self._reported_index = 0

    def receive(self, frame: bytes) -> bytes:
        """Exchange one frame: the reply holds the state prepared before `frame` arrived.

        Returns:
            The reply, or nothing when the fault injector lost it.
        """
        blank = not self._mode and self.profile.blank_until_command
        if not self.index_frozen:
            self._reported_index = self._last_index
        reply = self.protocol.encode_state(_BLANK if blank else self.state(self._reported_index))
        tells_error = self.error != 0 and not blank
        if not self.wire.active:
            self._accept(frame)
            answered = reply
        else:
            heard, answered = self.wire.exchange(frame, reply)
            if heard:
                self._accept(heard)
        if tells_error and answered == reply:
            self._error_reported = True
        return answered

    def _accept(self, frame: bytes) -> None:
        try:
            (enable, motors, timeout_ms, self._last_index, motor_enable, compensation,
             rollover_error) = self.protocol.decode_command(frame)
        except FrameError:
            self.rejected_frames += 1
            return
        self._silence_us = 0.0
        self._command = motors
        if enable:
            self._inspect(motors, motor_enable)
        mode = enable, timeout_ms, motor_enable, compensation, rollover_error
        if mode != self._mode:     # seldom
            self._mode = mode
            self._follow(*mode)

    def _follow(self, enable: bool, timeout_ms: int, motor_enable: tuple[bool, bool],
                compensation: tuple[bool, bool], rollover_error: bool) -> None:
        """Take a new mode word."""
        self.timeout_ms = timeout_ms
        self.rollover_error = rollover_error
        for encoder, on in zip(self._encoders, compensation, strict=True):
            encoder.compensate(on)
        self._set_enables(enable, *motor_enable)

    def _inspect(self, motors: tuple[MotorCommand, MotorCommand],
                 motor_enable: tuple[bool, bool]) -> None:
        for number, command in enumerate(motors):
            if motor_enable[number]:
                self.unsafe.inspect(
                    number, command, self._error_reported, self._encoders[number])
