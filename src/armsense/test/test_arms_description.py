"""What every arm's URDF and yaml must have in common."""

from __future__ import annotations

import functools
from pathlib import Path
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from armsense.errors import ArmsenseError
from armsense.model import Arm, ArmConfig
from armsense.model.description_places import find_description
from armsense.model.robot_description import load_description

ARMS = ('biorob', 'crs_a255', 'crs_a465', 'laas4', 'seven', 'tudor', 'zeego')
PLUGINS = {'gazebo': 'gz_ros2_control/GazeboSimSystem',
           'mock': 'mock_components/GenericSystem',
           'topic': 'joint_state_topic_hardware_interface/JointStateTopicSystem'}


@functools.cache
def description(arm: str, **arguments: str) -> ElementTree.Element:
    return ElementTree.fromstring(load_description(path_of(arm), arguments))


@functools.cache
def load(arm: str) -> Arm:
    return Arm.load(arm)


def path_of(arm: str) -> Path:
    config = ArmConfig.load(arm)
    return find_description(config.urdf, config.folder)


@pytest.mark.parametrize('arm', ARMS)
def test_names(arm):
    root, config = description(arm), ArmConfig.load(arm)
    n = config.n
    assert root.get('name') == config.arm == arm
    assert config.joint_names == tuple(f'joint{k + 1}' for k in range(n))
    assert [joint.get('name') for joint in root.findall('joint')] == [*config.joint_names,
                                                                      'tool_joint']
    assert [link.get('name') for link in root.findall('link')] == [
        'base_link', *(f'link{k + 1}' for k in range(n)), 'tool']


@pytest.mark.parametrize('arm', ARMS)
def test_every_body_can_be_seen_and_touched(arm):
    for link in description(arm).findall('link'):
        if link.get('name') != 'tool':
            seen, touched = (shapes(link, kind) for kind in ('visual', 'collision'))
            assert seen
            assert seen == touched


def shapes(link: ElementTree.Element, kind: str) -> list[bytes]:
    return [ElementTree.tostring(shape.find(part)).strip()
            for shape in link.findall(kind) for part in ('geometry', 'origin')]


@pytest.mark.parametrize('arm', ARMS)
def test_every_inertia_is_that_of_a_body(arm):
    # A density over space has a positive definite second moment, which also gives the triangle
    # inequality of the principal moments.
    for link in description(arm).findall('link'):
        inertial = link.find('inertial')
        if inertial is None:
            continue
        i = {key: float(value) for key, value in inertial.find('inertia').items()}
        tensor = np.array([[i['ixx'], i['ixy'], i['ixz']], [i['ixy'], i['iyy'], i['iyz']],
                           [i['ixz'], i['iyz'], i['izz']]])
        second = 0.5 * np.trace(tensor) * np.eye(3) - tensor
        assert np.linalg.eigvalsh(second).min() > 0.0, link.get('name')
        assert float(inertial.find('mass').get('value')) > 0.0


@pytest.mark.parametrize('arm', ARMS)
def test_limits_suit_home_and_motors(arm):
    model = load(arm)
    low, high = model.position_limits
    assert (low < model.config.home).all()
    assert (high > np.array(model.config.home)).all()
    torque = np.array([joint.torque_limit for joint in model.config.joints.values()])
    assert (model.effort_limits <= torque).all()
    assert (model.effort_limits > 0.7 * torque).all()
    rng = np.random.default_rng(0)
    gravity = np.abs([model.gravity_torque(q) for q in rng.uniform(low, high, (500, model.n))])
    assert (gravity.max(axis=0) < 0.9 * model.effort_limits).all()
    peak = np.array([joint.peak_velocity for joint in model.config.joints.values()])
    assert (model.velocity_limits < peak).all()


@pytest.mark.parametrize('arm', ARMS)
def test_boards_can_count_the_motor_turns(arm):
    # The position field of a board spans +-128 turns of the motor, a current field 31.9 A.
    model = load(arm)
    reach = np.abs(model.position_limits).max(axis=0)
    for joint, angle in zip(model.config.joints.values(), reach, strict=True):
        assert angle / (2 * np.pi) * joint.gear_ratio < 128
        assert joint.current_limit < 31.9
    slots = [(joint.slot.board, joint.slot.motor) for joint in model.config.joints.values()]
    assert len(set(slots)) == model.n
    assert max(slots)[0] < len(model.config.boards.spi_devices)


@pytest.mark.parametrize('arm', ARMS)
def test_no_ros2_control_by_default(arm):
    assert description(arm).find('ros2_control') is None


@pytest.mark.parametrize('hardware', PLUGINS)
@pytest.mark.parametrize('arm', ARMS)
def test_ros2_control(arm, hardware):
    config, model = load(arm).config, load(arm)
    system = description(arm, hardware=hardware).find('ros2_control')
    assert system.get('type') == 'system'
    assert system.find('hardware/plugin').text == PLUGINS[hardware]
    joints = system.findall('joint')
    assert [joint.get('name') for joint in joints] == list(config.joint_names)
    low, high = model.position_limits
    for k, joint in enumerate(joints):
        commands = {c.get('name'): [float(p.text) for p in c] for c in joint.findall(
            'command_interface')}
        v, e = model.velocity_limits[k], model.effort_limits[k]
        assert commands == {'position': [low[k], high[k]], 'velocity': [-v, v], 'effort': [-e, e]}
        states = joint.findall('state_interface')
        assert [s.get('name') for s in states] == ['position', 'velocity', 'effort']
        assert float(states[0].find('param').text) == config.home[k]


def test_topic_plugin_sends_every_command():
    parameters = {p.get('name'): p.text for p in description(
        'laas4', hardware='topic').findall('ros2_control/hardware/param')}
    assert parameters == {'joint_states_topic': 'hardware/joint_states',
                          'joint_commands_topic': 'hardware/joint_commands',
                          'trigger_joint_command_threshold': '-1'}


def test_gazebo_holds_the_base_and_starts_the_controllers():
    root = description('laas4', hardware='gazebo', controllers='/some/controllers.yaml')
    ends = {joint.get('name'): (joint.find('parent').get('link'), joint.find('child').get('link'))
            for joint in root.findall('joint')}
    assert ends['world_joint'] == ('world', 'stand')
    assert ends['base_joint'] == ('stand', 'base_link')     # with the sensor
    assert root.find('gazebo/plugin/parameters').text == '/some/controllers.yaml'
    assert root.find('link[@name="base_link"]/inertial') is not None   # else Gazebo drops the arm


@pytest.mark.parametrize('arm', ARMS)
def test_unknown_hardware(arm):
    with pytest.raises(ArmsenseError, match="unknown hardware 'gazbo'; known: none, gazebo, mock, "
                                            'topic'):
        description(arm, hardware='gazbo')
