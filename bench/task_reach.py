"""What laas4 reaches, from the lengths of its links alone."""

from __future__ import annotations

import numpy as np

from armsense.model import Arm
from armsense.trajectory import Clearance, Limits
from armsense.types import Array

SHOULDER = np.array([0.0, 0.0, 0.167])      # [m]
LONG, SHORT = 0.65, 0.095                   # [m] upper arm with forearm, hand
REACH = (LONG - SHORT, LONG + SHORT)        # [m] of the tool from the shoulder


def possible(place: Array, model: Arm, clearance: Clearance, rng: np.random.Generator,
             turns: int) -> bool:
    """Some joint angles bring the tool there and are free; from the lengths of the links."""
    limits, away = Limits.of(model), place - SHOULDER
    r = float(np.linalg.norm(away))
    if not REACH[0] < r < REACH[1]:
        return False
    # Angle at the shoulder between upper arm and tool; the upper arm lies on a cone.
    bend = np.arccos((LONG**2 + r**2 - SHORT**2) / (2.0 * LONG * r))
    e = away / r
    a = np.cross(e, [1.0, 0.0, 0.0] if abs(e[0]) < 0.9 else [0.0, 1.0, 0.0])
    a /= np.linalg.norm(a)
    b = np.cross(e, a)
    for turn in rng.uniform(0.0, 2.0 * np.pi, turns):
        arm = np.cos(bend) * e + np.sin(bend) * (np.cos(turn) * a + np.sin(turn) * b)
        for q in _angles(model, arm, (away - LONG * arm) / SHORT):
            if (q >= limits.lower).all() and (q <= limits.upper).all() and (
                    clearance.room(q) > 0.0):
                return True
    return False


def _angles(model: Arm, arm: Array, hand: Array) -> list[Array]:
    """Joint angles of unit vectors along upper arm and hand; checked by the arm's own tool."""
    found = []
    for q1, q2 in ((np.arctan2(arm[1], arm[0]), np.arcsin(np.clip(arm[2], -1.0, 1.0))),
                   (np.arctan2(-arm[1], -arm[0]), np.pi - np.arcsin(np.clip(arm[2], -1, 1)))):
        q = np.array([q1, q2 - 2.0 * np.pi * (q2 > np.pi), 0.0, 0.0])
        zero = model.frame_pose(q)[:3, 3] - model.frame_pose(q, 'link4')[:3, 3]
        zero /= np.linalg.norm(zero)
        across = hand - (hand @ arm) * arm
        bent = np.arctan2(-hand @ arm, np.linalg.norm(across))
        for sign in (1.0, -1.0):
            u = sign * across / max(np.linalg.norm(across), 1e-9)
            q3 = np.arctan2(np.cross(zero, u) @ arm, zero @ u)
            q4 = bent if sign > 0 else np.pi - bent
            q4 -= 2.0 * np.pi * (q4 > np.pi)
            for s3, s4 in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                trial = np.array([q[0], q[1], s3 * q3, s4 * q4])
                goal = SHOULDER + LONG * arm + SHORT * hand
                if np.linalg.norm(model.frame_pose(trial)[:3, 3] - goal) < 1e-6:
                    found.append(trial)
    return found
