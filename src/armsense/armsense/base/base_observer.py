"""What the cells feel beyond the arm's own motion: the residual of the base wrench.

The arm exerts on its support  W = G(q) - dh/dt + W_ext,  with the wrench G of its weight and the
momentum h of its links about the base origin (see `Arm.base_momentum`). Through a first-order
low pass of gain K, the same for measurement and prediction, this needs no acceleration:

    r = LP[W_measured - G + dh/dt] = LP[W_measured - G - K h] + K h  ->  W_ext

The measurement may come later than the encoders (amplifier, averaging), the velocity later than
the position (regression). All three are delayed until they belong to the same instant.

W_ext = [F; p x F] is what a force F at p on the arm adds to the wrench on the support.
"""

from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np

from armsense.base.cell_layout import CellLayout
from armsense.base.vibration import BandStop, VibrationMode
from armsense.errors import ArmsenseError, BadValue
from armsense.model import Arm
from armsense.model.base_motion import BaseMotion
from armsense.schema import quantity
from armsense.types import Array


class DelayLine:
    """Delays vectors by a constant time at any sampling; before it is filled, holds the oldest.

    A ring of the last samples, read between two of them.
    """

    def __init__(self, delay: float, period: float) -> None:
        """Delay [s], 0 passes everything through; shortest period [s], which sets the room."""
        if not (0.0 <= delay < 60.0 and period > 0.0):
            raise BadValue('delay, period', (delay, period), '0 <= delay < 60 s, period > 0 s')
        self.delay = delay
        self._room = int(np.ceil(2.0 * delay / period)) + 3
        self.reset()

    def reset(self) -> None:
        self._times: list[float] = []
        self._values: list[Array] = []
        self._now = 0.0

    def step(self, value: Array, dt: float) -> Array:
        """The value `delay` seconds before now; `value` is now's, `dt` after the one before."""
        if self.delay == 0.0:
            return value
        times, values = self._times, self._values
        self._now += dt
        times.append(self._now)
        values.append(value)
        wanted = self._now - self.delay
        # What lies before the last sample older than wanted is never asked for again.
        while len(times) > 2 and (times[1] <= wanted or len(times) > self._room):
            times.pop(0)
            values.pop(0)
        if wanted <= times[0] or len(times) == 1:
            return values[0]
        share = (wanted - times[0]) / (times[1] - times[0])
        return values[0] + share * (values[1] - values[0])


@dataclass(frozen=True, kw_only=True)
class BaseObserverOptions:
    """How the residual is formed."""

    gain: float = quantity(40.0, unit='1/s', above=0, text='K of the low pass')
    period: float = quantity(1e-3, unit='s', above=0)
    cell_lag: float = quantity(0.0, unit='s', low=0, high=10,
                               text='measurement behind the encoders; see time_shift')
    velocity_lag: float = quantity(0.0, unit='s', low=0, high=0.1,
                                   text='velocity behind the positions')
    max_gap: float = quantity(0.05, unit='s', above=0, text='without samples, then a new start')
    warm_up: float = quantity(3.0, low=0, text='in time constants 1/K, until the residual counts')


DEFAULT_OPTIONS = BaseObserverOptions()


class BaseReading(NamedTuple):
    """One sample, felt axes only; measured - predicted = residual."""

    measured: Array    # low-passed [N, Nm], (k,)
    predicted: Array   # low-passed, (k,)
    residual: Array    # (k,)
    valid: bool        # False: warm-up, lost samples, too few cells


