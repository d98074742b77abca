"""Counts command frames that no driver should send."""

from dataclasses import dataclass

from armsense.boards.emulator.motor import Encoder, References

PositionLimits = tuple[tuple[float, float] | None, tuple[float, float] | None]

_SLACK = 1e-3          # [A], [rad] rounding of the wire
_LIMIT_STEP = 0.125    # [A] a current limit is rounded down by less than this


@dataclass
class UnsafeFrames:
    """Unsafe frames seen by one board, by reason. The board still acts as a board would."""

    max_current: tuple[float, float]     # [A] what each motor may be asked for
    position_limits: PositionLimits = (None, None)   # [rad] shaft angles that references may have
    current: int = 0             # feed-forward or limit above the motor's maximum current
    after_error: int = 0         # asked for torque after the board had reported an error
    position: int = 0            # position reference beyond the limits
    last: str = ''               # the newest one in words

    @property
    def total(self) -> int:
        return self.current + self.after_error + self.position

    def inspect(self, number: int, command: References, error_reported: bool,
                encoder: Encoder) -> None:
        """Look at the command for one enabled motor (0 or 1).

        `error_reported`: the host has been told of an error before it sent this frame. The encoder
        is the motor's, to know where its position counts from.
        """
        position, velocity, current, kp, kd, limit, ki = command
        limits = self.position_limits[number] if kp > 0.0 else None
        maximum = self.max_current[number] + _SLACK
        if -limit <= current <= limit <= maximum and not (error_reported or limits):
            return     # the usual case
        bound = limit + _LIMIT_STEP if limit + _LIMIT_STEP < maximum else maximum
        if not -bound <= current <= bound:
            self.current += 1
            self.last = f'motor {number}: feed-forward {current:.3f} A beyond the limit'
        elif limit > maximum:
            self.current += 1
            self.last = (f'motor {number}: current limit {limit:.3f} A; '
                         f'maximum {self.max_current[number]:.3f} A')
        # Zero, or pure damping of the standing shaft, asks for no torque.
        if error_reported and (current or kp or ki or (kd and velocity)):
            self.after_error += 1
            self.last = f'motor {number}: torque asked for after a reported error'
        if limits is not None:
            angle = position + encoder.origin_angle
            if not limits[0] - _SLACK <= angle <= limits[1] + _SLACK:
                self.position += 1
                self.last = (f'motor {number}: reference {angle:.4f} rad beyond '
                             f'[{limits[0]:.4f}, {limits[1]:.4f}]')
