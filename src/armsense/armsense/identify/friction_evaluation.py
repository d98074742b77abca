"""Friction from constant velocities, both ways (thesis 004, section 4.3).

At constant velocity nothing is accelerated, and on the same stretch of angles gravity pulls as
much on the way there as on the way back, so that half the difference of the mean torques is
friction. Straight lines through these points give what table 4.3 of the thesis lists:

    tau_motor = b_eq omega_motor + f k_g sgn(omega_motor),     k_g = 1 / gear ratio.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from armsense.errors import ArmsenseError, BadValue
from armsense.identify.friction_sweep import Cruise, FrictionSweep, SETTLE
from armsense.identify.recording import Recording
from armsense.identify.validation import correlation_factor
from armsense.types import Array

NORMAL_95 = float(stats.norm.ppf(0.975))


@dataclass(frozen=True)
class JointFriction:
    """Friction of one joint on the joint side, and the points that it rests on."""

    joint: str
    speeds: Array                        # [rad/s], (m,)
    torques: Array                       # at these speeds [Nm], (m,)
    viscous: float                       # [Nm s/rad]
    coulomb: float                       # [Nm]
    viscous_interval: tuple[float, float]   # 95 %
    coulomb_interval: tuple[float, float]   # 95 %
    rms: float                           # of the points about the line [Nm]

    def motor_viscous(self, gear_ratio: float) -> float:
        """b_eq of the thesis, on the motor side [Nm s/rad]."""
        return self.viscous / gear_ratio**2


def evaluate_sweep(sweep: FrictionSweep, recording: Recording,
                   start: float) -> list[JointFriction]:
    """Friction of every joint.

    Args:
        sweep: What was driven.
        recording: What was recorded.
        start: Stamp at which the motion began [s].
    """
    if recording.n != len(sweep.joints):
        raise BadValue(f'{recording.name}: number of joints', recording.n, f'{len(sweep.joints)}')
    pairs = list(zip(sweep.cruises[::2], sweep.cruises[1::2], strict=True))
    out = []
    for k, name in enumerate(sweep.joints):
        points = [_point(recording, start, forth, back) for forth, back in pairs
                  if forth.joint == k]
        out.append(_line(name, np.array([forth.speed for forth, _ in pairs if forth.joint == k]),
                         points))
    return out


def _point(recording: Recording, start: float, forth: Cruise,
           back: Cruise) -> tuple[float, float]:
    """Friction at one speed and its standard deviation [Nm]."""
    there, here = (_samples(recording, start, cruise) for cruise in (forth, back))
    low = max(there[0].min(), here[0].min())
    high = min(there[0].max(), here[0].max())
    means, variances = [], []
    for q, tau in (there, here):
        part = tau[(q >= low) & (q <= high)]
        if len(part) < 10:
            raise ArmsenseError(f'{recording.name}: the way back at {forth.speed:.3g} rad/s does '
                                'not cover the way there; did the arm follow?')
        means.append(part.mean())
        # Gravity changes along the stroke; noise is what differs from sample to sample.
        noise = part - np.polyval(np.polyfit(np.arange(len(part)), part, 3), np.arange(len(part)))
        variances.append(noise.var() * correlation_factor(noise) / len(part))
    return 0.5 * (means[0] - means[1]), 0.5 * float(np.sqrt(sum(variances)))


def _samples(recording: Recording, start: float, cruise: Cruise) -> tuple[Array, Array]:
    """Angles and torques of the joint in a cruise, without its ends."""
    since = recording.t - start
    keep = (since > cruise.begin + SETTLE) & (since < cruise.end - SETTLE)
    if keep.sum() < 10:
        raise ArmsenseError(f'{recording.name} holds {int(keep.sum())} samples of the stroke at '
                            f'{cruise.speed:.3g} rad/s that began {cruise.begin:.1f} s after the '
                            'start; was the whole motion recorded?')
    return recording.q[keep, cruise.joint], recording.tau[keep, cruise.joint]


def _line(joint: str, speeds: Array, points: Sequence[tuple[float, float]]) -> JointFriction:
    """Weighted straight line with intervals from noise and scatter, whichever is larger."""
    torques, sigma = (np.array(column) for column in zip(*points, strict=True))
    A = np.stack([speeds, np.ones_like(speeds)], axis=1)
    weight = 1.0 / np.maximum(sigma, 1e-9)
    x, *_ = np.linalg.lstsq(A * weight[:, None], torques * weight, rcond=None)
    left = torques - A @ x
    freedom = max(len(speeds) - 2, 1)
    scatter = max(1.0, float(np.sum(np.square(left * weight))) / freedom)
    covariance = scatter * np.linalg.inv((A * weight[:, None] ** 2).T @ A)
    half = NORMAL_95 * np.sqrt(np.diag(covariance))   # the noise is known from many samples
    viscous, coulomb = (float(v) for v in x)
    return JointFriction(
        joint, speeds, torques, viscous, coulomb,
        (viscous - float(half[0]), viscous + float(half[0])),
        (coulomb - float(half[1]), coulomb + float(half[1])),
        float(np.sqrt(np.mean(np.square(left)))))
