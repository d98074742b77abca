"""Files for ROS, ros2_control and Gazebo: what can be checked where they are not installed."""

import os
from pathlib import Path
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest
import xacro
import yaml

from armsense.model import ArmConfig
from armsense.sim.dart_plant import state_period
from armsense_bringup.launch.plan import load

ROOT = Path(__file__).resolve().parents[1]
LAUNCH_FILES = sorted((ROOT / 'launch').glob('*.launch.xml'))


def arguments(path: Path) -> dict[str, list[str]]:
    """Arguments of a launch file and the values they may have; empty: any."""
    return {arg.get('name'): [choice.get('value') for choice in arg.findall('choice')]
            for arg in ElementTree.parse(path).getroot().findall('arg')}


def description(arm: str, hardware: str) -> ElementTree.Element:
    text = xacro.process_file(str(ROOT / 'urdf' / f'{arm}.urdf.xacro'),
                              mappings={'hardware': hardware, 'controllers': 'ours.yaml'}).toxml()
    return ElementTree.fromstring(text)


@pytest.mark.parametrize('path', LAUNCH_FILES, ids=lambda path: path.name)
def test_includes_of_our_own_files_give_arguments_that_exist(path):
    for include in ElementTree.parse(path).iter('include'):
        name = Path(include.get('file')).name
        if not (ROOT / 'launch' / name).exists():
            continue                                   # of another package
        known = arguments(ROOT / 'launch' / name)
        for arg in include.findall('arg'):
            value, choices = arg.get('value'), known[arg.get('name')]
            assert '$(' in value or not choices or value in choices, (arg.get('name'), value)


@pytest.mark.parametrize('path', LAUNCH_FILES, ids=lambda path: path.name)
def test_shared_files_named_in_launch_files_exist(path):
    for name in re.findall(r'armsense_bringup\)/([\w/.]+)', path.read_text()):
        if not name.endswith(('/', '.urdf.xacro')) and '.' in name:
            assert (ROOT / name).exists(), name


@pytest.mark.parametrize('path', LAUNCH_FILES, ids=lambda path: path.name)
def test_an_arm_has_one_description(path):
    root = ElementTree.parse(path).getroot()
    publishes = any(node.get('pkg') == 'robot_state_publisher' for node in root.iter('node'))
    for include in root.iter('include'):
        if publishes and include.get('file').endswith('arm.launch.xml'):
            given = {arg.get('name'): arg.get('value') for arg in include.findall('arg')}
            assert given.get('description') == 'false'
    # An argument of an included file takes a variable of the same name for its value.
    theirs = set(arguments(ROOT / 'launch' / 'arm.launch.xml'))
    assert path.name == 'arm.launch.xml' or not {
        let.get('name') for let in root.iter('let')} & theirs


def test_controllers_move_the_joints_of_the_arm():
    parameters = yaml.safe_load((ROOT / 'config' / 'ros2_control.yaml').read_text())
    types = {name: block['type'] for name, block
             in parameters['/**/controller_manager']['ros__parameters'].items()
             if isinstance(block, dict)}
    assert set(types) == {'joint_state_broadcaster', 'joint_trajectory_controller',
                          'effort_controller'}
    for arm in ('laas4', 'biorob'):
        for name in ('joint_trajectory_controller', 'effort_controller'):
            block = parameters[f'/**/{name}']['ros__parameters']
            assert tuple(block['joints']) == ArmConfig.load(arm).joint_names
    # Its default, true, would go on from the target of before a pause.
    assert parameters['/**/joint_trajectory_controller']['ros__parameters'][
        'set_last_command_interface_value_as_state_on_activation'] is False


@pytest.mark.parametrize('name', ['arm', 'gazebo', 'ros2_control'])
def test_nodes_run_without_shared_memory_where_they_stay_on_this_machine(name):
    """For LOCALHOST the variable of the transports has no effect, the profile has."""
    root = ElementTree.parse(ROOT / 'launch' / f'{name}.launch.xml').getroot()
    set_ = {(tag.get('name'), tag.get('if')): tag.get('value') for tag in root.findall('set_env')}
    assert set_['FASTDDS_BUILTIN_TRANSPORTS', None] == 'UDPv4'
    assert set_['ROS_AUTOMATIC_DISCOVERY_RANGE', '$(var localhost)'] == 'SYSTEM_DEFAULT'
    assert set_['FASTRTPS_DEFAULT_PROFILES_FILE', '$(var localhost)'].endswith('fastdds.xml')
    let, = (tag for tag in root.findall('let') if tag.get('name') == 'localhost')
    assert '$(env ROS_AUTOMATIC_DISCOVERY_RANGE SUBNET)' in let.get('value')


