"""What an excitation must keep: joint limits, torques, free space, band limit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from armsense.errors import ArmsenseError, BadValue
from armsense.model import Arm
from armsense.trajectory.limits import Limits
from armsense.types import Array

FAR = 10.0           # [m] a base cylinder without a height is as tall as this
SPRING_SPEED = 0.7   # of the velocity limits: a motor behind a spring is at times faster than its
# link, and controllers brake motors from 0.8 of their limit on


class BaseCylinder(NamedTuple):
    """Space around the first axis that the tool and the outer links must not enter."""

    radius: float           # [m]
    height: float = FAR     # [m] above the base frame


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """Limits of one design; all hold for every instant of the motion."""

    limits: Limits                             # position, velocity, acceleration, jerk, torque
    floor: float | None = 0.0                  # [m] nothing moves below; None: no floor
    self_distance: float = 0.02                # [m] between links
    base_cylinder: BaseCylinder | None = None  # kept free of tool and outer links
    band_limit: float | None = None            # [Hz]

    def __post_init__(self) -> None:
        limits = self.limits
        for joint, low, high in zip(limits.joints, limits.lower, limits.upper, strict=True):
            if not (np.isfinite([low, high]).all() and low < high):
                raise BadValue(f'position range of {joint}', (float(low), float(high)),
                               'finite, lower < upper')
        for kind in ('velocity', 'acceleration', 'jerk', 'torque'):
            for joint, value in zip(limits.joints, getattr(limits, kind), strict=True):
                if not (np.isfinite(value) and value > 0.0):
                    raise BadValue(f'{kind} limit of {joint}', float(value), 'finite and > 0')

    @classmethod
    def of(cls, model: Arm, use: float = 0.9, **others: object) -> Constraints:
        """The fraction `use` of every limit of the arm, of positions about their middle."""
        if not 0.0 < use <= 1.0:
            raise BadValue('use of the limits', use, '> 0 and <= 1')
        limits = Limits.of(model)
        if any(joint.elastic is not None for joint in model.config.joints.values()):
            fastest = SPRING_SPEED / max(use, SPRING_SPEED) * limits.velocity
            limits = replace(limits, velocity=fastest)
        return cls(limits=shrunk(limits, use), **others)   # type: ignore[arg-type]

    def check_band(self, bandwidth: float, kind: str) -> None:
        """A motion that is faster than the band limit is an error."""
        if self.band_limit is not None and bandwidth > self.band_limit * (1.0 + 1e-9):
            raise BadValue(f'bandwidth of the {kind} motion', round(bandwidth, 4),
                           f'<= the band limit of {self.band_limit} Hz; take fewer harmonics or '
                           'a longer period')

    def check_pose(self, q: Array, what: str) -> None:
        """A start pose outside of the limits is an error that names the joint."""
        limits = self.limits
        for name, value, low, high in zip(limits.joints, q, limits.lower, limits.upper,
                                          strict=True):
            if not low <= value <= high:
                raise ArmsenseError(f'{what}: {name} at {value:.4g} rad is outside of '
                                    f'{low:.4g} to {high:.4g} rad')


def shrunk(limits: Limits, factor: float) -> Limits:
    """All limits times `factor`; the position range about its middle."""
    middle, half = 0.5 * (limits.upper + limits.lower), 0.5 * (limits.upper - limits.lower)
    return replace(limits, lower=middle - factor * half, upper=middle + factor * half,
                   velocity=factor * limits.velocity, torque=factor * limits.torque,
                   acceleration=factor * limits.acceleration, jerk=factor * limits.jerk)
