"""Signals as read from a file, before the robot file turns them into joint angles and torques."""

from __future__ import annotations

from dataclasses import dataclass, field

from armsense.types import Array


@dataclass(frozen=True)
class Signals:
    """What one recording holds; all with N rows."""

    t: Array                  # [s], (N,)
    position: Array           # (N, n)
    effort: Array             # (N, n)
    velocity: Array | None    # (N, n)
    name: str
    notes: tuple[str, ...] = field(default=())
    joint_position: Array | None = None   # link-side encoders [rad], (N, n)
    strain: Array | None = None           # of the links [1], (N, n)
