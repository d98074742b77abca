"""The last fit over all windows of a long recording, one at a time.

Only products of columns are kept, so that memory does not grow with the recording.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from armsense.errors import ArmsenseError
from armsense.identify.design import NormalEquations
from armsense.identify.regression import huber_weights
from armsense.identify.state import LEAST_NOISE, OUTLIER, State


def all_equations(state: State, progress: Callable[[float], None]) -> NormalEquations:
    """Normal equations of the chosen columns over all windows, one block.

    Args:
        state: After all choices.
        progress: Told the share that is done, 0 to 1.
    """
    data = state.data
    total = data.equations(1)
    if not data.training.unused:
        return total
    AA, Ay, yy, rows = (x.sum(axis=0, keepdims=True) for x in
                        (total.AA, total.Ay, total.yy, total.rows))
    least = LEAST_NOISE * np.sqrt(np.mean(np.square(np.concatenate(
        [c.y for c in data.columns])), axis=0))
    for k, recording in enumerate(data.training.unused):
        progress(k / len(data.training.unused))
        try:
            window = data.training.window(recording).prepare(
                data.velocity, data.motion_cutoff / data.training.cutoff)
        except ArmsenseError:
            continue         # too short behind the filter
        window = window.with_delay(data.torque_delay).with_load(
            state.theta, state.terms, state.gravity, data.drive.smoothing)
        errors = window.errors(state.theta, state.gravity, state.terms)
        weights = [np.where(rest, 0.0, huber_weights(error, *OUTLIER, least))
                   for error, rest in zip(errors, window.rest, strict=True)]
        more = window.with_weights(weights).equations(1)
        AA, Ay, yy, rows = AA + more.AA, Ay + more.Ay, yy + more.yy, rows + more.rows
    return NormalEquations(AA, Ay, yy, rows)
