"""Whether the cells are where the layout says, judged while the arm moves.

Cells are exchanged while somebody wires them, not at work: a layout that has once been seen to be
the right one stays so. Later misfits are contacts.
"""

from __future__ import annotations

from collections import deque
import math

import numpy as np

from armsense.base.cell_check import check_layout, GOOD_FIT, LayoutReport
from armsense.base.cell_layout import CellLayout
from armsense.types import Array

EVERY = 20          # cycles between two samples
SAMPLES = 500       # kept
FEWEST = 50         # for a judgement
LEAST_CHANGE = 20   # of the prediction, in standard deviations of the felt wrench


class LayoutWatch:
    """Collects cell forces and predictions."""

    def __init__(self, layout: CellLayout, noise: float, gain: float) -> None:
        """For a layout; noise [N] of a cell, gain [1/s] of the low pass of the prediction."""
        self.layout = layout
        self._change = LEAST_CHANGE * np.sqrt(np.diag(layout.covariance(noise)))
        self._gain = gain
        self._forces: deque[Array] = deque(maxlen=SAMPLES)
        self._predicted: deque[Array] = deque(maxlen=SAMPLES)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
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