class BaseObserver:
    """Residual of the felt base wrench, sample by sample."""

    def __init__(self, model: Arm, layout: CellLayout,
                 options: BaseObserverOptions = DEFAULT_OPTIONS,
                 modes: tuple[VibrationMode, ...] = ()) -> None:
        """For an arm on its cells; `modes` are vibrations to be left out of the residual."""
        self.model, self.layout, self.options = model, layout, options
        self.offset = np.zeros(len(layout.axes))   # felt at rest beyond the model [N, Nm], (k,)
        self._stop = BandStop(modes, options.period) if modes else None
        behind = options.cell_lag - options.velocity_lag   # cells behind positions and velocities
        self._lines = tuple(DelayLine(delay, options.period) for delay in (
            options.velocity_lag, max(0.0, -behind), max(0.0, behind), options.cell_lag))
        self.reset()

    def reset(self) -> None:
        """As at the start: the next sample is the first."""
        for line in self._lines:
            line.reset()
        if self._stop is not None:
            self._stop.reset()
        self._age = -1.0   # [s] since the first sample; -1: none yet
        k = len(self.layout.axes)
        self._input = np.zeros((2, k))      # of the low pass, at the last sample
        self._state = np.zeros((2, k))      # of the low pass: residual part, measurement
        self.reading = BaseReading(np.zeros(k), np.zeros(k), np.zeros(k), False)
        self.aligned = np.zeros((2, self.model.n))   # q and dq at the instant of the measurement

    def step(self, q: Array, dq: Array, measured: Array, dt: float,
             motion: BaseMotion | None = None) -> BaseReading:
        """One sample, `dt` [s] after the one before.

        Joint positions [rad], velocities [rad/s], `velocity_lag` behind them, and the felt wrench
        [N, Nm], `cell_lag` behind them; motion of the base, None where it stands still.
        """
        if not math.isfinite(sum(q.tolist()) + sum(dq.tolist()) + sum(measured.tolist()) + dt):
            return self._lost()
        if self._age >= 0.0 and not 0.0 < dt <= self.options.max_gap:
            if dt == 0.0:
                return self.reading
            self.reset()
        line_q, line_measured, line_state, line_motion = self._lines
        self.aligned = line_state.step(np.stack([line_q.step(q, dt), dq]), dt)
        if motion is not None:
            motion = BaseMotion(*line_motion.step(np.stack(motion), dt))
        h, G = self._terms(self.aligned[0], self.aligned[1], motion)
        c = line_measured.step(measured, dt) - self.offset
        Kh = self.options.gain * h
        self._low_pass(np.stack([c - G - Kh, c]), -Kh if self._age < 0.0 else None, c, dt)
        residual = self._state[0] + Kh
        measured_low = self._state[1] + self.offset
        if self._stop is not None:
            residual = self._stop.step(residual)
        valid = self._age * self.options.gain >= self.options.warm_up
        self.reading = BaseReading(measured_low, measured_low - residual, residual, valid)
        return self.reading

    def zero(self, q: Array, measured: Array, motion: BaseMotion | None = None) -> Array:
        """Take what an arm at rest feels on average beyond its model as the offset, (k,)."""
        if not (np.isfinite(q).all() and np.isfinite(measured).all()):
            raise ArmsenseError('the offset needs finite positions and forces')
        _, weight = self._terms(q, np.zeros(self.model.n), motion)
        self.offset = measured - weight
        self.reset()
        return self.offset

    def _terms(self, q: Array, dq: Array, motion: BaseMotion | None) -> tuple[Array, Array]:
        """Felt h and G."""
        h, G = self.model.base_momentum(q, dq)
        if motion is not None:
            rest = np.zeros(self.model.n)
            floating = motion._replace(specific_force=np.zeros(3), angular_velocity=np.zeros(3),
                                       angular_acceleration=np.zeros(3))
            # h is that of a base at rest; what the base's own motion adds stands with the weight.
            G = (self.model.base_wrench(q, dq, rest, motion)
                 - self.model.base_wrench(q, dq, rest, floating))
        S = self.layout.selection
        return S @ h, S @ G

    def _low_pass(self, now: Array, start: Array | None, c: Array, dt: float) -> None:
        """Exact for inputs that change evenly between samples, to second order."""
        if start is not None:
            self._state = np.stack([start, c])   # residual zero, measurement as it is
            self._age = 0.0
        else:
            share = -math.expm1(-self.options.gain * dt)
            self._state = self._state + share * (0.5 * (self._input + now) - self._state)
            self._age += dt
        self._input = now

    def _lost(self) -> BaseReading:
        self._age = -1.0
        for line in self._lines:
            line.reset()
        self.reading = self.reading._replace(valid=False)
        return self.reading
