"""Many starts, one optimiser, a proof: the best feasible motion of a design so far.

The starts are random motions, the least-squares guess of thesis 000, eqs. 4.40-4.42: velocities
are drawn within their limits at equidistant times, and the coefficients that come nearest to them
in the least-squares sense are taken. Each joint is then scaled to fill its limits, and all
together until torques and clearances hold as well, so that the guess is feasible.
"""

from collections.abc import Callable
from dataclasses import dataclass
import time
from typing import NamedTuple

import numpy as np

from armsense.errors import ArmsenseError
from armsense.excite.clearance_rows import ClearanceRows
from armsense.excite.constraints import Constraints
from armsense.excite.criteria import CRITERIA
from armsense.excite.families import KINDS
from armsense.excite.parametrisation import Parametrisation
from armsense.excite.problem import Problem
from armsense.excite.sqp import Iterate, Minimiser
from armsense.model import Arm
from armsense.schema import check, quantity
from armsense.trajectory.clearance import Clearance
from armsense.trajectory.limits import check_samples, Violation
from armsense.types import Array

SHRINK = 0.8
MOST_SHRINKS = 25
FILL = 0.95             # of the way to the first joint limit
SCOUTING = 12           # iterations of every start before the best one goes on
FEASIBLE = 2e-3         # worst c that the repair on the fine grid settles
MOST_GUESSES = 200      # drawn until enough of them can be made feasible
FINER = 10              # fine samples per sample of the optimiser's grid
EXACT_SHARE = 3         # of the fine samples, every so many, also with the exact shapes
SCALES = (1.0, 0.998, 0.995, 0.99, 0.98, 0.96, 0.93, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.35, 0.2, 0.1)


class Verifier:
    """Proof on a fine grid that a motion keeps its constraints, and the repair if it does not."""

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
        some = np.rint(np.linspace(0, count, -(-count // EXACT_SHARE) + 1)).astype(int)
        return self._exact.check_path(times[some], samples.q[some])

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


@dataclass(frozen=True, kw_only=True)
class DesignOptions:
    """What to design and how long to search."""

    kind: str = quantity('fourier', choices=KINDS)
    criterion: str = quantity('d_optimal', choices=tuple(CRITERIA))
    period: float | None = quantity(None, unit='s', above=0, text='None: 10 s, APRBS 40 s')
    harmonics: int = quantity(5, low=2, text='bandwidth = harmonics / period')
    seed: int = quantity(1, low=0)
    time_limit: float = quantity(19.0, unit='s', low=0, text='of all; 0: until converged')
    starts: int = quantity(4, low=1, text='guesses whose optimisation is begun')
    guesses: int = quantity(24, low=1, text='random guesses that the starts are picked from')
    iterations: int = quantity(80, low=1, text='of the best start, at most')
    two_sided: bool | None = quantity(None, text='actuator and load side; None: if elastic')

    def __post_init__(self) -> None:
        check(self)


class SearchStep(NamedTuple):
    """Told while the search runs."""

    fraction: float      # 0..1
    start: int           # number of the start, from 0
    iteration: int
    objective: float     # of the best feasible motion, what is minimised
    feasible: bool       # whether the present point is feasible
    seconds: float


class Guess(NamedTuple):
    y: Array
    objective: float


def first_guess(problem: Problem, rng: np.random.Generator) -> Guess | None:
    """One random feasible motion; None where no scale makes it one."""
    y = np.concatenate([_fit(problem, j, rng) for j in range(problem.shape.n)])
    y = _fill(problem, y)
    for _ in range(MOST_SHRINKS):
        f, worst = problem.value(y)
        if max(worst.values()) <= 0.0:
            return Guess(y, f)
        y = SHRINK * y
    return None


def _fit(problem: Problem, joint: int, rng: np.random.Generator) -> Array:
    """Free parameters of a joint nearest to random velocities, (f,)."""
    velocity = problem.constraints.limits.velocity[joint]
    free = problem.scale.shape[1]
    times = np.linspace(0.0, problem.shape.period, 2 * free + 2)[1:-1]
    wanted = rng.uniform(-velocity, velocity, len(times))
    B = problem.shape.basis(times, 1)[:, joint] @ problem.shape.free() * problem.scale[joint]
    return np.asarray(np.linalg.lstsq(B, wanted, rcond=None)[0])


def _fill(problem: Problem, y: Array) -> Array:
    """Every joint on its own scaled up or down to its limits."""
    parts = y.reshape(problem.scale.shape)
    filled = np.zeros_like(parts)
    for j, part in enumerate(parts):
        alone = np.zeros_like(parts)
        alone[j] = 100.0 * part / max(float(np.abs(part).max()), 1e-12)
        filled[j] = FILL * problem.longest_step(np.zeros(parts.size), alone.ravel()) * alone[j]
    return filled.ravel()


class Search:
    """Keeps the best feasible point of all starts."""

    def __init__(self, problem: Problem, options: DesignOptions,
                 progress: Callable[[SearchStep], None] | None, cancelled: Callable[[], bool],
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
            self._progress(SearchStep(
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
