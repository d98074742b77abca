"""Any recording of a robot: rosbag2, text tables or MATLAB files."""

from __future__ import annotations

from pathlib import Path

from armsense_core.errors import ArmsenseError
from armsense_core.identify.recording import Recording
from armsense_core.identify.robot_file import RobotFile
from armsense_identification.bag_reader import is_bag, read_bag
from armsense_identification.csv_reader import read_csv, TEXT


def read_recording(path: str | Path, robot: RobotFile) -> tuple[Recording, tuple[str, ...]]:
    """Joint angles and torques of a recording, and remarks on what was read."""
    path = Path(path)
    if not path.exists():
        raise ArmsenseError(f'cannot read {path}: no such file or folder')
    if is_bag(path):
        signals = read_bag(path, robot.source, robot.joints)
    elif path.suffix in TEXT or robot.source.files:
        signals = read_csv(path, robot.source, len(robot.joints))
    else:
        raise ArmsenseError(f'{path}: no recording; known are rosbag2 (.db3, .mcap) and text '
                            f'tables ({", ".join(TEXT)})')
    recording = robot.recording(signals.t, signals.position, signals.effort, signals.velocity,
                                signals.name)
    return recording, signals.notes
