"""Robots by name, URDF or arm file."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from armsense import share
from armsense.model import Arm, ArmConfig
from armsense.model.model_file import ModelFile
from armsense.model.ready_robot import ready_robots


def load(robot: str | Path, model: str | Path | None = None, *,
         gains: Sequence[float] | None = None, rate: float | None = None,
         package_dirs: Sequence[str | Path] = ()) -> Arm:
    """A robot: its name, a URDF or xacro file, or an arm file of your own.

    Args:
        robot: A name that `robots()` lists, or a path.
        model: An identified `model.yaml` on top of it.
        gains: Joint torque per unit of effort, one per joint, such as Nm/A; signs too.
        rate: Of its states [Hz], where it is another than the file says.
        package_dirs: Folders that hold the packages of `package://` meshes.

    Example:
        >>> armsense.load('laas4')
        <Arm laas4: 4 joints, 1000 Hz, effort motor_torque>
    """
    config = ArmConfig.load(robot)
    config = replace(config, effort_gains=tuple(gains) if gains else config.effort_gains,
                     rate=rate or config.rate,
                     package_dirs=(*map(str, package_dirs), *config.package_dirs))
    arm = Arm.load(config)
    return arm if model is None else ModelFile.read(model, arm=arm.name).apply(arm)


def robots() -> list[str]:
    """Names that `load` knows: arms of this project, and robots of others.

    Example:
        >>> 'ur10e' in armsense.robots()
        True
    """
    return [*share.arm_names(), *ready_robots()]
