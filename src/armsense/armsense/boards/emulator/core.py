"""What every emulated dual-motor board does, whatever wire it hangs on.

States of a motor: off, aligning (about 3 s after the first enable), ready and driven; an error
switches both motors off and stays. The board has no clock of its own: time passes in `step`.

The plant calls `step` with the shaft state it has just integrated, serves the wire, applies the
returned torque over the next `dt`, and so on.

Alignment. A direct current ramps up and holds the rotor to a field that makes one electrical turn
forward and one back. The field pulls like a spring, `kt i sin(a - p theta)`. If the encoder did
not count one electrical turn within 10 % in each direction, the board reports an encoder error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import sin, tau
from typing import Any

from armsense.boards.emulator.faults import WireAction
from armsense.boards.emulator.motor import EmulatedMotor, MotorPhysics, References
from armsense.boards.emulator.unsafe import PositionLimits, UnsafeFrames
from armsense.boards.protocol.messages import BoardError, BoardStatus, MotorCommand
from armsense.schema import check_known

_ENCODER_ERRORS = (BoardError.ENCODER_1, BoardError.ENCODER_2)
_NO_COMMAND = MotorCommand()
_REMEMBERED = 64     # status words


@lru_cache(_REMEMBERED)
def _status(system: bool, on_1: bool, on_2: bool, ready_1: bool, ready_2: bool, met_1: bool,
            met_2: bool, toggle_1: bool, toggle_2: bool, error: BoardError) -> BoardStatus:
    """Status word, remembered because its flags seldom change."""
    return BoardStatus.build(
        system=system, enabled=(on_1, on_2), ready=(ready_1, ready_2), detected=(met_1, met_2),
        toggle=(toggle_1, toggle_2), error=error)


@dataclass(frozen=True)
class BoardProfile:
    """Behaviour of one firmware, apart from its wire format."""

    name: str                                # protocol name
    watchdog_always: bool = False            # else only while a motor is on with iq != 0
    recovers_by_enable: bool = False         # system enable, iq 0, motors; else a power-cycle
    blank_until_command: bool = False        # answers zeros until the first valid command
    alignment_duration: float = 3.0          # [s]
    alignment_motion: bool = True            # turn the rotor and check it, or only wait
    clock_wrap_us: int = 2**30               # [us] the clock behind the timestamp restarts here:
    #                                          1073.74 s, not a multiple of the 65.536 s wrap
    status_period: float = 1.0               # [s] CAN status message
    stream_period: float = 1e-3              # [s] CAN streams


PROFILES = {
    profile.name: profile for profile in (
        BoardProfile('udriver_spi'),
        BoardProfile('udriver_can', recovers_by_enable=True),
        BoardProfile('uomodri', watchdog_always=True, blank_until_command=True),
        BoardProfile('laas_inhouse', watchdog_always=True, blank_until_command=True),
    )}


def profile_by_name(name: str, **changes: Any) -> BoardProfile:
    """The profile called `name` with some fields changed, e.g. a shorter alignment."""
    check_known('protocol', name, PROFILES)
    return replace(PROFILES[name], **changes)


class BoardCore:
    """State machine, watchdog and motors of one board."""

    bus = ''     # the wire it hangs on: 'spi' or 'can'

    def __init__(
        self, profile: BoardProfile | str,
        motors: tuple[MotorPhysics, MotorPhysics] = (MotorPhysics(), MotorPhysics()),
        seed: int = 0, position_limits: PositionLimits = (None, None),
        start_timestamp_ms: int = 0,
    ) -> None:
        """Make a board that has just been powered, its clock at a value [ms].

        The seed is that of the current noise; for position limits see `UnsafeFrames`.
        """
        self.profile = profile_by_name(profile) if isinstance(profile, str) else profile
        self.wire: list[WireAction] = []     # faults that are active on it
        self.motors = (EmulatedMotor(motors[0], 2 * seed), EmulatedMotor(motors[1], 2 * seed + 1))
        self._encoders = (self.motors[0].encoder, self.motors[1].encoder)
        self.unsafe = UnsafeFrames(
            (motors[0].max_current, motors[1].max_current), position_limits)
        self.adc = [0, 0]                # [LSB] auxiliary inputs, set by the plant
        self.alignment_fails = [False, False]     # fault switches
        self.timestamp_frozen = False
        self.lead = 0.0                  # [s] that the shafts have turned on since the last step
        self._turning = (0.0, 0.0)       # [rad/s]
        self._start_us = start_timestamp_ms * 1000
        self._wrap_us = self.profile.clock_wrap_us
        self._dt = 0.0
        self._dt_us = 0.0
        self.power_cycle()

    def power_cycle(self) -> None:
        """Restart the firmware: encoder zeroed where the shaft stands, errors cleared."""
        self.error = BoardError.NONE
        self.system_enabled = False
        self.timeout_ms = 0
        self.rollover_error = False
        self._motor_on = [False, False]
        self._aligned = [False, False]
        self._alignment: list[Alignment | None] = [None, None]
        self._command: tuple[References, References] = (_NO_COMMAND, _NO_COMMAND)
        self._error_reported = False
        self._uptime_us = float(self._start_us)
        self._silence_us = 0.0           # [us] since the last command
        self._timestamp_ms = self._start_us // 1000 & 0xFFFF
        for motor in self.motors:
            motor.power_up()

    def step(self, dt: float, shaft_position: Sequence[float],
             shaft_velocity: Sequence[float]) -> tuple[float, float]:
        """Advance the board by `dt` [s]; as `BoardRack.step`, for its two motors."""
        if dt != self._dt:
            self._set_step(dt)
        self._uptime_us += self._dt_us
        self._silence_us += self._dt_us
        if not self.timestamp_frozen:
            self._timestamp_ms = self._clock_ms()
        # The tolerance keeps accumulated rounding of dt from delaying the trip by a step.
        if self.timeout_ms and self._silence_us >= self.timeout_ms * 1000.0 - 1e-3:
            self._check_watchdog()
        (one, two), (position_1, position_2) = self.motors, shaft_position
        self._turning = velocity_1, velocity_2 = shaft_velocity[0], shaft_velocity[1]
        one.sense(position_1)
        two.sense(position_2)
        if self.rollover_error and (one.encoder.rolled_over or two.encoder.rolled_over):
            self.trip(BoardError.ROLLOVER)
        return (self._step_motor(0, one, position_1, velocity_1),
                self._step_motor(1, two, position_2, velocity_2))

    def _clock_ms(self, lead: float = 0.0) -> int:
        """What the board's clock shows `lead` [s] after the last step."""
        return int(self._uptime_us + 1e6 * lead + 0.5) % self._wrap_us // 1000 & 0xFFFF

    def trip(self, error: BoardError) -> None:
        """Switch off and report `error`; the first error stays."""
        if self.error is BoardError.NONE:
            self.error = error
        self.system_enabled = False
        self._motor_on = [False, False]
        self._alignment = [None, None]

    def set_uptime(self, uptime: float) -> None:
        """Set the board's clock [s], e.g. to shortly before it wraps."""
        self._uptime_us = uptime * 1e6

    @property
    def silence(self) -> float:
        """Time since the last command [s]."""
        return self._silence_us * 1e-6

    def status(self) -> BoardStatus:
        (one, two), (on_1, on_2), (ready_1, ready_2) = (
            self._encoders, self._motor_on, self._aligned)
        return _status(self.system_enabled, on_1, on_2, ready_1, ready_2, one.index_detected,
                       two.index_detected, one.index_toggle, two.index_toggle, self.error)

    def _set_enables(self, system: bool, motor_1: bool, motor_2: bool) -> None:
        """Follow the enable bits unless an error holds the board."""
        on = [system and motor_1, system and motor_2]
        if self.error or (system == self.system_enabled and on == self._motor_on):
            return
        self.system_enabled = system
        for number, wanted in enumerate(on):
            if wanted == self._motor_on[number]:
                continue
            self._motor_on[number] = wanted
            self._alignment[number] = None
            if wanted and not self._aligned[number]:
                self._alignment[number] = Alignment(
                    self.motors[number].physics, self.profile.alignment_duration,
                    self.profile.alignment_motion)

    def _check_watchdog(self) -> None:
        armed = self.profile.watchdog_always or any(
            on and motor.reference != 0.0
            for on, motor in zip(self._motor_on, self.motors, strict=True))
        if armed and self.error is BoardError.NONE:
            self.trip(BoardError.RECEIVE_TIMEOUT)

    def _step_motor(self, number: int, motor: EmulatedMotor, position: float,
                    velocity: float) -> float:
        if not self._motor_on[number]:
            return motor.drive(None, velocity)
        alignment = self._alignment[number]
        if alignment is not None:
            return self._align(number, alignment, position, velocity)
        torque = motor.drive(self._command[number], velocity)
        if motor.heat > motor.max_heat:
            self.trip(BoardError.OTHER)
        return torque

    def _align(self, number: int, alignment: Alignment, position: float,
               velocity: float) -> float:
        motor = self.motors[number]
        alignment.sabotaged = self.alignment_fails[number]
        motor.drive(None, velocity)
        torque = alignment.step(self._dt, motor.encoder.counts, position, velocity)
        motor.power = 1.5 * motor.physics.resistance * alignment.current**2
        if alignment.succeeded is False:
            self.trip(_ENCODER_ERRORS[number])
        elif alignment.succeeded:
            self._alignment[number] = None
            self._aligned[number] = True
            motor.encoder.set_zero()
        return torque

    def _set_step(self, dt: float) -> None:
        if dt <= 0.0:
            raise ValueError(f'dt = {dt!r} s; valid: > 0')
        self._dt = dt
        self._dt_us = dt * 1e6
        for motor in self.motors:
            motor.set_step(dt)


