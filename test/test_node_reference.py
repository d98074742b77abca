"""docs/nodes.md and the security policy say what the nodes do."""

from pathlib import Path
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

from bench.node_reference import Interfaces, policy

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


def test_the_reference_matches_the_running_nodes():
    answer = subprocess.run([sys.executable, '-m', 'bench.node_reference', '--check'],
                            capture_output=True, text=True, timeout=280, cwd=ROOT)
    assert answer.returncode == 0, answer.stderr


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
