"""Parameters that follow the arm while it moves (thesis 003, eqs. 2.21-2.22, section 4.3.4).

    dphi = P Y^T (Y P Y^T + R)^-1 (c - Y phi),    phi <- phi + dphi

With P kept at the scale of the parameters and R = 0 this is the thesis's pseudo-inverse step. With
a covariance P that shrinks as the data speak it is recursive least squares, which does not throw
away what earlier poses have said. Some parameters may be held (mask), all others may change only
so fast (rate limit, as a share of their scale per second).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import BadValue, UnknownName
from armsense.schema import quantity
from armsense.types import Array, Flags


@dataclass(frozen=True, kw_only=True)
class RecursiveOptions:
    """How parameters follow."""

    uncertainty: float = quantity(0.3, above=0, text='of a parameter at the start, by its scale')
    forgetting: float = quantity(600.0, unit='s', above=0, text='time constant of memory')
    rate_limit: float = quantity(0.05, unit='1/s', above=0,
                                 text='change of a parameter, by its scale')
    remember: bool = True   # False: the pseudo-inverse step of the thesis
    outlier: float = quantity(5.0, above=0,
                              text='deviations of the innovation that a sample may have')


DEFAULT_OPTIONS = RecursiveOptions()


class RecursiveLeastSquares:
    """Estimate of phi in c = Y phi, sample by sample."""

    def __init__(self, names: Sequence[str], start: Array, scale: Array, noise: ArrayLike,
                 options: RecursiveOptions = DEFAULT_OPTIONS) -> None:
        """Start from nominal values of typical size, (p,); noise of the measurements c, (k,)."""
        self.names = tuple(names)
        self.options = options
        self.scale = np.asarray(scale, float)
        self.phi = np.asarray(start, float).copy()
        self._R = np.diag(np.square(np.asarray(noise, float)))
        if not (np.diag(self._R) > 0.0).all():
            raise BadValue('noise', np.asarray(noise).tolist(), 'positive')
        self._limit = options.rate_limit * self.scale            # [1/s]
        self._free = np.ones(len(self.phi), bool)
        self._prior = np.diag(np.square(options.uncertainty * self.scale))
        self._P = self._prior.copy()
        self.rejected = 0

    def hold(self, names: Iterable[str]) -> None:
        """Keep parameters as they are; a name may end in * ('m*': all that begin with m)."""
        for name in names:
            self._free[self._matching(name)] = False
        held = ~self._free
        self._P[held] = 0.0
        self._P[:, held] = 0.0

    def limit(self, name: str, rate: float) -> None:
        """Limit the rate of parameters [share of their scale per second]."""
        if not rate > 0.0:
            raise BadValue(f'rate limit of {name}', rate, '> 0 1/s')
        index = self._matching(name)
        self._limit[index] = rate * self.scale[index]

    def step(self, Y: Array, measured: Array, dt: float) -> Array:
        """Take one sample; returns measured minus predicted before the correction, (k,).

        The regressor Y, (k, p), is filtered as the measurement c is, (k,); `dt` [s] after the last
        one.
        """
        innovation = np.asarray(measured - Y @ self.phi)
        if not (np.isfinite(innovation).all() and np.isfinite(Y).all()):
            return innovation
        P = self._P if self.options.remember else self._masked_prior()
        PY = P @ Y.T                                             # (p, k)
        C = Y @ PY + self._R
        surprise = float(innovation @ np.linalg.solve(C, innovation))
        if self.options.remember and surprise > self.options.outlier**2 * len(innovation):
            self.rejected += 1
            return innovation
        gain = np.linalg.solve(C, PY.T).T                        # (p, k)
        wanted = gain @ innovation
        # A limited step is a step with less gain: the covariance must not believe more than that.
        share = np.minimum(1.0, self._limit * dt / np.maximum(np.abs(wanted), 1e-300))
        self.phi = self.phi + share * wanted
        if self.options.remember:
            gain *= share[:, None]
            left = np.eye(len(self.phi)) - gain @ Y
            self._forget(left @ P @ left.T + gain @ self._R @ gain.T, dt)
        return innovation

    def _matching(self, name: str) -> Flags:
        stem = name[:-1] if name.endswith('*') else None
        found = np.array([n.startswith(stem) if stem is not None else n == name
                          for n in self.names])
        if not found.any():
            raise UnknownName('parameter', name, self.names)
        return found

    def _masked_prior(self) -> Array:
        return np.asarray(self._prior * np.outer(self._free, self._free))

    def _forget(self, P: Array, dt: float) -> None:
        # Towards the prior, not without bound: what is not excited must not become uncertain
        # beyond what was known at the start.
        share = -np.expm1(-dt / self.options.forgetting)
        P = 0.5 * (P + P.T)
        self._P = P + share * (self._masked_prior() - P)
