"""Old defects put back: a bench that does not find them proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

from armsense.control.active_law import LettingGo
from armsense.control.motion_cycle import MotionCycle
from armsense.detector import Detector


@contextmanager
def deaf_detector() -> Iterator[None]:
    """After a collision no other is reported before all joints have been quiet."""
    original = Detector.step

    def step(self: Any, residual: Any, dq: Any, dt: float, *more: Any, **options: Any) -> Any:
        found = original(self, residual, dq, dt, *more, **options)
        deaf, quiet = getattr(self, 'planted', (False, 0.0))
        if self.time <= dt:                              # it was reset
            deaf = False
        loud = (np.abs(residual) > self.options.hysteresis * self.threshold).any()
        quiet = 0.0 if loud else quiet + dt
        if deaf and quiet < self.options.release_time:
            found = None
        else:
            deaf = found is not None
        self.planted = deaf, quiet
        return found
    with mock.patch.object(Detector, 'step', step):
        yield


@contextmanager
def stubborn_reference() -> Iterator[None]:
    """After an abort, a hold or a cancel the reference stays where it was, deep in an obstacle."""
    def start_from(self: Any, state: Any) -> Any:
        self._queue.rest_from(self.reference, self.time)
        return self.reference

    def hold(self: Any, reference: Any, state: Any, command: Any, dt: float) -> Any:
        return reference
    with mock.patch.object(MotionCycle, '_start_from', start_from), \
            mock.patch.object(LettingGo, 'step', hold):
        yield


PLANTED: dict[str, tuple[Callable[[], Any], frozenset[str]]] = {
    'deaf detector': (deaf_detector, frozenset({'felt'})),
    'stubborn reference': (stubborn_reference, frozenset({'press', 'jump'})),
}