# Ends of the phases as shares of the whole duration.
_RAMP_END = 0.25
_FORWARD_END = 0.55
_BACK_END = 0.85
_PHASE_ENDS = (_RAMP_END, _FORWARD_END, _BACK_END)
_TOLERANCE = 0.10


class Alignment:
    """Alignment of one motor after its first enable; `step` until it has succeeded or not."""

    def __init__(self, physics: MotorPhysics, duration: float, motion: bool) -> None:
        """Prepare an alignment that lasts so long [s]; without `motion` it only waits."""
        self.sabotaged = False          # fault: the rotor slips
        self.current = 0.0              # [A] direct current
        self._physics = physics
        self._duration = duration
        self._motion = motion
        self._elapsed = 0.0
        self._marks: list[int] = []     # counts at the ends of ramp, forward and back turn

    def step(self, dt: float, counts: int, shaft_position: float, shaft_velocity: float) -> float:
        """Advance by `dt` [s] and return the torque of the field on the shaft [Nm]."""
        self._elapsed += dt
        share = self._elapsed / self._duration
        if len(self._marks) < 3 and share >= _PHASE_ENDS[len(self._marks)]:
            self._marks.append(counts)
        if not self._motion:
            return 0.0
        physics = self._physics
        self.current = physics.alignment_current * min(share / _RAMP_END * 1.5, 1.0)
        pull = physics.torque_constant * self.current * sin(
            _field_angle(share) - physics.pole_pairs * shaft_position)
        return pull - physics.alignment_damping * shaft_velocity

    @property
    def succeeded(self) -> bool | None:
        """None until the time is over, then whether the rotor followed."""
        if self._elapsed < self._duration:
            return None
        if self.sabotaged or not self._motion:
            return not self.sabotaged
        if len(self._marks) < 3:
            return False
        expected = self._physics.counts_per_turn / self._physics.pole_pairs
        start, turned, back = self._marks
        allowed = _TOLERANCE * expected
        return (abs(turned - start - expected) <= allowed
                and abs(turned - back - expected) <= allowed)


def _field_angle(share: float) -> float:
    """Electrical angle of the field [rad]: still, one turn forward, one turn back, still."""
    if share < _RAMP_END or share >= _BACK_END:
        return 0.0
    if share < _FORWARD_END:
        return tau * (share - _RAMP_END) / (_FORWARD_END - _RAMP_END)
    return tau * (_BACK_END - share) / (_BACK_END - _FORWARD_END)
