"""Ripple lines of an identified model: found in its training error, kept where they help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from armsense.identify.identified_model import IdentifiedModel, Ripple
from armsense.identify.recording import Recording
from armsense.identify.ripple import find_waves, Line, ripple_columns, WAVES
from armsense.types import Array

LINES = 3           # per torque at most
LEAST_SHARE = 0.01  # of the error's variance, on unseen blocks
ORDERS = 2          # of speed in the amplitude at most
BLOCKS = 4


def fit_ripples(model: IdentifiedModel, recordings: Sequence[Recording]) -> tuple[Ripple, ...]:
    """Ripple of each joint with its own angle and its neighbours', judged on unseen blocks."""
    predictions = [model.predict(recording) for recording in recordings]
    q = np.concatenate([recording.q for recording in recordings])
    dq = np.concatenate([p.speed for p in predictions])
    error = np.concatenate([p.measured - p.predicted for p in predictions])
    # Even at full speed the samples must show both halves of a wave, with a margin of two.
    rate = min(recording.rate for recording in recordings)
    top = np.minimum(0.5 * np.pi * rate / (np.abs(dq).max(axis=0) + 1e-9), WAVES[1])
    ripples: list[Ripple] = []
    for joint in np.flatnonzero(top > 2.0 * WAVES[0]).tolist():
        for _ in range(LINES):
            waves = find_waves(q[:, joint], error[:, joint], (WAVES[0], top[joint]))[0]
            if not _add(ripples, Line(joint, joint, waves), q, dq, error):
                break
    for line in [ripple.line for ripple in ripples]:   # a shaken joint shakes the others
        for joint in set(range(q.shape[1])) - {line.torque}:
            _add(ripples, Line(joint, line.source, line.waves), q, dq, error)
    return tuple(ripples)


def _add(ripples: list[Ripple], line: Line, q: Array, dq: Array, error: Array) -> bool:
    """Take a line into the list and out of the errors, if it explains unseen ones."""
    columns = ripple_columns(q, dq, replace(line, orders=ORDERS))
    left = error[:, line.torque]
    gains = _gains(columns, left)
    if max(gains) < LEAST_SHARE:
        return False
    orders = int(np.argmax(gains))
    columns = columns[:, :2 * (orders + 1)]
    coefficients = np.asarray(np.linalg.solve(columns.T @ columns, columns.T @ left), float)
    ripples.append(Ripple(replace(line, orders=orders), coefficients))
    error[:, line.torque] = left - columns @ coefficients
    return True


def _gains(columns: Array, error: Array) -> list[float]:
    """Share of the variance that the columns explain on unseen blocks, by orders of speed."""
    blocks = np.array_split(np.arange(len(error)), BLOCKS)
    AA = np.array([columns[b].T @ columns[b] for b in blocks])
    Ay = np.array([columns[b].T @ error[b] for b in blocks])
    power = max(float(error @ error), 1e-300)
    gains = []
    for orders in range(ORDERS + 1):
        k = slice(0, 2 * (orders + 1))
        gain = 0.0
        for A, y in zip(AA, Ay, strict=True):
            rest = (AA.sum(axis=0) - A)[k, k]
            x = np.linalg.lstsq(rest, (Ay.sum(axis=0) - y)[k], rcond=None)[0]
            gain += float(2.0 * x @ y[k] - x @ A[k, k] @ x)
        gains.append(gain / power)
    return gains
