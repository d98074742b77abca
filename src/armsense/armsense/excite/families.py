"""The four families of motions by name; each class states its equation."""

import math

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike
from scipy import linalg

from armsense.errors import ArmsenseError, BadValue, UnknownName
from armsense.excite.parametrisation import Parametrisation
from armsense.types import Array

KINDS = ('fourier', 'cosine_polynomial', 'polynomial', 'aprbs')
BUMP_DEGREE = 6
REGISTER = 9            # bits; feedback from bits 9 and 5 gives the longest sequence, 511 ticks
FEEDBACK = (8, 4)


class FourierSeries(Parametrisation):
    """Finite Fourier series, in the amplitudes of thesis 000, eq. 4.34.

        q(t) = q_0 + sum_l a_l / (w l) sin(w l t) - b_l / (w l) cos(w l t),    w = 2 pi / period

    Periodic and exactly band-limited. Start (and end) at rest in a given pose are three linear
    conditions per joint,

        q_0 - sum_l b_l / (w l) = q_start,    sum_l a_l = 0,    sum_l l b_l = 0,

    which the free parameters span exactly. Coefficients per joint: q0 [rad], a1 ... aH,
    b1 ... bH [rad/s]; two harmonics are the least that can rest at the ends.
    """

    kind = 'fourier'

    def __init__(self, start: ArrayLike, period: float, harmonics: int) -> None:
        super().__init__(start, start, period)
        if harmonics < 2:
            raise BadValue('harmonics of a Fourier series', harmonics, '>= 2')
        self.harmonics = harmonics
        self._w = 2.0 * math.pi / period * np.arange(1, harmonics + 1)   # (H,)

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        numbers = range(1, self.harmonics + 1)
        return ('q0', *(f'a{l}' for l in numbers), *(f'b{l}' for l in numbers))

    @property
    def bandwidth(self) -> float:
        return self.harmonics / self.period

    def basis(self, t: Array, order: int) -> Array:
        # Each derivative turns the phase by a quarter and multiplies by the frequency.
        phase = np.outer(t, self._w) + 0.5 * math.pi * order
        scale = self._w ** (order - 1)
        constant = np.full((len(t), 1), 1.0 if order == 0 else 0.0)
        row = np.hstack([constant, np.sin(phase) * scale, -np.cos(phase) * scale])
        return np.repeat(row[:, None, :], self.n, axis=1)

    def rest(self) -> Array:
        c = np.zeros((self.n, self.size))
        c[:, 0] = self.start
        return c

    def free(self) -> Array:
        zero = np.zeros(1)
        conditions = np.vstack([self.basis(zero, order)[0, 0] for order in range(3)])
        return np.asarray(linalg.null_space(conditions))


class _OverQuintic(Parametrisation):
    """Motions on top of a quintic from start to end."""

    def offset(self, t: Array, order: int) -> Array:
        ends = quintic_ends(t, self.period, order)
        return np.asarray(np.outer(ends[:, 0], self.start) + np.outer(ends[:, 3], self.end))


class CosinePolynomial(_OverQuintic):
    """Cosine series plus fifth-order polynomial: paper 002, eqs. 11-14.

        q(t) = lambda(t) + sum_m a_m cos(m pi t / T)

    The six coefficients of the quintic lambda follow from position, velocity and acceleration at
    both ends and from the a_m (eq. 14), so that the ends hold exactly for every choice of a_m:
    each cosine enters together with the quintic that takes its own end values away. Coefficients
    per joint: a1 ... aM [rad].
    """

    kind = 'cosine_polynomial'

    def __init__(self, start: ArrayLike, end: ArrayLike, period: float, terms: int) -> None:
        super().__init__(start, end, period)
        if terms < 1:
            raise BadValue('terms of a cosine series', terms, '>= 1')
        self.terms = terms
        self._w = math.pi / period * np.arange(1, terms + 1)   # (M,)
        zero, last = np.zeros(1), np.array([period])
        self._ends = np.vstack([self._cosine(t, order)
                                for t in (zero, last) for order in range(3)])   # (6, M)

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        return tuple(f'a{m}' for m in range(1, self.terms + 1))

    @property
    def bandwidth(self) -> float:
        return self.terms / (2.0 * self.period)

    def basis(self, t: Array, order: int) -> Array:
        row = self._cosine(t, order) - quintic_ends(t, self.period, order) @ self._ends
        return np.repeat(row[:, None, :], self.n, axis=1)

    def _cosine(self, t: Array, order: int) -> Array:
        phase = np.outer(t, self._w) + 0.5 * math.pi * order
        return np.asarray(np.cos(phase) * self._w ** order)


