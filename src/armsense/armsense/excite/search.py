"""Many starts, one optimiser: the best feasible motion of a design so far."""

from __future__ import annotations

from collections.abc import Callable
import time

import numpy as np

from armsense.errors import ArmsenseError
from armsense.excite.design_options import DesignOptions, Progress
from armsense.excite.first_guess import first_guess, Guess
from armsense.excite.problem import Problem
from armsense.excite.sqp import Iterate, Minimiser
from armsense.excite.verify import Verifier
from armsense.types import Array

SCOUTING = 12            # iterations of every start before the best one goes on
FEASIBLE = 2e-3          # worst c that the repair on the fine grid settles
MOST_GUESSES = 200       # drawn until enough of them can be made feasible


class Search:
    """Keeps the best feasible point of all starts."""

    def __init__(self, problem: Problem, options: DesignOptions,
                 progress: Callable[[Progress], None] | None, cancelled: Callable[[], bool],
                 begin: float, reserve: float) -> None:
        self._problem, self._options, self._reserve = problem, options, reserve
        self._progress, self._cancelled, self._begin = progress, cancelled, begin
        self._best: list[Guess] = []      # of each start, the first guess included
        self._number = 0
        self.interrupted, self.count, self.first = False, 0, np.inf

    def run(self) -> None:
        """Try all starts for some steps, then follow the best to its end."""
        rng = np.random.default_rng(self._options.seed)
        searches: list[Minimiser] = []
        try:
            for number, guess in enumerate(self._guesses(rng)):
                self._best.append(guess)
                searches.append(Minimiser(self._problem, guess.y))
                self._run(number, searches[number], SCOUTING)
            leading = min(range(len(searches)), key=lambda k: self._best[k].objective)
            self._run(leading, searches[leading], self._options.iterations)
        except KeyboardInterrupt:
            if not self._best:     # not even a first guess
                raise
            self.interrupted = True

    def _run(self, number: int, search: Minimiser, iterations: int) -> None:
        self._number = number
        search.run(min(iterations, self._options.iterations), self._accepted, self._stopped)

    def proven(self, verifier: Verifier) -> tuple[Array, float, float]:
        """Best point that holds on the fine grid: y, scale of the repair, objective."""
        found: list[tuple[float, float, Array]] = []
        for guess in sorted(self._best, key=lambda g: g.objective):
            if found and found[0][0] <= guess.objective:
                break                     # a repair only loses
            scale = verifier.repair(self._problem, guess.y)
            if scale is not None:
                y = scale * guess.y
                found.append((self._problem.value(y)[0], scale, y))
                found.sort(key=lambda item: item[0])
        if not found:
            raise ArmsenseError(f'{self._problem.model.name}: no feasible motion was found; '
                                'loosen the limits, lengthen the period or take another start '
                                'pose')
        objective, scale, y = found[0]
        return y, scale, objective

    def _guesses(self, rng: np.random.Generator) -> list[Guess]:
        """The best of the random feasible guesses."""
        found: list[Guess] = []
        try:
            for _ in range(MOST_GUESSES):
                guess = first_guess(self._problem, rng)
                if guess is not None:
                    found.append(guess)
                if len(found) >= self._options.guesses or (found and self._stopped()):
                    break
        except KeyboardInterrupt:
            if not found:
                raise
            self.interrupted = True
        if not found:
            raise ArmsenseError(f'{self._problem.model.name}: none of {MOST_GUESSES} random '
                                'motions keeps torque and clearance at any size; the start pose '
                                'is too close to a limit')
        found.sort(key=lambda g: g.objective)
        self.first = found[0].objective
        return found[:self._options.starts]

    def _accepted(self, point: Iterate) -> None:
        self.count += 1
        feasible = point.violation <= FEASIBLE
        if feasible and point.objective < self._best[self._number].objective:
            self._best[self._number] = Guess(point.y, point.objective)
        if self._progress is not None:
            self._progress(Progress(
                self._fraction(point.iteration), self._number, point.iteration,
                min(g.objective for g in self._best), feasible, time.monotonic() - self._begin))

    def _fraction(self, iteration: int) -> float:
        """Share of all iterations: every start scouts, then one goes on."""
        starts, last = self._options.starts, self._options.iterations
        scouting = min(SCOUTING, last)
        before = self._number if iteration <= scouting else starts - 1
        return (before * scouting + iteration) / ((starts - 1) * scouting + last)

    def _stopped(self) -> bool:
        limit = self._options.time_limit
        late = limit > 0.0 and time.monotonic() - self._begin > limit - self._reserve
        if late or self._cancelled():
            self.interrupted = True
        return self.interrupted
