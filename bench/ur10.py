"""The UR10 of PyPI's `example-robot-data`, with cylinders in place of its collision meshes.

The cylinders enclose the housings of the arm; `largest_overhang` measures how far the meshes,
where they are installed too, stick out of them.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
import re
import sys

import numpy as np

from armsense.model import Arm

PACKAGE = 'example-robot-data'
ROBOT = 'share/example-robot-data/robots/ur_description'
HOME = np.array([0.0, -1.2, 1.4, -1.2, -1.4, 0.0])    # [rad] bent elbow, clear of table and base
SELF_DISTANCE = 0.005     # [m] wrist 2 passes the forearm's end at 8 mm in every pose
ACCELERATION = 10.0       # [rad/s^2] assumed: the URDF states none

# link: (axis, radius, from, to along the axis, offset of the axis in the other two coordinates)
CYLINDERS: dict[str, list[tuple[str, float, float, float, tuple[float, float]]]] = {
    'base_link': [('z', 0.096, 0.0, 0.038, (0.0, 0.0))],
    'shoulder_link': [('z', 0.077, -0.0895, 0.089, (0.0, 0.0)),
                      ('y', 0.077, -0.02, 0.087, (0.0, 0.0))],
    'upper_arm_link': [('y', 0.077, -0.136, 0.043, (0.0, 0.0)),
                       ('z', 0.091, 0.0, 0.101, (0.0, -0.046)),
                       ('z', 0.066, 0.1, 0.612, (0.0, -0.041)),
                       ('y', 0.063, -0.106, 0.024, (0.0, 0.612))],
    'forearm_link': [('y', 0.063, -0.07, 0.068, (0.0, 0.0)),
                     ('z', 0.062, 0.0, 0.5723, (0.0, 0.0)),
                     ('y', 0.048, -0.059, 0.061, (0.0, 0.5723))],
    'wrist_1_link': [('y', 0.0465, 0.0605, 0.161, (0.0, 0.0)),
                     ('z', 0.047, -0.057, 0.062, (0.0, 0.1149))],
    'wrist_2_link': [('z', 0.0465, 0.0615, 0.163, (0.0, 0.0)),
                     ('y', 0.047, -0.058, 0.062, (0.0, 0.1157))],
    'wrist_3_link': [('y', 0.0465, 0.061, 0.0922, (0.0, 0.0))],
}
MESHES = {'base_link': 'base', 'shoulder_link': 'shoulder', 'upper_arm_link': 'upperarm',
          'forearm_link': 'forearm', 'wrist_1_link': 'wrist1', 'wrist_2_link': 'wrist2',
          'wrist_3_link': 'wrist3'}
PLACES = {'x': 0, 'y': 1, 'z': 2}
TURNS = {'y': '-1.5707963267948966 0 0', 'z': '0 0 0'}


def find_folder() -> Path | None:
    """Folder of the UR robots: $ARMSENSE_ROBOT_DATA, then the installed package; None: neither."""
    roots = [Path(p) for p in (os.environ.get('ARMSENSE_ROBOT_DATA'), sys.prefix) if p]
    spec = importlib.util.find_spec('cmeel')
    if spec is not None and spec.origin is not None:
        roots.append(Path(spec.origin).parents[1] / 'cmeel.prefix')
    for root in roots:
        for folder in (root / ROBOT, root / 'cmeel.prefix' / ROBOT):
            if (folder / 'urdf' / 'ur10_robot.urdf').is_file():
                return folder
    return None


def load(folder: Path) -> Arm:
    """The arm with cylinders as collision shapes."""
    text = (folder / 'urdf' / 'ur10_robot.urdf').read_text()
    text = re.sub(r'<(visual|collision)>.*?</\1>', '', text, flags=re.DOTALL)
    for link in CYLINDERS:
        text = text.replace(f'<link name="{link}">', f'<link name="{link}">{_shapes(link)}', 1)
    return Arm(text, tool_frame='tool0', name='ur10')


def largest_overhang(folder: Path) -> float | None:
    """How far mesh vertices stick out of the cylinders [m]; None: no meshes."""
    worst = 0.0
    for link, mesh in MESHES.items():
        path = folder / 'meshes' / 'ur10' / 'collision' / f'{mesh}.stl'
        if not path.is_file():
            return None
        worst = max(worst, float(np.min([_outside(_vertices(path), *c) for c in CYLINDERS[link]],
                                        axis=0).max()))
    return worst


def _shapes(link: str) -> str:
    text = ''
    for axis, radius, low, high, offset in CYLINDERS[link]:
        center = np.insert(np.array(offset), PLACES[axis], 0.5 * (low + high))
        xyz = ' '.join(map(str, center))
        text += (f'<collision><origin xyz="{xyz}" rpy="{TURNS[axis]}"/><geometry>'
                 f'<cylinder radius="{radius}" length="{high - low}"/></geometry></collision>')
    return text


def _outside(points: np.ndarray, axis: str, radius: float, low: float, high: float,
             offset: tuple[float, float]) -> np.ndarray:
    """Distance of points from a cylinder, 0 inside, (N,)."""
    along = points[:, PLACES[axis]]
    across = np.linalg.norm(np.delete(points, PLACES[axis], axis=1) - offset, axis=1)
    beside = np.maximum(across - radius, 0.0)
    beyond = np.maximum(np.maximum(low - along, along - high), 0.0)
    return np.hypot(beside, beyond)


def _vertices(path: Path) -> np.ndarray:
    """Corners of a binary STL file, (N, 3)."""
    record = np.dtype([('normal', '<f4', 3), ('corners', '<f4', (3, 3)), ('other', '<u2')])
    return np.frombuffer(path.read_bytes()[84:], record)['corners'].reshape(-1, 3)
