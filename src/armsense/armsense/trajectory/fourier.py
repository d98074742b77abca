"""Sums of harmonics as a tracking test."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.trajectory.limits import Limits, motion_torque
from armsense.trajectory.reference import sample_grid, Trajectory
from armsense.trajectory.time_scaling import ramped
from armsense.types import Array, Reference


class Fourier:
    """q = center + sum_k a_k sin(k w t) + b_k cos(k w t), w = 2 pi frequency (`Trajectory`)."""

    def __init__(self, center: ArrayLike, sines: ArrayLike, cosines: ArrayLike, frequency: float,
                 duration: float) -> None:
        """Set the coefficients.

        Args:
            center: [rad] (n,)
            sines: a [rad] (K, n)
            cosines: b [rad] (K, n)
            frequency: Of the first harmonic [Hz].
            duration: [s]
        """
        self._center = np.asarray(center, float)
        w = 2.0 * math.pi * frequency * np.arange(1, len(np.asarray(sines)) + 1)   # (K,)
        self._w = w
        amplitudes = np.vstack([sines, cosines])                                   # (2 K, n)
        turned = np.vstack([-np.asarray(cosines, float), np.asarray(sines, float)])
        scale = np.concatenate([w, w])[:, None]
        # Each derivative turns sine into cosine and multiplies by the frequency.
        self._table = np.hstack([amplitudes, turned * scale, -amplitudes * scale**2,
                                 -turned * scale**3, amplitudes * scale**4])        # (2 K, 5 n)
        self._duration = duration

    @property
    def duration(self) -> float:
        return self._duration

    @property
    def n(self) -> int:
        return len(self._center)

    def sample(self, t: float) -> Reference:
        """The motion at time t [s]; it is periodic and does not rest at its ends."""
        phase = self._w * t
        values = np.concatenate([np.sin(phase), np.cos(phase)]) @ self._table
        q, dq, ddq, jerk, snap = values.reshape(5, -1)
        return Reference(self._center + q, dq, ddq, jerk, snap)


def fourier_test(model: Arm, *, seed: int = 1, frequency: float = 0.25, harmonics: int = 3,
                 periods: float = 1.0, use: float = 0.7, center: ArrayLike | None = None,
                 floor: float | None = None) -> Trajectory:
    """A seeded Fourier motion that uses the fraction `use` of the tightest limit, at rest at ends.

    Args:
        model: The arm.
        seed: Of the random coefficients.
        frequency: Of the first harmonic [Hz].
        harmonics: Number of harmonics.
        periods: Duration in periods, ramps included.
        use: Fraction of the tightest of position, velocity, acceleration and torque, (0, 1].
        center: [rad] (n,). None: home, or the middle of the range.
        floor: Height [m] that the shapes must stay above. None: not checked.
    """
    limits = Limits.of(model)
    middle = _center(model, limits) if center is None else np.asarray(center, float)
    rng = np.random.default_rng(seed)
    coefficients = rng.normal(size=(2, harmonics, model.n)) / np.arange(1, harmonics + 1)[:, None]
    room = np.minimum(limits.upper - middle, middle - limits.lower)
    coefficients *= np.minimum(room, 1.0)
    scale = 1.0
    for _ in range(60):
        raw = Fourier(middle, scale * coefficients[0], scale * coefficients[1], frequency,
                      periods / frequency)
        motion = ramped(raw, ramp=0.25 / frequency)
        fill = _fill(motion, limits, model, middle)
        low_enough = floor is None or _above(motion, model, floor)
        if low_enough and 0.97 * use <= fill <= use:
            return motion
        scale *= 0.85 if not low_enough else min(max(0.985 * use / fill, 0.5), 1.5)
        if not low_enough:
            use = min(use, fill * 0.85)
    rest = float((np.abs(model.gravity_torque(middle)) / limits.torque).max())
    raise ArmsenseError(f'{model.name}: no Fourier motion of seed {seed} fills {use:.2f} of the '
                        f'limits; gravity alone takes {rest:.2f} of the torque')


def _center(model: Arm, limits: Limits) -> Array:
    if model.config.home:
        return np.array(model.config.home)
    return 0.5 * (limits.lower + limits.upper)


def _fill(motion: Trajectory, limits: Limits, model: Arm, middle: Array) -> float:
    samples = sample_grid(motion, 0.01)
    room = np.minimum(limits.upper - middle, middle - limits.lower)
    parts = ((samples.q - middle) / room, samples.dq / limits.velocity,
             samples.ddq / limits.acceleration, samples.jerk / limits.jerk,
             motion_torque(samples, model) / limits.torque)
    return float(max(np.abs(part).max() for part in parts))


def _above(motion: Trajectory, model: Arm, floor: float) -> bool:
    from armsense.trajectory.clearance import Clearance
    return not Clearance(model, floor=floor, self_distance=0.0).check(motion, 0.05)
