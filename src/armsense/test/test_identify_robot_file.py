from types import SimpleNamespace

import numpy as np
import pytest

from armsense.errors import ArmsenseError, BadValue, UnknownName
from armsense.identify.robot_file import RobotFile

GOOD = """
robot: two
urdf: two.urdf
joints: [a, b]
source: {columns: {time: 0, position: 1-2, effort: [i1, i2]}}
drive:
  motor_matrix: [[10, 0], [10, 20]]
  offsets: [0.0, 1.0]
  couplings: [[1, 1]]
windows:
  unit: share
  train: [[0.0, 0.5]]
  validate: [[0.5, 1.0]]
  files: {'*long*': [[0.0, 0.1]]}
gravity: auto
"""


def write(tmp_path, text):
    path = tmp_path / 'robot.yaml'
    path.write_text(text)
    return path


def test_matrix_windows_and_columns(tmp_path):
    robot = RobotFile.read(write(tmp_path, GOOD))
    assert robot.gravity is None
    assert robot.source.columns == {'time': ('0',), 'position': ('1', '2'), 'effort': ('i1', 'i2')}
    arm = SimpleNamespace(n=2, joint_names=('a', 'b'))
    np.testing.assert_allclose(robot.options(arm).axes, [[1, 0], [0, 1], [1, 1]])
    q = np.random.default_rng(0).standard_normal((100, 2))
    R = np.array([[10.0, 0.0], [10.0, 20.0]])
    motor_torque = np.random.default_rng(1).standard_normal((100, 2))
    recording = robot.recording(arm, np.arange(100.0), q @ R.T, motor_torque, None, 'x long')
    np.testing.assert_allclose(recording.q, q + [0.0, 1.0])
    # virtual work: motor torque times motor motion is joint torque times joint motion
    dq = np.array([0.3, -0.2])
    np.testing.assert_allclose(recording.tau @ dq, motor_torque @ (R @ dq))
    with pytest.raises(BadValue, match='number of samples'):
        robot.validation(recording, False)
    assert len(robot.training(recording)[0].t) == 50


def test_mistakes_are_named(tmp_path):
    with pytest.raises(UnknownName, match="did you mean 'joints'"):
        RobotFile.read(write(tmp_path, GOOD.replace('joints:', 'joint:')))
    with pytest.raises(BadValue, match='length of drive.offsets'):
        RobotFile.read(write(tmp_path, GOOD.replace('[0.0, 1.0]\n', '[0.0]\n')))
    with pytest.raises(BadValue, match='torque'):
        RobotFile.read(write(tmp_path, GOOD.replace('effort:', 'torque:')))
    robot = RobotFile.read(write(tmp_path, GOOD))
    with pytest.raises(ArmsenseError, match='two.urdf'):
        robot.model()
