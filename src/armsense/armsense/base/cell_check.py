"""Cells that are wrong, and cells that are not where the layout says.

More cells than felt axes check each other: under a rigid base the forces are  f = E c + b  with
the sharing E, the felt wrench c and a constant bias b, so combinations N with N E = 0 stay
constant whatever the arm does and whoever touches it. A change there is never a collision: a cell
is wrong. Which one, the predicted wrench tells.

Whether the cells are where the layout says is judged while the arm moves. Cells are exchanged
while somebody wires them, not at work: a layout that has once been seen to be the right one stays
so. Later misfits are contacts.
"""

from collections import deque
import itertools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from armsense.base.base_observer import BaseReading
from armsense.base.cell_layout import CellLayout
from armsense.errors import ArmsenseError, BadValue
from armsense.types import Array, Flags

MOST_CELLS = 6         # up to which all orders are tried
GOOD_FIT = 0.9         # share of the predicted change that a right layout explains
CLEARLY_BETTER = 0.2   # by which another order must explain more
DECISIVE = 10.0        # times as much that all other orders leave unexplained
KEPT = 0.75            # share of the samples that are judged; the others may be contacts
EVERY = 20             # cycles between two samples of the layout
SAMPLES = 500          # kept
FEWEST = 50            # for a judgement
LEAST_CHANGE = 20      # of the prediction, in standard deviations of the felt wrench
JUDGE_EVERY = 2000     # cycles between two judgements of the layout
DECIDED = 2.0          # contrast from which a wrong cell is left out


class CellFault(NamedTuple):
    """A cell whose reading the others contradict."""

    cell: int         # index of the most likely one
    error: float      # [N] reading minus what it should be
    contrast: float   # misfit with the next best cell over the misfit with this one; 1: undecided


class CellChecker:
    """Compares the cells with each other, sample by sample."""

    def __init__(self, layout: CellLayout, noise: float, *, window: float = 0.05,
                 period: float = 1e-3, factor: float = 8.0, tolerance: float = 0.0) -> None:
        """Judge the mean over a window [s], for cells with a standard deviation `noise` [N].

        So many (`factor`) deviations of that mean count as a fault, and a tolerance [N] for
        sharing that differs a little from the layout's.
        """
        if not (noise > 0.0 and window > 0.0 and period > 0.0):
            raise BadValue('noise, window, period', (noise, window, period), '> 0')
        self.layout = layout
        self._parity = linalg.null_space(layout.spread.T).T            # N, (m - k, m)
        self._share = -math.expm1(-period / window)
        self.limit = tolerance + factor * noise * math.sqrt(self._share / (2.0 - self._share))
        self.bias = np.zeros(layout.cells)                              # [N], (m,)
        self.reset()

    @property
    def redundant(self) -> bool:
        """Whether there are more cells than felt axes."""
        return len(self._parity) > 0

    def reset(self) -> None:
        """Forget the mean: sound until shown otherwise."""
        self._mean = np.zeros(self.layout.cells)

    def learn_bias(self, forces: ArrayLike) -> Array:
        """Take the constant part of the parities of a sound run (N, m) as bias [N], (m,)."""
        parity = np.asarray(forces, float).reshape(-1, self.layout.cells) @ self._parity.T
        self.bias = np.asarray(self._parity.T @ parity.mean(axis=0))
        self.reset()
        return self.bias

    def step(self, force: Array, felt: Array | None = None) -> CellFault | None:
        """One sample of forces [N], (m,).

        The predicted felt wrench with its offset, (k,), tells which cell it is; None: the one that
        agrees best with the parities alone.
        """
        expected = self.bias if felt is None else self.layout.spread @ felt + self.bias
        gap = force - expected
        if not math.isfinite(sum(gap.tolist())):
            return None
        self._mean = self._mean + self._share * (gap - self._mean)
        if not self.redundant or np.abs(self._parity @ self._mean).max() < self.limit:
            return None
        return self._blame(self._mean, known=felt is not None)

    def _blame(self, gap: Array, known: bool) -> CellFault:
        """The single cell that explains the gap best, by least squares."""
        A = np.eye(len(gap)) if known else self._parity
        b = A @ gap
        size = np.square(A).sum(axis=0)
        error = A.T @ b / np.maximum(size, 1e-12)
        misfit = b @ b - np.square(error) * size
        order = np.argsort(misfit)
        cell = int(order[0])
        floor = self.limit**2
        contrast = (misfit[order[1]] + floor) / (misfit[cell] + floor)
        return CellFault(cell, float(error[cell]), float(contrast))


