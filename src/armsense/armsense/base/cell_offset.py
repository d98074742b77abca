"""What the cells feel beyond the model: taken at rest, then following their slow drift.

Cheap beam cells creep and feel the warmth of the room: newtons per hour, which add up to more than
a threshold long before anybody zeroes them again. A contact is faster by orders of magnitude. So
the offset follows the residual, but never faster than the cells may drift, and not at all while
something touches the arm.
"""

from collections import deque
from typing import NamedTuple

import numpy as np

from armsense.base.cell_layout import CellLayout
from armsense.errors import ArmsenseError
from armsense.model.base_motion import BaseMotion
from armsense.types import Array

SWING = 5.0   # standard deviations of the cells that rest may show
TIME = 20.0   # [s] over which the offset follows where the limit of its rate does not hold


class Rest(NamedTuple):
    """One sample while the joints rest, or the mean of some."""

    q: Array                    # [rad] (n,)
    felt: Array                 # [N, Nm] (k,)
    motion: BaseMotion | None   # of the base


class RestWatch:
    """Keeps the last samples of an arm that stands still.

    One thread may step it while another asks: what is asked for is taken from a copy.
    """

    def __init__(self, layout: CellLayout, noise: float, samples: int, speed: float) -> None:
        """So many samples below a speed [rad/s] of the joints make a rest; noise of a cell [N]."""
        self._names = layout.names
        self._swing = SWING * np.sqrt(np.diag(layout.covariance(noise)))
        self._speed = speed
        self._samples: deque[Rest] = deque(maxlen=samples)
        self._forces: deque[Array] = deque(maxlen=samples)

    @property
    def long_enough(self) -> bool:
        return len(self._samples) == self._samples.maxlen

    @property
    def forces(self) -> Array:
        """Of the cells [N], (samples, m); NaN: not usable."""
        return np.array(tuple(self._forces))

    def step(self, dq: Array, sample: Rest, force: Array) -> None:
        """Note a cycle: velocities [rad/s], (n,), forces of the cells [N], (m,)."""
        if np.abs(dq).max() > self._speed:
            self.reset()
            return
        self._samples.append(sample)
        self._forces.append(force)

    def reset(self) -> None:
        """Forget the rest."""
        self._samples.clear()
        self._forces.clear()

    def mean(self) -> Rest:
        """The rest; an error while the arm moves, rests too shortly, or its cells still swing."""
        samples = tuple(self._samples)
        if len(samples) != self._samples.maxlen:
            raise ArmsenseError('the arm must rest while its cells are zeroed')
        q = np.array([sample.q for sample in samples])
        felt = np.array([sample.felt for sample in samples])
        swing = felt.std(axis=0)
        if (swing > self._swing).any():
            axis = int(np.argmax(swing / self._swing))
            raise ArmsenseError(f'the cells have not come to rest: {self._names[axis]} '
                                f'swings by {swing[axis]:.3g}')
        motions = [sample.motion for sample in samples if sample.motion is not None]
        # One noisy reading of the imu alone would be in the offset for good.
        motion = BaseMotion(*np.mean(motions, axis=0)) if motions else None
        return Rest(q.mean(axis=0), felt.mean(axis=0), motion)


def drift_step(residual: Array, rate: Array, dt: float) -> Array:
    """Change of the offset in one sample of `dt` [s] without contact [N, Nm], (k,).

    The residual is felt beyond the prediction; the rate is the fastest drift [N/s, Nm/s], (k,).
    """
    return np.clip(residual / TIME, -rate, rate) * dt