class Polynomial(_OverQuintic):
    """Polynomials (thesis 000, eq. 4.33) that rest at both ends.

        q(t) = quintic from start to end + (1 - s^2)^3 sum_k c_k P_k(s),    s = 2 t / T - 1

    The plain sum of powers a_l t^l of the document is badly conditioned and meets no end
    conditions; the Legendre polynomials P_k behind the cubed bump span the same polynomials with
    resting ends. Coefficients per joint: c0 ... [rad].
    """

    kind = 'polynomial'

    def __init__(self, start: ArrayLike, end: ArrayLike, period: float, degree: int) -> None:
        super().__init__(start, end, period)
        if degree < BUMP_DEGREE:
            raise BadValue('degree of a polynomial with resting ends', degree, f'>= {BUMP_DEGREE}')
        self.degree = degree
        bump = legendre.poly2leg([1.0, 0.0, -3.0, 0.0, 3.0, 0.0, -1.0])     # (1 - s^2)^3
        self._series = np.zeros((degree + 1, degree - BUMP_DEGREE + 1))   # of the basis functions
        for k in range(degree - BUMP_DEGREE + 1):
            product = legendre.legmul(bump, np.eye(k + 1)[k])
            self._series[:len(product), k] = product

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        return tuple(f'c{k}' for k in range(self.degree - BUMP_DEGREE + 1))

    @property
    def bandwidth(self) -> float:
        """A polynomial of this degree turns at most degree - 1 times."""
        return (self.degree - 1) / (2.0 * self.period)

    def basis(self, t: Array, order: int) -> Array:
        s = 2.0 * t / self.period - 1.0
        series = legendre.legder(self._series, order, scl=2.0 / self.period)
        row = legendre.legvander(s, len(series) - 1) @ series
        return np.repeat(row[:, None, :], self.n, axis=1)


class Aprbs(Parametrisation):
    """Amplitude-modulated pseudo-random binary signal, sin^2 acceleration (paper 001, section 4).

    A maximum-length binary sequence says at which ticks of a clock a joint leaves its level; the
    levels are the amplitudes. Between two levels, h apart, the joint moves within the time D with

        ddq = 8 h / D^2 sin^2(2 pi u)   for u = t / D < 1/2,   the negative of it afterwards,

    peak velocity 2 h / D. With the ticks given, the motion is linear in the levels. Coefficients
    per joint: the levels [rad]; the first and last hold is the start pose.
    """

    kind = 'aprbs'

    def __init__(self, start: ArrayLike, period: float, clock: float, move: float,
                 seed: int = 1, levels: int | None = None) -> None:
        """Draw the binary sequences from a seed.

        The clock is the shortest hold [s], with the duration D of a move [s] included; `levels` of
        each joint, None: as many as the joint with the fewest changes has.
        """
        super().__init__(start, start, period)
        if not 0.0 < move <= clock:
            raise BadValue('move time of an APRBS', move, f'> 0 and <= clock ({clock} s)')
        self.clock, self.move, self.seed = float(clock), float(move), int(seed)
        ticks = math.floor((period - move) / clock + 1e-9) + 1
        schedules = [clock * _changes(ticks, 1 + (seed + 73 * joint) % 510)
                     for joint in range(self.n)]
        fewest = min(map(len, schedules)) - 1
        count = fewest if levels is None else levels
        if not 1 <= count <= fewest:
            raise BadValue('levels of an APRBS', count, f'1 to {fewest}; lengthen the period or '
                           'shorten the clock for more')
        self._times = np.array([s[:count + 1] for s in schedules])   # (n, levels + 1)

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        return tuple(f'level{k}' for k in range(1, self._times.shape[1]))

    @property
    def bandwidth(self) -> float:
        """The sin^2 bumps repeat twice within a move."""
        return 2.0 / self.move

    @property
    def options(self) -> dict[str, float]:
        return {'clock': self.clock, 'move': self.move, 'seed': float(self.seed)}

    def basis(self, t: Array, order: int) -> Array:
        steps = _step((t[:, None, None] - self._times) / self.move, order) / self.move**order
        return np.asarray(steps[:, :, :-1] - steps[:, :, 1:])

    def offset(self, t: Array, order: int) -> Array:
        held = 1.0 if order == 0 else 0.0
        return np.asarray(self.start * (held - self.basis(t, order).sum(axis=2)))

    def rest(self) -> Array:
        return np.repeat(self.start[:, None], self.size, axis=1)


