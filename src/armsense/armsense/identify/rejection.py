"""Samples that say nothing or something wrong: glitches of encoders, joints at rest.

A glitch is a sample that leaves and rejoins the motion at once; it is replaced by what lies
between its neighbours, because filters and derivatives would spread it. A joint at rest is held by
static friction, whose torque may be anything within its limits: its equation is left out while the
rest lasts, but for joints that rest most of the time.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from armsense.identify.preprocess import Motion
from armsense.identify.recording import Recording
from armsense.types import Array

GLITCH = 40.0        # typical second differences from which a sample is a glitch
LEAST_GLITCH = 1e-4  # [rad]
REST_SPEED = 1e-3    # [rad/s]
REST_TIME = 1.0      # [s]
MOST_REST = 0.7      # share of the recording


def without_glitches(recording: Recording) -> tuple[Recording, list[str]]:
    """The recording with glitches of positions and torques bridged, and what was done in words."""
    q, bad_q = _bridged(recording.q, LEAST_GLITCH)
    tau, bad_tau = _bridged(recording.tau, 1e-3 * float(np.ptp(recording.tau)))
    notes = [f'{recording.name}: {count} glitches of the {what} are bridged'
             for what, count in (('positions', bad_q), ('torques', bad_tau)) if count]
    return (replace(recording, q=q, tau=tau) if notes else recording), notes


def resting(motion: Motion) -> NDArray[np.bool_]:
    """Where a joint has stopped for long, (N, n)."""
    slow = np.abs(motion.dq) < REST_SPEED
    least = max(1, int(REST_TIME * motion.rate))
    out = np.zeros_like(slow)
    for k in range(slow.shape[1]):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], slow[:, k].astype(int), [0]])))
        for start, end in edges.reshape(-1, 2):
            out[start:end, k] = end - start >= least
        if out[:, k].mean() > MOST_REST:
            out[:, k] = False
    return out


def _bridged(x: Array, least: float) -> tuple[Array, int]:
    out, count = x, 0
    for k, column in enumerate(x.T):
        bend = np.zeros(len(column))
        bend[1:-1] = column[1:-1] - 0.5 * (column[2:] + column[:-2])
        typical = np.quantile(np.abs(bend), 0.9)
        bad = np.abs(bend) > max(GLITCH * typical, least)
        # Neighbours of a glitch bend half as much to the other side: only the peak is bad.
        bad[1:-1] &= (np.abs(bend[1:-1]) >= np.abs(bend[2:])) & (
            np.abs(bend[1:-1]) >= np.abs(bend[:-2]))
        bad[1:-1] &= (bend[1:-1] * bend[2:] < 0.0) & (bend[1:-1] * bend[:-2] < 0.0)
        if bad.any():
            out = out.copy() if out is x else out
            good = np.flatnonzero(~bad)
            out[bad, k] = np.interp(np.flatnonzero(bad), good, column[good])
            count += int(bad.sum())
    return out, count
