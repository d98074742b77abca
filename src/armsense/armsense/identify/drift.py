"""Whether a model still fits the arm it was identified on.

Without contact an observer's residual is the error of the model. Its root mean square over windows
of motion is compared with what it was when the model was new; one window may hold a contact, so
that the median of several decides.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np

from armsense.errors import BadValue
from armsense.schema import quantity
from armsense.types import Array


@dataclass(frozen=True, kw_only=True)
class DriftOptions:
    """When a model counts as outdated."""

    window: float = quantity(10.0, unit='s', above=0,
                             text='of motion per judgement of the model')
    windows: int = quantity(5, low=1, text='whose median decides')
    factor: float = quantity(
        2.0, above=1, text='error over that of the new model that counts as outdated')
    least: float = quantity(0.02, unit='Nm', low=0, text='smaller errors never count')


@dataclass(frozen=True)
class Drift:
    """Present verdict."""

    outdated: bool
    error: Array        # RMS of the model's error now [Nm], (n,); NaN before the first window
    baseline: Array     # and when the model was new [Nm], (n,); NaN while it is being learned
    text: str


class DriftMonitor:
    """Fed with residuals of an arm in motion."""

    def __init__(self, joints: Sequence[str], baseline: Array | None = None,
                 options: DriftOptions | None = None) -> None:
        """The baseline is the RMS of a new model's residual [Nm], (n,); None: learned first."""
        n = len(joints)
        if baseline is not None and baseline.shape != (n,):
            raise BadValue('shape of the baseline', baseline.shape, f'({n},)')
        self._joints, self._options = tuple(joints), options or DriftOptions()
        self._baseline = baseline
        self._errors: deque[Array] = deque(maxlen=self._options.windows)
        self._squares, self._seconds = np.zeros(n), 0.0

    def step(self, residual: Array, dt: float, usable: bool = True) -> None:
        """Add a residual [Nm], (n,), `dt` [s] after the last one.

        Usable: the arm moves, the residual is valid and nothing was hit.
        """
        if not usable or not 0.0 < dt < self._options.window:
            return
        self._squares += dt * np.square(residual)
        self._seconds += dt
        if self._seconds >= self._options.window:
            self._errors.append(np.sqrt(self._squares / self._seconds))
            self._squares, self._seconds = np.zeros(len(residual)), 0.0
            if self._baseline is None and len(self._errors) == self._options.windows:
                self._baseline = self._median()
                self._errors.clear()

    def _median(self) -> Array:
        return np.asarray(np.median(np.array(self._errors), axis=0))

    def verdict(self) -> Drift:
        """What the windows so far tell."""
        nothing = np.full(len(self._joints), math.nan)
        done = f'{len(self._errors)} of {self._options.windows} windows'
        if self._baseline is None:
            return Drift(False, nothing, nothing, f'learning the error of the model: {done}')
        if len(self._errors) < self._options.windows:
            return Drift(False, nothing, self._baseline, f'watching the model: {done}')
        return judge(self._joints, self._median(), self._baseline, self._options)


def judge(joints: Sequence[str], error: Array, baseline: Array,
          options: DriftOptions | None = None) -> Drift:
    """Verdict on a model whose errors are known now and from when it was new."""
    options = options or DriftOptions()
    beyond = error > np.maximum(options.factor * baseline, options.least)
    if not beyond.any():
        return Drift(False, error, baseline, 'the model fits')
    ratio = error / np.maximum(baseline, 1e-12)
    worst = int(np.argmax(np.where(beyond, ratio, 0.0)))
    times = f'{ratio[worst]:.1f} times' if baseline[worst] > 0.0 else 'more than'
    return Drift(True, error, baseline,
                 f'the model no longer fits: {joints[worst]} is off by {error[worst]:.3g} Nm, '
                 f'{times} the {baseline[worst]:.3g} Nm of the new model; re-identify')