REACH, PROFILE = 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'FASTRTPS_DEFAULT_PROFILES_FILE'


@pytest.mark.parametrize(('given', 'reach'), [
    ({}, None), ({REACH: 'SUBNET'}, 'SUBNET'), ({REACH: 'LOCALHOST'}, 'SYSTEM_DEFAULT'),
    ({REACH: 'LOCALHOST', PROFILE: 'mine.xml'}, 'LOCALHOST'),
    # The profile means nothing to another middleware, which would be let loose on the network.
    ({REACH: 'LOCALHOST', 'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp'}, 'LOCALHOST')])
def test_only_localhost_of_fast_dds_is_replaced(given, reach):
    ours = {name: value for name, value in os.environ.items() if name not in (
        REACH, PROFILE, 'RMW_IMPLEMENTATION')}
    for node in load(ROOT / 'launch' / 'arm.launch.xml', {}, {**ours, **given}):
        assert node.environment.get(REACH) == reach
        profile = node.environment.get(PROFILE, '')
        assert profile.endswith('config/fastdds.xml') == (reach == 'SYSTEM_DEFAULT')


def test_gazebo_has_controllers_for_every_arm_that_it_offers():
    offered = arguments(ROOT / 'launch' / 'gazebo.launch.xml')['arm']
    files = (ROOT / 'config' / 'gazebo').glob('*.yaml')
    assert {path.stem for path in files} == set(offered)
    for arm in offered:
        config = ArmConfig.load(arm)
        parameters = yaml.safe_load((ROOT / 'config' / 'gazebo' / f'{arm}.yaml').read_text())
        manager = parameters['controller_manager']['ros__parameters']
        assert 1.0 / manager['update_rate'] == state_period(config.rate)
        joints = parameters['effort_controller']['ros__parameters']['joints']
        assert tuple(joints) == config.joint_names


@pytest.mark.parametrize('hardware', ['gazebo', 'topic', 'mock'])
def test_the_root_link_has_no_mass(hardware):
    robot = description('laas4', hardware)              # robot_state_publisher warns of one
    children = {joint.find('child').get('link') for joint in robot.findall('joint')}
    root, = [link for link in robot.findall('link') if link.get('name') not in children]
    assert root.find('inertial') is None


@pytest.mark.parametrize(('hardware', 'plugin'), [
    ('gazebo', 'gz_ros2_control/GazeboSimSystem'),
    ('topic', 'joint_state_topic_hardware_interface/JointStateTopicSystem')])
@pytest.mark.parametrize('arm', ['laas4', 'biorob'])
def test_the_description_has_the_interfaces_that_the_controllers_claim(arm, hardware, plugin):
    block = description(arm, hardware).find('ros2_control')
    assert block.find('hardware/plugin').text == plugin
    for joint in block.findall('joint'):
        assert {i.get('name') for i in joint.findall('command_interface')} >= {
            'position', 'effort'}
        assert {i.get('name') for i in joint.findall('state_interface')} == {
            'position', 'velocity', 'effort'}


def test_gazebo_feels_the_force_under_the_base():
    robot = description('laas4', 'gazebo')
    sensor = robot.find("gazebo[@reference='base_joint']/sensor")
    assert sensor.get('type') == 'force_torque'
    assert sensor.find('force_torque/measure_direction').text == 'child_to_parent'
    joint = robot.find("joint[@name='base_joint']")
    assert joint.get('type') == 'fixed'
    # Its system looks both links up in the model; a joint on the world itself has no sensor.
    for side in ('parent', 'child'):
        link = robot.find(f"link[@name='{joint.find(side).get('link')}']")
        assert float(link.find('inertial/mass').get('value')) > 0.0
    systems = {p.get('filename') for p in ElementTree.parse(
        ROOT / 'config' / 'worlds' / 'obstacles.sdf').iter('plugin')}
    assert 'gz-sim-forcetorque-system' in systems


def test_the_world_has_the_gravity_that_arms_believe_in():
    world = ElementTree.parse(ROOT / 'config' / 'worlds' / 'obstacles.sdf').getroot()
    assert world.find('world/gravity').text == '0 0 -9.81'     # the default of SDF is 9.8


@pytest.mark.skipif(shutil.which('check_urdf') is None, reason='liburdfdom-tools is not installed')
@pytest.mark.parametrize('arm', ['laas4', 'biorob', 'tudor'])
def test_urdfdom_reads_the_descriptions(arm, tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_bytes(ElementTree.tostring(description(arm, 'gazebo')))
    answer = subprocess.run(['check_urdf', str(path)], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
