"""One reader: the same motion as bag, table and archive is the same to every command."""

import json
from pathlib import Path

import numpy as np
import pytest
from robot_data import write_motion, write_robot
from rosbags.rosbag1 import Writer as Ros1Writer
from rosbags.rosbag2 import Writer
from rosbags.typesys import get_typestore, Stores

from armsense.cli import calibrate_command, replay_command
from armsense.errors import ArmsenseError
from armsense.identify.robot_file import RobotFile, SourceConfig
from armsense.model import Arm
from armsense.recordings.reader import Origin, read_recording, read_run

JOINT_STATE = 'sensor_msgs/msg/JointState'


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """A robot file and one motion as CSV, ROS 2 and ROS 1 bag and archive."""
    out = tmp_path_factory.mktemp('robot')
    write_motion(out / 'run.csv', write_robot(out), 0)
    rows = np.loadtxt(out / 'run.csv', delimiter=',', skiprows=1)
    t, q, effort = np.split(rows, [1, 5], axis=1)
    np.savez(out / 'run.npz', t=t, q=q, u=effort)
    names = Arm.load('laas4').joint_names
    write_states(out / 'run', names[::-1], t[:, 0], q[:, ::-1], effort[:, ::-1])
    write_ros1(out / 'run.bag', names, t[:, 0], q, effort)
    return out


def state(store, names, t, q, effort):
    types = store.types
    Header, Time = types['std_msgs/msg/Header'], types['builtin_interfaces/msg/Time']
    stamp = round(1e9 * (t + 100.0))
    header = dict(stamp=Time(*divmod(stamp, 10**9)), frame_id='')
    if 'seq' in Header.__dataclass_fields__:
        header['seq'] = 0
    return types[JOINT_STATE](Header(**header), list(names), np.array(q), np.zeros(0),
                              np.array(effort)), stamp


def write_states(path: Path, names, t, q, effort):
    store = get_typestore(Stores.ROS2_HUMBLE)
    with Writer(path, version=8) as writer:
        connection = writer.add_connection('/joint_states', JOINT_STATE, typestore=store)
        for row in zip(t, q, effort, strict=True):
            message, stamp = state(store, names, *row)
            writer.write(connection, stamp, store.serialize_cdr(message, JOINT_STATE))


def write_ros1(path: Path, names, t, q, effort):
    store = get_typestore(Stores.ROS1_NOETIC)
    with Ros1Writer(path) as writer:
        connection = writer.add_connection('/joint_states', JOINT_STATE, typestore=store)
        for row in zip(t, q, effort, strict=True):
            message, stamp = state(store, names, *row)
            writer.write(connection, stamp, store.serialize_ros1(message, JOINT_STATE))


def origin(folder, **source):
    robot = RobotFile.read(folder / 'robot.yaml')
    return Origin(robot.model(), SourceConfig(**source) if source else robot.source, robot)


@pytest.mark.parametrize(('name', 'columns'), [
    ('run.csv', {}), ('run', {}), ('run.bag', {}),
    ('run.npz', {'columns': {'time': ['t'], 'position': ['q'], 'effort': ['u']}})])
def test_every_kind_of_file_gives_the_same(folder, name, columns):
    expected, _ = read_recording(folder / 'run.csv', origin(folder))
    recording, _ = read_recording(folder / name, origin(folder, **columns))
    np.testing.assert_allclose(recording.t - recording.t[0], expected.t - expected.t[0], atol=1e-6)
    np.testing.assert_allclose(recording.q, expected.q, atol=1e-12)
    np.testing.assert_allclose(recording.tau, expected.tau, atol=1e-12)
    run = read_run(folder / name, origin(folder, **columns))
    np.testing.assert_allclose(run.tape.torque, expected.tau, atol=1e-12)
    assert run.rate == pytest.approx(100.0, rel=1e-3)
    assert run.tape.enabled.all()


