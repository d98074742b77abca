"""Did a torque begin lately? A likelihood ratio over a bank of onsets, all joints together.

Each hypothesis says: since then a constant torque tau acts on the joints. m is what a unit torque
does to the prediction error of the filter (`observer.count_filter`), nu its whitened innovation:

    g = W m_q,    J += g^T g,    b += g^T nu,    m <- F m + B,    T = b^T (J + P^-1)^-1 b

with tau = (J + P^-1)^-1 b and its covariance (J + P^-1)^-1 for a wide prior P of the torque. A new
hypothesis begins every few milliseconds and the oldest ends. Free motion gives sqrt(T) much the
same distribution at any speed, so one level for each age stands for a rate of false alarms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from armsense.drive import Drive
from armsense.errors import BadValue
from armsense.model import Arm
from armsense.observer.count_filter import CountFilter, FilterOptions, Innovation
from armsense.types import ArmState, Array

ONSETS = 12          # hypotheses kept
SPACING = 4e-3       # [s] between them, or a period
SETTLING = 0.2       # [s] after a start in which the filter learns the slow model error
LOADED = 3.0         # standard deviations of a torque that tell that a joint is loaded


class Onset(NamedTuple):
    """The torque that began, as far as the samples since then tell."""

    age: float           # [s] since it began
    torque: Array        # [Nm] (n,)
    covariance: Array    # [Nm^2] (n, n)
    ratio: float         # statistic over its level

    @property
    def joint(self) -> int:
        """The last joint that is loaded for certain, or the one that is most so."""
        sure = np.abs(self.torque) / np.sqrt(np.diag(self.covariance))
        loaded = np.flatnonzero(sure > LOADED)
        return int(loaded[-1]) if len(loaded) else int(np.argmax(sure))


class OnsetBank:
    """The hypotheses, the newest first."""

    def __init__(self, prior: Array, every: int) -> None:
        """A new one every so many samples.

        `prior` is the standard deviation of a torque before it is felt [Nm], (n,).
        """
        self.n = n = len(prior)
        self.every = every
        self._prior = np.diag(prior**-2.0)
        self._m = np.zeros((ONSETS, 3 * n, n))
        self._J = np.zeros((ONSETS, n, n))
        self._b = np.zeros((ONSETS, n, 1))
        self.reset()

    def reset(self) -> None:
        """Nothing has begun."""
        self._m[:] = self._b[:] = 0.0
        self._J[:] = self._prior
        self.count = 0   # samples since then

    def step(self, innovation: Innovation) -> Array:
        """sqrt(T) of each hypothesis, (ONSETS,)."""
        if self.count % self.every == 0:
            for part, new in ((self._m, 0.0), (self._J, self._prior), (self._b, 0.0)):
                part[1:] = part[:-1].copy()
                part[0] = new
        self.count += 1
        self._m = innovation.transition @ self._m
        self._m += innovation.torque_input
        g = innovation.whitening @ self._m[:, :self.n]   # (ONSETS, n, n)
        gT = g.transpose(0, 2, 1)
        self._J += gT @ g
        self._b += gT @ innovation.white[:, None]
        torque = np.linalg.solve(self._J, self._b)
        return np.asarray(np.sqrt((torque * self._b).sum(axis=(1, 2))))

    def estimate(self, k: int) -> tuple[Array, Array]:
        """Torque of hypothesis k [Nm], (n,), and its covariance [Nm^2], (n, n)."""
        covariance = np.linalg.inv(self._J[k])
        return (covariance @ self._b[k])[:, 0], covariance


class OnsetTest:
    """From the states of an arm to torques that began suddenly."""

    def __init__(self, model: Arm, drive: Drive, period: float, max_gap: float,
                 levels: Sequence[float] = (),
                 options: FilterOptions = FilterOptions()) -> None:   # noqa: B008 (frozen)
        """`levels` of the statistic by age, (ONSETS,); none: there is no onset.

        Period and longest bridged pause [s] and options are those of `CountFilter`.
        """
        if len(levels) not in (0, ONSETS):
            raise BadValue('number of onset levels', len(levels), f'0 or {ONSETS}')
        self.filter = CountFilter(model, drive, period, max_gap, options)
        self._bank = OnsetBank(self.filter.torque_scale, max(1, round(SPACING / period)))
        self._levels = np.array(levels) if len(levels) else np.full(ONSETS, np.inf)
        self._period = period
        self.statistic = np.zeros(ONSETS)   # sqrt(T) of the last sample; 0 while it settles

    def reset(self) -> None:
        """Begin anew with the next state."""
        self.filter.reset()
        self._bank.reset()
        self.statistic = np.zeros(ONSETS)

    def step(self, state: ArmState, dt: float) -> Onset | None:
        """The likeliest onset, where one is beyond its level, `dt` [s] after the state before."""
        innovation = self.filter.step(state, dt)
        if innovation is None:
            if dt != 0.0:   # else a state that came twice
                self._bank.reset()
                self.statistic = np.zeros(ONSETS)
            return None
        statistic = self._bank.step(innovation)
        if self._bank.count * self._period < SETTLING:
            return None
        self.statistic = statistic
        ratios = statistic / self._levels
        k = int(ratios.argmax())
        if not ratios[k] > 1.0:
            return None
        age = (k * self._bank.every + (self._bank.count - 1) % self._bank.every + 1) * self._period
        return Onset(age, *self._bank.estimate(k), float(ratios[k]))
