"""Configuration of MoveIt against the arms that it is for."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
from public_names import ROOT
import pytest
import rclpy
from self_collisions import disabled, Shapes
import yaml

from armsense.model import Arm

FOLDER = ROOT / 'config' / 'moveit'
ARMS = ('laas4', 'seven')
LAUNCH = ElementTree.parse(ROOT / 'launch' / 'moveit.launch.xml').getroot()


def parameters(*names: str) -> dict:
    return yaml.safe_load(FOLDER.joinpath(*names).read_text())['/**']['ros__parameters']


def srdf(arm: str) -> ElementTree.Element:
    return ElementTree.parse(FOLDER / arm / f'{arm}.srdf').getroot()


def pairs_of(robot: ElementTree.Element) -> dict[tuple[str, str], str]:
    return {(pair.get('link1'), pair.get('link2')): pair.get('reason')
            for pair in robot.findall('disable_collisions')}


def controller(arm: str, kind: str) -> tuple[str, dict]:
    """Name of the only controller, and what is said of it."""
    block = parameters(arm, f'moveit_controllers_{kind}.yaml')['moveit_simple_controller_manager']
    name, = block['controller_names']
    return name, block[name]


def choices(name: str) -> list[str]:
    return [choice.get('value') for choice in LAUNCH.find(f"arg[@name='{name}']")]


@pytest.mark.parametrize('arm', ARMS)
def test_the_group_is_the_arm_and_its_state_the_home_position(arm):
    model, robot = Arm.load(arm), srdf(arm)
    urdf = ElementTree.fromstring(model.urdf)
    assert robot.get('name') == urdf.get('name')
    parent = {joint.find('child').get('link'): joint for joint in urdf.findall('joint')}
    chain = robot.find("group[@name='arm']/chain")
    link, joints = chain.get('tip_link'), []
    assert link == model.config.tool_frame
    while link != chain.get('base_link'):
        joints.insert(0, parent[link].get('name'))
        link = parent[link].find('parent').get('link')
    assert link not in parent                                     # the root
    assert tuple(name for name in joints if name in model.joint_names) == model.joint_names
    home = {joint.get('name'): float(joint.get('value'))
            for joint in robot.findall("group_state[@group='arm']/joint")}
    assert home == dict(zip(model.joint_names, model.config.home, strict=True))


@pytest.mark.parametrize('arm', ARMS)
def test_pairs_without_a_check_are_those_that_cannot_touch_or_always_do(arm):
    assert pairs_of(srdf(arm)) == disabled(Arm.load(arm), seed=7)   # not the seed of the file


def test_a_search_finds_what_samples_miss():
    # No random position of seven, not of ten thousand either, brings link6 to the base.
    model = Arm.load('seven')
    shapes, rng = Shapes(model), np.random.default_rng(3)
    k = shapes.pairs.index(('base_link', 'link6'))
    samples = rng.uniform(shapes.low, shapes.high, (1000, model.n))
    distances = np.array([shapes.distances(q)[k] for q in samples])
    assert distances.min() > 0.0
    assert shapes.nearest(k, samples[np.argsort(distances)[:4]], rng) < 0.0


@pytest.mark.parametrize('arm', ARMS)
def test_the_home_position_is_free_of_collisions(arm):
    model = Arm.load(arm)
    shapes = Shapes(model)
    distances = shapes.distances(np.array(model.config.home))
    checked = [k for k, pair in enumerate(shapes.pairs) if pair not in pairs_of(srdf(arm))]
    assert checked
    assert (distances[checked] > 0.0).all()


@pytest.mark.parametrize('arm', ARMS)
def test_limits_are_those_of_the_arm(arm):
    model = Arm.load(arm)
    limits = parameters(arm, 'joint_limits.yaml')['robot_description_planning']['joint_limits']
    assert tuple(limits) == model.joint_names
    for limit, velocity, joint in zip(limits.values(), model.velocity_limits,
                                      model.config.joints.values(), strict=True):
        assert limit == {'has_velocity_limits': True, 'max_velocity': velocity,
                         'has_acceleration_limits': True,
                         'max_acceleration': joint.acceleration_limit}


@pytest.mark.parametrize('arm', ARMS)
def test_fewer_than_six_joints_reach_positions_only(arm):
    solver = parameters(arm, 'kinematics.yaml')['robot_description_kinematics']['arm']
    assert solver.get('position_only_ik', False) == (Arm.load(arm).n < 6)


@pytest.mark.parametrize('arm', ARMS)
@pytest.mark.parametrize('kind', ['armsense', 'ros2_control'])
def test_trajectories_go_to_actions_that_exist(arm, kind):
    name, block = controller(arm, kind)
    assert tuple(block['joints']) == Arm.load(arm).joint_names
    action = '/'.join(filter(None, (name, block['action_ns'])))     # as MoveIt makes it
    if kind == 'armsense':
        source = ROOT / 'src/armsense_control/armsense_control/trajectory_action.py'
        assert re.search(rf"FollowJointTrajectory, '{action}'", source.read_text())
    else:
        managed = yaml.safe_load((ROOT / 'config' / 'ros2_control.yaml').read_text())
        assert f'/**/{name}' in managed
        assert block['action_ns'] == 'follow_joint_trajectory'


def test_the_launch_file_finds_its_files():
    assert choices('arm') == list(ARMS)
    sources = [param.get('from') for param in LAUNCH.iter('param') if param.get('from')]
    assert len(sources) == 5
    for arm in ARMS:
        for kind in choices('controllers'):
            for source in sources:
                path = source.replace('$(var files)/', '').replace('$(var arm)', arm)
                assert (FOLDER / path.replace('$(var controllers)', kind)).is_file(), path


@pytest.mark.parametrize('arm', ARMS)
def test_a_node_takes_the_files_as_its_parameters(arm):
    words = ['--ros-args']
    for path in (f'{arm}/kinematics.yaml', f'{arm}/joint_limits.yaml', 'ompl_planning.yaml',
                 f'{arm}/moveit_controllers_armsense.yaml', 'move_group.yaml'):
        words += ['--params-file', str(FOLDER / path)]
    context = rclpy.Context()
    rclpy.init(context=context)
    try:
        node = rclpy.create_node('move_group', context=context, cli_args=words,
                                 automatically_declare_parameters_from_overrides=True)
        value = {name: parameter.value for name, parameter
                 in node.get_parameters_by_prefix('').items()}
        node.destroy_node()
    finally:
        rclpy.shutdown(context=context)
    manager = 'moveit_simple_controller_manager'
    assert value[f'{manager}.controller_names'] == ['follow_joint_trajectory']
    assert value[f'{manager}.follow_joint_trajectory.action_ns'] == ''
    assert value['planning_pipelines'] == ['ompl']
    assert value['ompl.planner_configs.RRTConnect.range'] == 0.0
    limits = 'robot_description_planning.joint_limits'
    assert isinstance(value[f'{limits}.joint1.max_velocity'], float)   # an int is not read
