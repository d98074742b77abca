"""An emulated SPI board: sees frames, answers frames."""

from __future__ import annotations

from typing import Any

from armsense_driver.emulator.core import BoardCore
from armsense_driver.emulator.motor import MotorPhysics
from armsense_driver.emulator.profile import BoardProfile, profile_by_name
from armsense_driver.emulator.wire import WireFaults
from armsense_driver.protocol.errors import FrameError
from armsense_driver.protocol.messages import BoardCommand, BoardState, MotorState
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
        self._spoken_to = False
        self._compensation = (False, False)
        self._last_index = 0
        self._reported_index = 0

    def receive(self, frame: bytes) -> bytes:
        """Exchange one frame: the reply holds the state prepared before `frame` arrived.

        Returns:
            The reply, or nothing when the fault injector lost it.
        """
        reply = self.protocol.encode_state(self._prepared())
        if not self.wire:
            self._accept(frame)
            self._error_reported |= self._error_in_reply
            return reply
        heard, answered = self.wire.exchange(frame, reply)
        if heard:
            self._accept(heard)
        if answered == reply:
            self._error_reported |= self._error_in_reply
        return answered

    def _prepared(self) -> BoardState:
        """State for the next reply."""
        self._error_in_reply = bool(self.error)
        if self.profile.blank_until_command and not self._spoken_to:
            self._error_in_reply = False
            return _BLANK
        if not self.index_frozen:
            self._reported_index = self._last_index
        return self.state(self._reported_index)

    def _accept(self, frame: bytes) -> None:
        try:
            command = self.protocol.decode_command(frame)
        except FrameError:
            self.rejected_frames += 1
            return
        self._spoken_to = True
        self._last_index = command.index
        self._refresh_watchdog()
        self._inspect(command)
        self.timeout_ms = command.timeout_ms
        self.rollover_error = command.rollover_error
        self._command = list(command.motors)
        if command.index_compensation != self._compensation:
            self._compensation = command.index_compensation
            for motor, on in zip(self.motors, self._compensation, strict=True):
                motor.encoder.compensate(on)
        self._set_enables(command.enable, *command.motor_enable)

    def _inspect(self, command: BoardCommand) -> None:
        if not command.enable:
            return
        for number, motor in enumerate(self.motors):
            if command.motor_enable[number]:
                self.unsafe.inspect(
                    number, command.motors[number], self._error_reported, motor.encoder)