def rebuild_shape(kind: str, start: Array, end: Array, period: float, size: int,
                  options: dict[str, float]) -> Parametrisation:
    """The family behind a file: `size` coefficients per joint and the kind's own options."""
    if kind == 'fourier':
        if size % 2 == 0:
            raise BadValue('number of Fourier coefficients per joint', size, 'odd: q0, a, b')
        return FourierSeries(start, period, (size - 1) // 2)
    if kind == 'cosine_polynomial':
        return CosinePolynomial(start, end, period, size)
    if kind == 'polynomial':
        return Polynomial(start, end, period, size + BUMP_DEGREE - 1)
    if kind == 'aprbs':
        for name in ('clock', 'move', 'seed'):
            if name not in options:
                raise ArmsenseError(f'aprbs: {name!r} is missing; needed: clock, move, seed')
        return Aprbs(start, period, options['clock'], options['move'], int(options['seed']), size)
    raise UnknownName('kind of excitation', kind, KINDS)


def quintic_ends(t: Array, period: float, order: int) -> Array:
    """Quintics that carry one end value each, (N,) -> (N, 6).

    The columns answer q(0), dq(0), ddq(0), q(T), dq(T), ddq(T) = 1, all others zero.
    """
    u, T = t / period, period
    powers = np.vander(u, 6, increasing=True)
    for _ in range(order):   # d/du of the monomials
        powers = np.hstack([np.zeros((len(u), 1)), powers[:, :-1] * np.arange(1, 6)])
    scale = np.array([1.0, T, T**2, 1.0, T, T**2])
    return np.asarray(powers @ _HERMITE * scale / T**order)


def _hermite() -> Array:
    """Monomial coefficients of the six end quintics on [0, 1], (6, 6)."""
    ends = np.zeros((6, 6))
    for order in range(3):
        factor = np.array([float(np.prod(np.arange(k, k - order, -1))) for k in range(6)])
        ends[order, order] = factor[order]
        ends[3 + order] = factor       # u = 1; the factor is zero where the power vanishes
    return np.asarray(np.linalg.inv(ends))


_HERMITE = _hermite()


def _changes(ticks: int, state: int) -> Array:
    """Ticks at which the binary sequence changes its value; the first is 0."""
    bits = []
    for _ in range(ticks):
        bits.append(state & 1)
        new = (state >> FEEDBACK[0] ^ state >> FEEDBACK[1]) & 1
        state = (state << 1 | new) & (1 << REGISTER) - 1
    changed = np.flatnonzero(np.diff(bits)) + 1
    return np.concatenate([[0], changed]).astype(float)


def _step(u: Array, order: int) -> Array:
    """Unit step with the sin^2 acceleration on [0, 1] and its derivatives by u."""
    w = 4.0 * math.pi
    mirrored = u > 0.5
    s = np.clip(np.where(mirrored, 1.0 - u, u), 0.0, 0.5)   # the second half is the first, turned
    rise = (lambda: 2.0 * s**2 + 4.0 / w**2 * (np.cos(w * s) - 1.0),
            lambda: 4.0 * s - 4.0 / w * np.sin(w * s),
            lambda: 4.0 - 4.0 * np.cos(w * s),
            lambda: 4.0 * w * np.sin(w * s),
            lambda: 4.0 * w**2 * np.cos(w * s) * (s > 0.0))
    value = rise[order]()
    if order == 0:
        return np.asarray(np.where(mirrored, 1.0 - value, value))
    return np.asarray(np.where(mirrored & (order % 2 == 0), -value, value))
