"""Estimated contact force and point against the truth, some time after the decision."""

from __future__ import annotations

from typing import Any

import numpy as np

from armsense.detector import ContactOptions
from armsense.sim.campaign.collision import Truth
from armsense.watch import Trace
from armsense.watch.collision_monitor import CollisionMonitor

LATER = 0.02       # [s] after the decision, when the residual has settled
STEADY = 0.012     # [s] over which the true force is averaged: the memory of the residual
LASTING = 0.3      # least share of the largest force in that time, else the contact has bounced
WEAKEST = 1.0      # [N] below which there is no contact to compare with
FINE = ContactOptions()


def settled_link(monitor: CollisionMonitor, trace: Trace, number: int, link: str) -> str:
    """The link that `contact` names for an event in reading `number` that named `link`."""
    period = float(np.median(np.diff(trace.time)))
    peak = np.abs(trace.filtered[number:number + round(LATER / period) + 1]).max(axis=0)
    joint = monitor.settled_joint(peak, trace.threshold[number], monitor.model.moving_joint(link))
    return monitor.model.link_names[joint]


def check_contact(monitor: CollisionMonitor, trace: Trace, number: int,
                  truth: Truth) -> dict[str, Any]:
    """Errors of force [N] and point [m]; None where nothing could be said or compared."""
    out: dict[str, Any] = {'force_error': None, 'point_error': None, 'steady_force': None}
    period = float(np.median(np.diff(trace.time)))
    then = number + round(LATER / period)
    window = slice(then - round(STEADY / period) - truth.begin, then - truth.begin)
    if window.start < 0 or window.stop > len(truth.forces) or then >= len(trace.time):
        return out
    sizes = np.linalg.norm(truth.forces[window], axis=1)
    if sizes.min() < max(LASTING * sizes.max(), WEAKEST):
        return out
    force, point = truth.forces[window].mean(axis=0), truth.points[window.stop - 1]
    found = monitor.contact(trace.filtered[then], trace.threshold[then], trace.q[then],
                            truth.joint, FINE)
    if found is None:
        return out
    out['steady_force'] = float(np.linalg.norm(force))
    if found.force_observable:
        out['force_error'] = float(np.linalg.norm(found.force - force))
    if found.point_observable:
        out['point_error'] = float(np.linalg.norm(found.point - point))
    return out
