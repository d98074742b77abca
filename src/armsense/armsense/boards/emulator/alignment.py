"""Rotor alignment after the first enable: the field turns once each way and the rotor must follow.

A direct current ramps up and holds the rotor to a field that makes one electrical turn forward and
one back. The field pulls like a spring, `kt i sin(a - p theta)`. If the encoder did not count one
electrical turn within 10 % in each direction, the board reports an encoder error.
"""

from __future__ import annotations

from enum import Enum
from math import sin, tau

from armsense.boards.emulator.motor import MotorPhysics

# Ends of the phases as shares of the whole duration.
_RAMP_END = 0.25
_FORWARD_END = 0.55
_BACK_END = 0.85
_PHASE_ENDS = (_RAMP_END, _FORWARD_END, _BACK_END)
_TOLERANCE = 0.10


class AlignmentResult(Enum):
    """Where an alignment stands."""

    RUNNING = 'running'
    DONE = 'done'
    FAILED = 'failed'


class Alignment:
    """Alignment of one motor; `step` until it is no longer running."""

    def __init__(self, physics: MotorPhysics, duration: float, motion: bool) -> None:
        """Prepare an alignment.

        Args:
            physics: motor to align.
            duration: whole length [s].
            motion: turn the field and check the rotor; otherwise only wait.
        """
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
    def result(self) -> AlignmentResult:
        """Running until the time is over, then whether the rotor followed."""
        if self._elapsed < self._duration:
            return AlignmentResult.RUNNING
        if self.sabotaged or (self._motion and not self._followed()):
            return AlignmentResult.FAILED
        return AlignmentResult.DONE

    def _followed(self) -> bool:
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
