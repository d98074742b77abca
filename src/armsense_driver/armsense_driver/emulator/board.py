"""An emulated SPI board: sees frames, answers frames."""

from __future__ import annotations

from typing import Any

from armsense_driver.emulator.core import BoardCore
from armsense_driver.emulator.motor import MotorPhysics
from armsense_driver.emulator.profile import BoardProfile, profile_by_name
from armsense_driver.emulator.wire import WireFaults
from armsense_driver.protocol.errors import FrameError
from armsense_driver.protocol.messages import BoardState, MotorState
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
        if not self.wire.active:
            self._accept(frame)
            if self._error_in_reply:
                self._error_reported = True
            return reply
        heard, answered = self.wire.exchange(frame, reply)
        if heard:
            self._accept(heard)
        if answered == reply and self._error_in_reply:
            self._error_reported = True
        return answered

    def _prepared(self) -> BoardState:
        """State for the next reply."""
        self._error_in_reply = self.error != 0
        if not self._spoken_to and self.profile.blank_until_command:
            self._error_in_reply = False
            return _BLANK
        if not self.index_frozen:
            self._reported_index = self._last_index
        return self.state(self._reported_index)

    def _accept(self, frame: bytes) -> None:
        try:
            (enable, motors, self.timeout_ms, self._last_index, (on_1, on_2), compensation,
             self.rollover_error) = self.protocol.decode_command(frame)
        except FrameError:
            self.rejected_frames += 1
            return
        self._spoken_to = True
        self._refresh_watchdog()
        on_1, on_2 = enable and on_1, enable and on_2
        if on_1:
            self.unsafe.inspect(0, motors[0], self._error_reported, self._encoders[0])
        if on_2:
            self.unsafe.inspect(1, motors[1], self._error_reported, self._encoders[1])
        self._command = motors
        if compensation != self._compensation:
            self._compensation = compensation
            for encoder, on in zip(self._encoders, compensation, strict=True):
                encoder.compensate(on)
        self._set_enables(enable, on_1, on_2)