class LayoutReport(NamedTuple):
    """Whether the order of the cells fits what the arm's motion must feel like."""

    fits: bool
    explained: float             # share of the predicted change that is measured
    order: tuple[int, ...]       # best order: cell k of the layout is read as channel order[k]
    best: float                  # share that this order explains
    runner_up: float             # largest share that any other than the layout's order explains
    message: str                 # for people

    @property
    def settled(self) -> bool:
        """The layout fits, and the motion has shown that no other order would."""
        return (self.explained >= GOOD_FIT
                and 1.0 - self.runner_up > DECISIVE * (1.0 - self.explained))


def check_layout(layout: CellLayout, forces: Array, predicted: Array) -> LayoutReport:
    """Compare a motion, most of it without contact, with all orders of the cells.

    Forces as read [N], (N, m), and the felt wrench that the joints predict [N, Nm], (N, k).
    """
    f, c = forces - np.median(forces, axis=0), predicted - np.median(predicted, axis=0)
    scale = c.std(axis=0)
    if scale.max(initial=0.0) < 1e-9:
        raise ArmsenseError('the layout cannot be checked while the arm does not move')
    # Axes that hardly change say nothing about the order.
    use = scale > 0.05 * scale.max()
    expected = c[:, use] / scale[use]                             # (N, k)
    collect = layout.collect[use] / scale[use, None]              # (k, m)
    own = tuple(range(layout.cells))
    orders = (list(itertools.permutations(own)) if layout.cells <= MOST_CELLS else _swaps(own))
    misfit = {order: _misfit(f, expected, collect, order) for order in orders}
    free = _free_samples(min(misfit.values(), key=lambda m: m[_free_samples(m)].sum()))
    power = np.square(expected[free]).sum()
    shares = {order: float(1.0 - misfit[order][free].sum() / power) for order in orders}
    now = shares.pop(own)
    other = max(shares, key=lambda order: shares[order])
    best, top = (own, now) if now >= shares[other] else (other, shares[other])
    if now >= GOOD_FIT or (now >= top - CLEARLY_BETTER and now > 0.5):
        return LayoutReport(True, now, own, now, shares[other], 'the layout fits')
    return LayoutReport(False, now, best, top, shares[other], _describe(own, best, now, top))


def _misfit(forces: Array, expected: Array, collect: Array, order: tuple[int, ...]) -> Array:
    """Squares of what is left unexplained, (N,), with the cells in an order."""
    C = np.empty_like(collect)
    C[:, list(order)] = collect
    squares: Array = np.square(forces @ C.T - expected).sum(axis=1)
    return squares


def _free_samples(misfit: Array) -> NDArray[np.intp]:
    """Indices of those that fit best: contacts fit no order."""
    kept = math.ceil(KEPT * len(misfit))
    return np.argpartition(misfit, kept - 1)[:kept]


def _swaps(own: tuple[int, ...]) -> list[tuple[int, ...]]:
    orders = [own]
    for a, b in itertools.combinations(own, 2):
        order = list(own)
        order[a], order[b] = b, a
        orders.append(tuple(order))
    return orders


def _describe(own: tuple[int, ...], best: tuple[int, ...], now: float, top: float) -> str:
    wrong = [k + 1 for k in own if best[k] != k]
    if top < GOOD_FIT - CLEARLY_BETTER or not wrong:
        return (f'no order of the cells fits (at best {100 * max(top, 0.0):.0f} % explained): '
                'check positions, gains and signs of the cells, and the arm')
    if len(wrong) == 2:
        return f'load cells {wrong[0]} and {wrong[1]} are exchanged'
    order = ', '.join(str(k + 1) for k in best)
    return f'the cells are connected in another order: {order}'


