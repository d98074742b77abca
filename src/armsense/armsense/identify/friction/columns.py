"""What a drive adds to the rigid body, as columns that are linear in their coefficients.

A drive axis is a row s of the matrix `axes`: it turns with s dq and acts on the joints with s^T
times its torque. Ordinary drives are unit rows; a wrist motor that drives two joints is a row with
two entries. With the smooth sign sgn(v) = tanh(v / smoothing) the terms are

    viscous v, coulomb sgn, inertia dv/dt, offset 1, sqrt sqrt|v| sgn, quadratic v |v|,
    stribeck exp(-(v / v_s)^2) sgn, load |tau_link| sgn, load_viscous |tau_link| v.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from armsense.schema import check_known
from armsense.types import Array

TERMS = ('viscous', 'coulomb', 'inertia', 'offset', 'sqrt', 'quadratic', 'stribeck', 'load',
         'load_viscous')
UNITS = {'viscous': 'Nm s/rad', 'coulomb': 'Nm', 'inertia': 'kg m^2', 'offset': 'Nm',
         'sqrt': 'Nm (s/rad)^0.5', 'quadratic': 'Nm s^2/rad^2', 'stribeck': 'Nm', 'load': '1',
         'load_viscous': 's/rad'}
NOT_NEGATIVE = ('viscous', 'coulomb', 'inertia', 'load')
SHAPES = ('sqrt', 'quadratic', 'stribeck')   # only the sum of a curve with these must be positive
STATIC = ('viscous', 'coulomb', 'sqrt', 'quadratic', 'stribeck')   # functions of velocity alone
NEEDS_LOAD = ('load', 'load_viscous')
SPEEDS = 15              # at which friction must brake, from
SLOWEST = 1e-3           # [rad/s]: below, the smooth sign leaves next to nothing; to
BEYOND = 1.2             # times the velocity limit, or
USUAL_LIMIT = 10.0       # [rad/s] where the description has none
ROUNDING = 1e-6      # of the solver, share of the terms that cancel


@dataclass(frozen=True)
class DriveColumns:
    """Terms of all drive axes and the velocities that shape them."""

    axes: Array                      # (k, n)
    terms: tuple[str, ...]
    smoothing: float = 0.01          # [rad/s] over which the sign changes
    stribeck_velocity: float = 0.1   # [rad/s]

    def __post_init__(self) -> None:
        for term in self.terms:
            check_known('friction term', term, TERMS)

    @property
    def count(self) -> int:
        return len(self.terms) * len(self.axes)

    @property
    def names(self) -> tuple[str, ...]:
        """Such as `coulomb2`; the number counts the drive axes."""
        return tuple(f'{term}{k + 1}' for term in self.terms for k in range(len(self.axes)))

    def index(self, term: str) -> slice:
        """Where the coefficients of a term stand."""
        k = self.terms.index(term) * len(self.axes)
        return slice(k, k + len(self.axes))

    def places(self, terms: tuple[str, ...]) -> NDArray[np.intp]:
        """Where the coefficients of some terms stand, in their order."""
        every = np.arange(self.count)
        return np.concatenate([every[:0], *(every[self.index(term)] for term in terms)])

    def only(self, terms: tuple[str, ...]) -> DriveColumns:
        """The same drives with some of the terms."""
        return replace(self, terms=terms)

    def columns(self, dq: Array, ddq: Array, load: Array | None = None) -> Array:
        """Torque at the joints per coefficient, (N, n) -> (N, n, terms k).

        `load` is the torque on links and rotors of a first model [Nm], (N, n); None: no load
        terms.
        """
        v, a = dq @ self.axes.T, ddq @ self.axes.T                       # (N, k)
        force = np.zeros_like(v) if load is None else np.abs(load @ self.axes.T)
        parts = [self.characteristic(term, v, a, force)[:, None, :] * self.axes.T
                 for term in self.terms]
        return np.concatenate(parts, axis=2) if parts else np.zeros((*dq.shape, 0))

    def rotor_torque(self, ddq: Array, coefficients: Array) -> Array:
        """Torque that accelerates the rotors [Nm], (N, n)."""
        if 'inertia' not in self.terms:
            return np.zeros_like(ddq)
        inertia = coefficients[self.index('inertia')]
        return np.asarray((ddq @ self.axes.T * inertia) @ self.axes)

    def characteristic(self, term: str, v: Array, a: Array, force: Array) -> Array:
        """One term along the drive axes, same shape as `v`."""
        sign = np.tanh(v / self.smoothing)
        shapes: dict[str, Callable[[], Array]] = {
            'viscous': lambda: v,
            'coulomb': lambda: sign,
            'inertia': lambda: a,
            'offset': lambda: np.ones_like(v),
            'sqrt': lambda: np.sqrt(np.abs(v)) * sign,
            'quadratic': lambda: v * np.abs(v),
            'stribeck': lambda: np.exp(-np.square(v / self.stribeck_velocity)) * sign,
            'load': lambda: force * sign,
            'load_viscous': lambda: force * v}
        return np.asarray(shapes[term]())

    @property
    def not_negative(self) -> tuple[str, ...]:
        """Terms that are physical only with positive coefficients."""
        curved = any(term in SHAPES for term in self.terms)
        return tuple(term for term in self.terms if term in NOT_NEGATIVE
                     and not (curved and term in ('viscous', 'coulomb')))

    def passivity(self, limits: Array) -> Array:
        """Rows A with A @ coefficients >= 0: friction opposes motion at every speed and load.

        Up to the velocity limits of the joints [rad/s], (n,), also where no recording has been:
        nodes extrapolate.
        """
        top = np.abs(self.axes) @ np.where(limits > 0.0, limits, USUAL_LIMIT)
        rows = []
        for terms in (STATIC, NEEDS_LOAD):
            chosen = [term for term in self.terms if term in terms]
            for v in np.geomspace(SLOWEST, BEYOND * top, SPEEDS) if chosen else ():
                block = np.zeros((len(self.axes), self.count))
                for term in chosen:
                    value = self.characteristic(term, v, v, np.ones_like(v))
                    block[:, self.index(term)] = np.diag(value)
                rows.append(block)
        return np.concatenate(rows) if rows else np.zeros((0, self.count))

    def brakes(self, coefficients: Array, limits: Array) -> bool:
        """Whether friction opposes every motion within the limits [rad/s], (n,)."""
        rows = self.passivity(limits)
        size = np.abs(rows) @ np.abs(coefficients)
        return bool(np.all(rows @ coefficients >= -ROUNDING * size - 1e-12))
