"""Contact on purpose: what of a residual the tool's own pressing explains."""

import numpy as np

from armsense.model import Arm
from armsense.types import Array, Press

FRICTION = 0.6    # of the surface, at most: a tool that wipes is dragged


def explained_torque(model: Arm, q: Array, residual: Array, press: Press,
                     scale: Array) -> Array:
    """Part of an external torque that a force on the pressing tool may cause [Nm], (n,).

    The force pushes back against the direction of `press` with no more than its `most`, and drags
    sideways by no more than friction can. Of all such forces the one that explains most, each
    joint's torque in units of its `scale` [Nm], (n,); so a contact elsewhere, or a harder one, is
    left over.
    """
    J = model.tool_kinematics(q)[1]                              # (3, n)
    A, r = J.T / scale[:, None], residual / scale
    push = A @ -press.direction
    size = float(np.clip(push @ r / max(float(push @ push), 1e-12), 0.0, press.most))
    side = np.eye(3) - np.outer(press.direction, press.direction)
    drag = side @ np.linalg.lstsq(A @ side, r - size * push, rcond=1e-2)[0]
    drag *= min(1.0, FRICTION * size / max(float(np.linalg.norm(drag)), 1e-12))
    return np.asarray(J.T @ (drag - size * press.direction))
