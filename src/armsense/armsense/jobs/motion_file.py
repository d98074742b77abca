"""Files that `excite run` can drive: optimal excitations and friction sweeps."""

from __future__ import annotations

from pathlib import Path

from armsense import schema
from armsense.excite import Excitation
from armsense.identify.friction.sweep import FrictionSweep, KIND

MotionFile = Excitation | FrictionSweep


def read_motion(path: str | Path, arm: str | None = None) -> MotionFile:
    """Read and check; with `arm`, a file of another arm is an error."""
    if schema.read_yaml(Path(path)).get('kind') == KIND:
        return FrictionSweep.read(path, arm)
    return Excitation.read(path, arm)


def period(motion: MotionFile) -> float:
    """Duration of one period [s]."""
    return float(motion.trajectory(1).duration)