def test_joints_of_a_robot_file_in_another_order(folder, tmp_path):
    names = Arm.load('laas4').joint_names
    text = (folder / 'robot.yaml').read_text()
    order = [2, 0, 3, 1]
    for old, new in ((', '.join(names), ', '.join(names[k] for k in order)),
                     ('q1, q2, q3, q4', ', '.join(f'q{k + 1}' for k in order)),
                     ('u1, u2, u3, u4', ', '.join(f'u{k + 1}' for k in order)),
                     ('2.0, 2.0, 2.0, 2.0', '2.0, 2.0, 2.0, 2.0')):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / 'robot.yaml').write_text(text)
    (tmp_path / 'arm.urdf').write_text((folder / 'arm.urdf').read_text())
    expected, _ = read_recording(folder / 'run.csv', origin(folder))
    recording, _ = read_recording(folder / 'run.csv', origin(tmp_path))
    np.testing.assert_array_equal(recording.q, expected.q)
    np.testing.assert_array_equal(recording.tau, expected.tau)


def states_of(path, names):
    t = 0.01 * np.arange(200)
    q = 0.3 * np.sin(np.multiply.outer(t, 1.0 + np.arange(len(names))))
    write_states(path, names, t, q, 1.0 + q)
    return path


@pytest.mark.parametrize(('names', 'text'), [
    ([f'joint{k}' for k in range(1, 8)], 'joint5, joint6, joint7 too, which laas4 does not have'),
    ([f'joint{k}' for k in range(1, 4)], "unknown joint 'joint4'"),
    ([f'panda_joint{k}' for k in range(1, 8)], "unknown joint 'joint1'")])
def test_bags_of_another_robot_are_refused(tmp_path, names, text):
    for read in (read_recording, read_run):
        with pytest.raises(ArmsenseError, match=text):
            read(states_of(tmp_path / read.__name__, names), Origin(Arm.load('laas4')))


def test_a_gripper_on_the_same_topic_is_none_of_our_business(tmp_path):
    names = ['finger_joint1', 'finger_joint2', *Arm.load('laas4').joint_names]
    recording, _ = read_recording(states_of(tmp_path / 'bag', names), Origin(Arm.load('laas4')))
    assert recording.n == 4


def motion(tmp_path, **change):
    t = 0.01 * np.arange(400)
    q = 0.5 * np.sin(np.multiply.outer(t, np.arange(1.0, 5.0)))
    arrays = {'t': t, 'q': q, 'dq': np.gradient(q, t, axis=0), 'tau': 1.0 + q} | change
    np.savez(tmp_path / 'run.npz', **arrays)
    return arrays, lambda: read_recording(tmp_path / 'run.npz', Origin(Arm.load('laas4')))


def test_units_that_cannot_be_are_named(tmp_path):
    arrays, read = motion(tmp_path)
    assert not [note for note in read()[1] if 'taken from' not in note]
    _, read = motion(tmp_path, q=np.degrees(arrays['q']), dq=np.degrees(arrays['dq']))
    with pytest.raises(ArmsenseError, match='angles in degrees'):
        read()
    _, read = motion(tmp_path, dq=np.degrees(arrays['dq']))
    with pytest.raises(ArmsenseError, match='the velocities are in degrees'):
        read()
    dq = arrays['dq'] * [1.0, -1.0, 1.0, 1.0]
    assert 'velocities of joint2 are -1 times' in motion(tmp_path, dq=dq)[1]()[1][-1]
    q = arrays['q'] + [0.0, 0.0, 9.0, 0.0]
    assert 'joint3 is beyond its limits' in ' '.join(motion(tmp_path, q=q)[1]()[1])


def test_replay_and_calibrate_read_what_identify_reads(folder, tmp_path, capsys):
    robot = str(folder / 'robot.yaml')
    for name in ('run.csv', 'run'):
        assert replay_command.main([str(folder / name), '--robot', robot, '--plot',
                                    str(tmp_path / 'x.png'), '--json']) == 0
        result = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
        assert result['states'] == 1000
        assert result['seconds'] == pytest.approx(9.99, abs=1e-3)
    assert calibrate_command.main([str(folder / 'run.csv'), '--robot', robot, '--rate', '60',
                                   '--out', str(tmp_path / 'model.yaml'), '--json']) == 0
    result = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert result['arm'] == 'mine'
    assert result['minutes'] == pytest.approx(10.0 / 60.0, abs=0.02)
