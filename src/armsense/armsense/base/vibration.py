"""Vibration of arm and base: found in a free run, stopped by filters, or taken as a floor.

Thesis 003, section 4.3.3: vibrations of 125 Nm from peak to peak hide every collision below 64 Nm,
although the cells themselves resolve 10 Nm.
"""

from collections import deque
from dataclasses import dataclass
import math

import numpy as np
from scipy import signal

from armsense.errors import BadValue
from armsense.schema import quantity
from armsense.types import Array


@dataclass(frozen=True, kw_only=True)
class VibrationMode:
    """One resonance."""

    frequency: float = quantity(unit='Hz', above=0)
    width: float = quantity(unit='Hz', above=0, text='between the -3 dB points of the band-stop')
    amplitude: float = quantity(0.0, low=0, text='of the strongest axis, in its unit')


class BandStop:
    """Band-stops in series; constant values pass unchanged."""

    def __init__(self, modes: tuple[VibrationMode, ...], period: float) -> None:
        self._sections = []
        for mode in modes:
            if mode.frequency >= 0.45 / period:
                raise BadValue('frequency of a mode', mode.frequency,
                               f'< {0.45 / period:g} Hz at this sampling')
            self._sections.append(signal.iirnotch(
                mode.frequency, mode.frequency / mode.width, 1.0 / period))
        self.reset()

    def reset(self) -> None:
        """The next sample is taken as if it had always been there."""
        self._states: list[tuple[Array, Array]] | None = None

    def step(self, value: Array) -> Array:
        """One sample, (k,)."""
        if self._states is None:
            self._states = [self._rest(b, a, value) for b, a in self._sections]
        y = value
        for number, (b, a) in enumerate(self._sections):
            z1, z2 = self._states[number]
            x, y = y, b[0] * y + z1
            self._states[number] = (b[1] * x - a[1] * y + z2, b[2] * x - a[2] * y)
        return y

    @staticmethod
    def _rest(b: Array, a: Array, value: Array) -> tuple[Array, Array]:
        """States that answer a constant value with itself (the gain at zero frequency is one)."""
        z2 = (b[2] - a[2]) * value
        return (b[1] - a[1]) * value + z2, z2


class VibrationFloor:
    """How strong the residual has swung lately, as an addition to the threshold.

    The swing is what is left of the residual after its mean over one period of the slowest
    vibration. Its peak decays slowly and is used only after `hold`, so that a collision cannot
    lift the threshold that it has to cross.
    """

    def __init__(self, k: int, period: float, *, slowest: float = 2.0, decay: float = 2.0,
                 hold: float = 0.25, factor: float = 1.0) -> None:
        """For k axes, sampled with a period [s].

        The slowest vibration [Hz]; a peak times `factor` falls to 1/e in `decay` [s], and a swing
        counts from the age `hold` [s] on.
        """
        if min(period, slowest, decay, factor) <= 0.0 or hold < 0.0:
            raise BadValue('period, slowest, decay, factor, hold',
                           (period, slowest, decay, factor, hold), 'positive')
        self._window = max(2, round(1.0 / (slowest * period)))
        self._hold = max(1, round(hold / period))
        self._fade = math.exp(-period / decay)
        self._factor = factor
        self._k = k
        self.reset()

    def reset(self) -> None:
        self._samples: deque[Array] = deque(maxlen=self._window)
        self._sum = np.zeros(self._k)
        self._waiting: deque[Array] = deque(maxlen=self._hold)
        self.floor = np.zeros(self._k)

    def step(self, residual: Array) -> Array:
        """Addition to the threshold now, (k,)."""
        if len(self._samples) == self._window:
            self._sum = self._sum - self._samples[0]
        self._samples.append(residual)
        self._sum = self._sum + residual
        swing = np.abs(residual - self._sum / len(self._samples))
        self.floor = self._fade * self.floor
        if len(self._waiting) == self._hold:
            self.floor = np.maximum(self.floor, self._factor * self._waiting[0])
        self._waiting.append(swing)
        return self.floor
