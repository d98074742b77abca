"""Which link was hit: the one that the last loaded joint moves (thesis 000, eq. 5.17)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armsense_core.errors import BadValue
from armsense_core.model import ArmModel

Array = NDArray[np.float64]


class Isolation(NamedTuple):
    """Link and direction of a contact."""

    joint: int  # last joint above its threshold
    link: str  # that it moves
    direction: int  # sign of its residual: where the environment pushes the joint
    margin: float  # its residual over its threshold
    runner_up: float  # the same of the next joints outward, below one; 0: there is none


def isolate(
    model: ArmModel, residual: Array, threshold: Array, ratio: float = 1.0,
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
    """
    if residual.shape != threshold.shape or residual.shape != (model.n,):
        raise BadValue('shapes of residual, threshold', (residual.shape, threshold.shape),
                       f'({model.n},) each')
    relative = np.abs(residual) / threshold
    loaded = np.flatnonzero(relative > ratio)
    if len(loaded) == 0:
        return None
    joint = int(loaded[-1])
    outer = relative[joint + 1:]
    return Isolation(joint, model.link_names[joint], int(np.sign(residual[joint])),
                     float(relative[joint]), float(outer.max(initial=0.0)))
