"""What one recording holds, in SI units, and whether these can be its units."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from armsense.errors import ArmsenseError
from armsense.identify.robot_file import UNITS
from armsense.types import Array

SLOWEST = 0.4     # [s] median step from which the unit of time must be another one


@dataclass(frozen=True)
class Signals:
    """What one recording holds; all with N rows."""

    t: Array                  # [s], (N,)
    position: Array           # (N, n)
    effort: Array             # (N, n)
    velocity: Array | None    # (N, n)
    name: str
    notes: tuple[str, ...] = ()
    joint_position: Array | None = None   # link-side encoders [rad], (N, n)
    strain: Array | None = None           # of the links [1], (N, n)
    strangers: tuple[str, ...] = ()       # joints that the messages carry beside those asked for
    torques: bool = False                 # efforts are Nm, whatever else the robot reports


def in_si(signals: Signals, units: Mapping[str, str]) -> Signals:
    """From the units of the source; what is not told is SI."""
    def scale(quantity: str) -> float:
        return UNITS[quantity][units[quantity]] if quantity in units else 1.0

    angle = scale('position')
    velocity, joints = signals.velocity, signals.joint_position
    # Where only the angles are told to be degrees, velocities are of the same kind.
    speed = scale('velocity') if 'velocity' in units else angle
    return checked_time(replace(
        signals, t=signals.t * scale('time'), position=signals.position * angle,
        effort=signals.effort * scale('effort'),
        velocity=None if velocity is None else velocity * speed,
        joint_position=None if joints is None else joints * angle))


def checked_time(signals: Signals) -> Signals:
    """Raise where no robot is sampled as slowly as the stamps say."""
    steps = np.diff(signals.t)
    step = float(np.median(steps[steps > 0.0])) if np.any(steps > 0.0) else 0.0
    if step >= SLOWEST:
        unit = 'ms' if step < 400.0 else 'us' if step < 4e5 else 'ns'
        raise ArmsenseError(f'{signals.name}: a sample every {step:.3g} s; is its time in {unit}? '
                            f'Then say source.units: {{time: {unit}}}')
    return signals
