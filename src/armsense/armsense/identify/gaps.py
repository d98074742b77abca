"""Holes in recordings: what lies on both sides is never joined.

A filter, a derivative or a mean period over a hole would take the straight line between its edges
for motion and fit it. So a recording is taken apart there, before anything else is done to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armsense.errors import ArmsenseError
from armsense.identify.recording import LEAST_SAMPLES, Recording

GAP = 0.04               # [s] without a sample: longer than jitter, and
GAP_PERIODS = 4.0        # median periods at least
LEAST_PART = 1.2         # [s] between two gaps: filters settle at both ends of a part


class Parts(NamedTuple):
    """A recording without its gaps."""

    recordings: list[Recording]
    lost: float               # [s] of the recording that none of them holds
    notes: tuple[str, ...]    # what was done in words; empty: the recording is whole


def split_at_gaps(recording: Recording) -> Parts:
    """The stretches of a recording that were sampled without a gap.

    Raises:
        ArmsenseError: None of them is long enough.
    """
    steps = np.diff(recording.t)
    period = float(np.median(steps[steps > 0.0]))
    gaps = np.flatnonzero(steps > max(GAP, GAP_PERIODS * period)) + 1
    if not len(gaps):
        return Parts([recording], 0.0, ())
    edges = [0, *gaps.tolist(), len(recording.t)]
    least = LEAST_PART / period
    parts = [recording.rows(first, last)
             for first, last in zip(edges[:-1], edges[1:], strict=True)
             if last - first > max(least, 1.2 * LEAST_SAMPLES)]
    if not parts:
        raise ArmsenseError(
            f'{recording.name}: {len(gaps)} gaps of up to {steps.max():.2g} s leave no stretch of '
            f'{max(LEAST_PART, 1.2 * LEAST_SAMPLES * period):.2g} s; record without pauses')
    whole = float(recording.t[-1] - recording.t[0])
    lost = whole - sum(float(part.t[-1] - part.t[0]) for part in parts)
    return Parts(parts, lost, (
        f'{recording.name}: {lost:.2f} s of {whole:.2f} s are lost in {len(gaps)} '
        f'gap{"s" if len(gaps) > 1 else ""} of up to {steps.max():.2g} s and in stretches that '
        f'are too short; {len(parts)} parts are used',))
