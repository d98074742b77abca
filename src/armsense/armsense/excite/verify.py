"""Proof on a fine grid that a motion keeps its constraints, and the repair if it does not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armsense.errors import ArmsenseError
from armsense.excite.clearance_rows import ClearanceRows
from armsense.excite.constraints import Constraints
from armsense.excite.parametrisation import Parametrisation
from armsense.excite.problem import Problem
from armsense.model import Arm
from armsense.trajectory.clearance import Clearance
from armsense.trajectory.limits import check_samples, Violation
from armsense.types import Array, Reference

FINER = 10              # fine samples per sample of the optimiser's grid
EXACT_SHARE = 3         # of the fine samples, every so many, also with the exact shapes
SCALES = (1.0, 0.998, 0.995, 0.99, 0.98, 0.96, 0.93, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.35, 0.2, 0.1)


class Verifier:
    """Checks motions of one arm under one set of constraints."""

    def __init__(self, model: Arm, constraints: Constraints, home: Array) -> None:
        """Every motion starts at the pose home [rad], (n,), which must be free itself."""
        self._model, self._constraints = model, constraints
        self._rows = ClearanceRows(model, home, constraints)
        self._exact = Clearance(model, floor=constraints.floor,
                                self_distance=constraints.self_distance)
        self._check_home(home)

    def violations(self, shape: Parametrisation, coefficients: Array,
                   count: int) -> list[Violation]:
        """What a motion breaks on `count` + 1 instants of a period."""
        times = np.linspace(0.0, shape.period, count + 1)
        samples = shape.motion(coefficients, times)
        found = check_samples(samples, self._constraints.limits, self._model)
        if found:
            return found
        asked = {'floor': self._constraints.floor or 0.0,
                 'self-distance': self._constraints.self_distance}
        for group in self._rows.groups(samples.q)[1]:
            k, row = np.unravel_index(int(group.value.argmin()), group.value.shape)
            if group.value[k, row] < 0.0:
                kind = group.kind if group.kind in asked else 'self-distance'
                least = asked.get(group.kind, 0.0)
                found.append(Violation(kind, group.names[row], float(times[k]),
                                       float(group.value[k, row]) + least, least))
        if found:
            return found
        step = shape.period / count
        return self._exact.check(_Recorded(samples.q, step), EXACT_SHARE * step)

    def repair(self, problem: Problem, y: Array) -> float | None:
        """Largest tried scale of y that keeps everything; None: not even the smallest."""
        for scale in SCALES:
            coefficients = problem.coefficients(scale * y)
            if not self.violations(problem.shape, coefficients, FINER * len(problem.times)):
                return scale
        return None

    def _check_home(self, home: Array) -> None:
        floor, least = self._constraints.floor, self._constraints.self_distance
        height, link = self._exact.lowest_point(home)
        if floor is not None and height < floor:
            raise ArmsenseError(f'{self._model.name}: {link} is at {height:.3g} m in the start '
                                f'pose, below the floor at {floor:.3g} m; lower the floor or take '
                                'another pose')
        distance, pair = self._exact.smallest_distance(home)
        if distance < least:
            raise ArmsenseError(f'{self._model.name}: {pair} are {distance:.3g} m apart in the '
                                f'start pose, closer than {least:.3g} m; ask for less or take '
                                'another pose')


class _Recorded(NamedTuple):
    """Positions as the trajectory that `Clearance.check` takes."""

    q: Array      # [rad], (N, n)
    step: float   # [s] between them

    @property
    def duration(self) -> float:
        return (len(self.q) - 1) * self.step

    @property
    def n(self) -> int:
        return int(self.q.shape[1])

    def sample(self, t: float) -> Reference:
        return Reference.at_rest(self.q[round(t / self.step)])
