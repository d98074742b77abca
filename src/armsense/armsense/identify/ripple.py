"""Ripple that repeats with the angle: gear teeth, wave generators, encoder lines.

A line of N waves per radian adds cos(N q) and sin(N q), with amplitudes that may change with the
speed because the ripple excites the structure. Lines are searched in what a model leaves over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armsense.types import Array

WAVES = (60.0, 1500.0)    # waves per radian that are searched; fewer is no ripple
BINS = 3                  # of the angle per half of the shortest wave


@dataclass(frozen=True)
class Line:
    """Ripple of one torque with one joint's angle."""

    torque: int       # joint that feels it
    source: int       # joint whose angle drives it
    waves: float      # N [1/rad]
    orders: int = 0   # highest power of speed in the amplitude


def find_waves(angle: Array, error: Array,
               span: tuple[float, float] = WAVES) -> tuple[float, float]:
    """Waves per radian of the strongest ripple, and the share of the error's variance it holds.

    The errors are gathered in narrow bins of the angle; the transform of the bins is the spectrum.
    """
    e = error - error.mean()
    width = max(float(np.ptp(angle)), 1e-6)
    bin_width = np.pi / (BINS * span[1])
    place = ((angle - angle.min()) / bin_width).astype(int)
    size = int(2 ** np.ceil(np.log2(4.0 * width / bin_width + 2.0)))
    spectrum = np.fft.rfft(np.bincount(place, e, minlength=size)[:size])
    waves = 2.0 * np.pi * np.arange(len(spectrum)) / (size * bin_width)
    power = 2.0 * np.square(np.abs(spectrum) / len(e))
    power[(waves < span[0]) | (waves > span[1])] = 0.0
    best = int(np.argmax(power))
    return float(waves[best]), float(power[best] / max(np.mean(e * e), 1e-300))


def ripple_columns(q: Array, dq: Array, line: Line) -> Array:
    """Cosine and sine of a line, times powers of speed, (N, n) -> (N, 2 (orders + 1))."""
    phase = line.waves * q[:, line.source]
    speed = np.abs(dq[:, line.source])
    return np.stack([wave * speed ** k for k in range(line.orders + 1)
                     for wave in (np.cos(phase), np.sin(phase))], axis=1)