class LayoutWatch:
    """Collects cell forces and predictions, and compares them."""

    def __init__(self, layout: CellLayout, noise: float, gain: float) -> None:
        """For a layout; noise [N] of a cell, gain [1/s] of the low pass of the prediction."""
        self.layout = layout
        self._change = LEAST_CHANGE * np.sqrt(np.diag(layout.covariance(noise)))
        self._gain = gain
        self._forces: deque[Array] = deque(maxlen=SAMPLES)
        self._predicted: deque[Array] = deque(maxlen=SAMPLES)
        self.reset()

    def reset(self) -> None:
        self._forces.clear()
        self._predicted.clear()
        self._low: Array | None = None
        self._cycle = 0
        self.settled = False   # the layout was seen to be right

    def step(self, force: Array, predicted: Array, dt: float) -> None:
        """Note a cycle: forces [N], (m,), and the predicted felt wrench, (k,)."""
        share = -math.expm1(-self._gain * dt)
        self._low = force if self._low is None else self._low + share * (force - self._low)
        self._cycle += 1
        if self._cycle % EVERY == 0:
            self._forces.append(self._low)
            self._predicted.append(predicted)

    @property
    def too_short(self) -> bool:
        """Whether it is too early for a judgement."""
        return len(self._forces) < FEWEST

    def judge(self) -> LayoutReport | None:
        """What the motion so far says; None: it is too little, or all has been said."""
        if self.too_short or self.settled:
            return None
        predicted = np.array(self._predicted)
        if (predicted.std(axis=0) > self._change).sum() < 2:
            return None
        report = check_layout(self.layout, np.array(self._forces), predicted)
        self.settled = report.settled
        # A contact changes the forces, too, but no exchange of cells would explain it.
        certain = report.best >= GOOD_FIT or len(self._forces) == SAMPLES
        return report if report.fits or certain else None


class CellTrust:
    """Which cells count: those that their driver trusts and that the others do not contradict."""

    def __init__(self, layout: CellLayout, noise: float, gain: float, period: float,
                 tolerance: float) -> None:
        """As `CellChecker` and `LayoutWatch`, which compare cells with each other and layout."""
        self.checker = CellChecker(layout, noise, period=period, tolerance=tolerance)
        self._watch = LayoutWatch(layout, noise, gain)
        self._failed: Flags = np.zeros(layout.cells, bool)
        self._cycle = 0
        self.layout_problem = ''   # cells that are not where the layout says; '' where all are

    @property
    def failed(self) -> tuple[int, ...]:
        """Cells that were found to be wrong, from 1."""
        return tuple(int(k) + 1 for k in np.flatnonzero(self._failed))

    def usable(self, force: Array, valid: Flags) -> Flags:
        """Cells to work with, (m,), of forces [N] and of what their driver says, (m,) each."""
        return valid & ~self._failed & np.isfinite(force)

    def reset(self) -> None:
        """Give all cells another chance."""
        self._failed[:] = False
        self.checker.reset()
        self._watch.reset()
        self.layout_problem = ''

    def step(self, force: Array, usable: Flags, reading: BaseReading,
             dt: float) -> CellFault | None:
        """A cell that the others contradict, in a cycle of `dt` [s]; forces [N], (m,).

        Exchanged cells contradict each other, too.
        """
        self._cycle += 1
        if not usable.all():
            return None
        if reading.valid:
            self._watch.step(force, reading.predicted, dt)
        fault = self.checker.step(force, reading.predicted if reading.valid else None)
        blamed = fault is not None and not self.layout_problem
        if blamed or self._cycle % JUDGE_EVERY == 0:
            report = self._watch.judge()
            if report is not None:
                self.layout_problem = '' if report.fits else report.message
        if self.layout_problem:
            return None
        if fault is None or fault.contrast < DECIDED or self._watch.too_short:
            return None
        self._failed[fault.cell] = True
        self.checker.reset()
        return fault
