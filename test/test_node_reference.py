"""docs/nodes.md and the security policy say what the nodes do."""

from pathlib import Path
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
import rclpy
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node
from rclpy.parameter import Parameter

from bench.node_reference import (
    Interfaces,
    LIFECYCLE_PUBLISHES,
    LIFECYCLE_SERVICES,
    NODE_PUBLISHES,
    NODE_SERVICES,
    NODE_SUBSCRIBES,
    policy,
)

ROOT = Path(__file__).resolve().parents[1]
NOTHING = Interfaces((), (), (), (), (), ())


def allowed(text: str) -> dict[str, dict[str, set[str]]]:
    """Names by node and by permission, such as `services reply`."""
    nodes: dict[str, dict[str, set[str]]] = {}
    for profile in ElementTree.fromstring(text).iter('profile'):
        rules = nodes.setdefault(profile.get('node', ''), {})
        for block in profile:
            permission, = block.attrib
            rules[f'{block.tag} {permission}'] = {element.text or '' for element in block}
    return nodes


@pytest.mark.timeout(900)    # six arms, one after the other
def test_the_reference_matches_the_running_nodes():
    answer = subprocess.run([sys.executable, '-m', 'bench.node_reference', '--check'],
                            capture_output=True, text=True, timeout=880, cwd=ROOT)
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize(('kind', 'replies', 'publishes'), [
    (Node, NODE_SERVICES, NODE_PUBLISHES),
    (LifecycleNode, (*NODE_SERVICES, *LIFECYCLE_SERVICES),
     (*NODE_PUBLISHES, *LIFECYCLE_PUBLISHES))])
def test_the_policy_allows_what_ros_adds_to_a_node(kind, replies, publishes):
    context = rclpy.Context()
    rclpy.init(context=context)
    node = kind('probe', context=context,
                parameter_overrides=[Parameter('use_sim_time', value=True)])
    try:
        def names(pairs):
            return {name.replace('/probe/', '~/') for name, _ in pairs}

        own = ('probe', '/')
        assert names(node.get_service_names_and_types_by_node(*own)) == set(replies)
        assert names(node.get_publisher_names_and_types_by_node(*own)) == set(publishes)
        heard = names(node.get_subscriber_names_and_types_by_node(*own))
        assert {'/clock'} <= heard <= set(NODE_SUBSCRIBES)
    finally:
        node.destroy_node()
        context.try_shutdown()


def test_the_policy_follows_the_names_that_launch_files_give():
    rules = allowed((ROOT / 'config/security/policy.xml').read_text())
    # A force-torque sensor takes the place of the load cells under their name.
    assert 'base/force_torque' in rules['load_cells']['topics subscribe']
    # The page talks to whatever drives and controls the arm.
    for driver in ('motor_board', 'ros2_control_bridge'):
        assert f'{driver}/enable' in rules['web_monitor']['services request']
    for name in ('dynamic_controller', 'joint_space_controller', 'joint_command_controller'):
        assert f'{name}/hold' in rules['web_monitor']['services request']


def test_the_policy_lets_every_node_start():
    # Without these a node of ROS does not come up where the policy is enforced.
    for name, rules in allowed((ROOT / 'config/security/policy.xml').read_text()).items():
        assert {'/rosout', '/parameter_events'} <= rules['topics publish'], name
        assert {'/clock', '/parameter_events'} <= rules['topics subscribe'], name
        assert {'~/get_parameters', '~/get_type_description'} <= rules['services reply'], name


def test_only_lifecycle_nodes_may_have_a_lifecycle():
    rules = allowed(policy({'motor_board': NOTHING, 'recorder': NOTHING}))
    assert '~/change_state' in rules['motor_board']['services reply']
    assert '~/transition_event' in rules['motor_board']['topics publish']
    assert '~/change_state' not in rules['recorder']['services reply']
    assert '~/transition_event' not in rules['recorder']['topics publish']


def test_the_real_robot_state_publisher_may_say_what_stands_still():
    assert 'tf_static' in allowed(policy({'robot_state_publisher': NOTHING}))[
        'robot_state_publisher']['topics publish']
