"""What RViz would say of our markers and topics: the rules of its sources, on our messages."""

import math

from builtin_interfaces.msg import Time
import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from visualization_msgs.msg import Marker
import yaml

from armsense.base.cell_layout import CellLayout
from armsense.model import Arm
from armsense.share import find
from armsense_collision.base_markers import BaseMarkers
from armsense_monitor.arm_history import ArmHistory, Contact, Event
from armsense_monitor.markers_node import markers
from armsense_node.qos import event_qos, latched_qos, stream_qos

ARM = Arm.load('laas4')
HOME = np.array(ARM.config.home)
# What is published, with the nodes' own profiles: markers.py and base_reaction, state_publisher.
PUBLISHED = {'markers': event_qos(1), 'robot_description': latched_qos(),
             'base/wrench': stream_qos()}
RELIABILITY = {'Best Effort': ReliabilityPolicy.BEST_EFFORT,
               'Reliable': ReliabilityPolicy.RELIABLE}
DURABILITY = {'Volatile': DurabilityPolicy.VOLATILE,
              'Transient Local': DurabilityPolicy.TRANSIENT_LOCAL}


def complaints(array) -> list[str]:
    """What RViz would show as a warning or an error, or would not show at all."""
    names = [(marker.ns, marker.id) for marker in array.markers]
    found = ['twice the same namespace and id'] if len(set(names)) < len(names) else []
    for marker in array.markers:
        if marker.action == Marker.ADD:
            found += [f'{marker.ns} {marker.id}: {text}' for text in _complaints(marker)]
    return found


def _complaints(marker: Marker):
    pose, scale, color = marker.pose, marker.scale, marker.color
    turn = [getattr(pose.orientation, axis) for axis in 'xyzw']
    numbers = [pose.position.x, pose.position.y, pose.position.z, *turn, scale.x, scale.y, scale.z,
               color.r, color.g, color.b, color.a,
               *(value for point in marker.points for value in (point.x, point.y, point.z))]
    if not all(map(math.isfinite, numbers)):
        yield 'no number'
    if not math.isclose(sum(value**2 for value in turn), 1.0):
        yield 'the turn has not the length 1'
    if color.a <= 0.0:
        yield 'transparent'
    if marker.header.frame_id == '':
        yield 'no frame'
    if marker.type == Marker.ARROW:
        if len(marker.points) != 2 or scale.x + scale.y == 0.0:
            yield 'an arrow needs two points and a width'
    elif marker.type == Marker.TEXT_VIEW_FACING:
        if scale.x != 0.0 or scale.z <= 0.0 or not marker.text:
            yield 'a text needs a height, and no width of its spaces'
    elif scale.x * scale.y * scale.z <= 0.0:
        yield 'flat'
    if marker.colors and len(marker.colors) != len(marker.points):
        yield 'not a colour for each point'


def pushed() -> ArmHistory:
    history = ArmHistory(ARM.joint_names)
    history.add_position(1.0, HOME)
    history.add_residual(1.0, [5.0, 0.1, 0.0, -0.2], [1.0, 0.5, 0.5, 0.5], True)
    history.add_event(Event(0, 1.0, 'joints', 'link4', 'joint1', 5.0, 1.0, 1.0))
    history.add_contact(Contact(1.0, np.array([0.1, 0.2, 0.3]), np.array([0.0, 9.0, 0.0])))
    return history


def test_rviz_has_nothing_to_say_against_the_markers():
    array = markers(ARM, pushed(), Time(sec=1))
    assert {marker.ns for marker in array.markers} == {'residual', 'threshold', 'residual_text',
                                                       'contact', 'force'}
    assert complaints(array) == []
    cells = ARM.config.load_cells
    layout = CellLayout.of_config(cells)
    drawn = BaseMarkers(ARM, layout, cells).draw(
        HOME, np.ones(len(cells.positions)), np.ones(len(cells.positions), bool),
        np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3]), np.ones(len(layout.axes)))
    assert complaints(drawn) == []
    # Both are on one topic.
    array.markers += drawn.markers
    assert complaints(array) == []


@pytest.mark.parametrize(('spoil', 'word'), [
    (lambda m: setattr(m.scale, 'z', math.nan), 'no number'),
    (lambda m: setattr(m.color, 'a', 0.0), 'transparent'),
    (lambda m: setattr(m.pose.orientation, 'w', 0.0), 'turn'),
    (lambda m: setattr(m.scale, 'y', 0.0), 'flat'),
    (lambda m: setattr(m, 'id', 1), 'twice')])
def test_a_spoilt_marker_is_noticed(spoil, word):
    array = markers(ARM, pushed(), Time(sec=1))
    spoil(array.markers[0])
    assert any(word in text for text in complaints(array))


def test_no_text_is_inside_a_ball():
    found = {(m.ns, m.id): m for m in markers(ARM, pushed(), Time()).markers}
    for k in range(ARM.n):
        ball, text = found['residual', k], found['residual_text', k]
        above = text.pose.position.z - ball.pose.position.z
        assert above - 0.5 * text.scale.z >= 0.5 * max(ball.scale.z, found['threshold', k].scale.z)


def test_the_file_subscribes_as_the_nodes_publish():
    displays = yaml.safe_load(find('config/armsense.rviz').read_text())[
        'Visualization Manager']['Displays']
    topics = [block for display in displays for key, block in display.items()
              if key.endswith('Topic')]
    assert {topic['Value'] for topic in topics} == set(PUBLISHED)
    for topic in topics:
        offered = PUBLISHED[topic['Value']]
        # Who asks for more than is offered gets nothing.
        assert (RELIABILITY[topic['Reliability Policy']] == ReliabilityPolicy.BEST_EFFORT
                or offered.reliability == ReliabilityPolicy.RELIABLE), topic
        assert (DURABILITY[topic['Durability Policy']] == DurabilityPolicy.VOLATILE
                or offered.durability == DurabilityPolicy.TRANSIENT_LOCAL), topic
