"""Which link was hit: the one that the last loaded joint moves (thesis 000, eq. 5.17).

But a link that lies along its own joint's axis, such as a forearm that turns about itself, cannot
load that joint: the contact is on the next link then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from armsense.errors import BadValue
from armsense.geometry.link_shapes import LinkCapsule
from armsense.model import Arm
from armsense.types import Array

SHORTEST_LEVER = 0.03   # [m] less is a link's own thickness


class Isolation(NamedTuple):
    """Link and direction of a contact."""

    joint: int  # that moves the link
    link: str
    loaded: int  # last joint above its threshold: the same joint or one before it
    direction: int  # sign of that joint's residual: where the environment pushes it
    margin: float  # its residual over its threshold
    runner_up: float  # the same of the next joints outward, below one; 0: there is none


def touchable(model: Arm, capsules: Sequence[LinkCapsule]) -> tuple[int, ...]:
    """For every joint the joint whose link is hit when it is the last one loaded, (n,)."""
    rest, levers = np.zeros(model.n), np.zeros(model.n)
    for capsule in capsules:
        j = model.moving_joint(capsule.link)
        for end in (capsule.start, capsule.end):
            speed = model.point_jacobian(rest, capsule.link, end)[:3, j]   # per rad/s
            levers[j] = max(levers[j], float(np.linalg.norm(speed)))
    out = list(range(model.n))
    for j in range(model.n - 2, -1, -1):
        if levers[j] < SHORTEST_LEVER:
            out[j] = out[j + 1]
    return tuple(out)


def isolate(
    model: Arm, residual: Array, threshold: Array, ratio: float = 1.0,
    links: Sequence[int] | None = None,
) -> Isolation | None:
    """The link that a residual points to; None where no joint is above its threshold.

    A force that passes through a joint's axis does not load that joint, so the contact may lie
    further out than the link named here, never further in.

    Args:
        model: The arm.
        residual: [Nm], (n,).
        threshold: [Nm], (n,).
        ratio: Share of the threshold that counts. Once a collision is certain, less than one names
            the outer link sooner, while its residual still rises.
        links: As `touchable` gives them; None: every joint stands for its own link.
    """
    if residual.shape != threshold.shape or residual.shape != (model.n,):
        raise BadValue('shapes of residual, threshold', (residual.shape, threshold.shape),
                       f'({model.n},) each')
    relative = np.abs(residual) / threshold
    loaded = np.flatnonzero(relative > ratio)
    if len(loaded) == 0:
        return None
    last = int(loaded[-1])
    joint = last if links is None else links[last]
    outer = relative[last + 1:]
    return Isolation(joint, model.link_names[joint], last, int(np.sign(residual[last])),
                     float(relative[last]), float(outer.max(initial=0.0)))
