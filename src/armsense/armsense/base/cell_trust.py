"""Which cells count: those that their driver trusts and that the others do not contradict."""

from __future__ import annotations

import numpy as np

from armsense.base.base_observer import BaseReading
from armsense.base.cell_check import CellChecker, CellFault
from armsense.base.cell_layout import CellLayout
from armsense.base.layout_watch import LayoutWatch
from armsense.types import Array, Flags

DECIDED = 2.0        # contrast from which a lying cell is left out
JUDGE_EVERY = 2000   # cycles between two judgements of the layout


class CellTrust:
    """Finds single cells that are wrong and layouts that are not as described."""

    def __init__(self, layout: CellLayout, checker: CellChecker, watch: LayoutWatch) -> None:
        """From what compares cells with each other and what compares them with the layout."""
        self.checker = checker
        self._watch = watch
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
        """A cell that the others contradict; exchanged cells contradict each other, too.

        Args:
            force: [N], (m,).
            usable: As `usable` said, (m,).
            reading: Of the observer.
            dt: Time since the cycle before [s].
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
