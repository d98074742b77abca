"""Bags in small steps, and what the page makes of their messages."""

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from armsense.errors import ArmsenseError
from armsense.recordings.bag_playback import BagPlayback, find_bags
from armsense.recordings.bag_writer import BagWriter
from armsense_monitor.arm_history import ArmHistory
from armsense_monitor.feed import Feed
from armsense_msgs.msg import Collision, DriverMode, MotorStates, Residual

JOINTS = ('joint1', 'joint2')
TYPES = {'motor_states': MotorStates, 'joint_states': JointState, 'residual': Residual,
         'collision': Collision, 'motor_board/mode': DriverMode, 'diagnostics': DiagnosticArray}


def stamped(message, nanoseconds):
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(nanoseconds, 10**9)
    return message


def write(folder, namespace='/left/', joint_states=True, diagnostics='/diagnostics'):
    """Two seconds: states every 10 ms, an event at one second, diagnostics of another clock."""
    bag = BagWriter(folder)
    names = {topic: namespace + topic for topic in TYPES} | {'diagnostics': diagnostics}
    for topic, kind in TYPES.items():
        package = kind.__module__.split('.')[0]
        bag.add_topic(names[topic], f'{package}/msg/{kind.__name__}')

    def put(topic, message, at, stamp=None):
        bag.write(names[topic], serialize_message(message), at if stamp is None else stamp)
    put('motor_board/mode', DriverMode(mode=DriverMode.ENABLED), 10**7)
    for k in range(1, 201):
        at = k * 10**7
        put('motor_states', stamped(MotorStates(seq=k, position=[0.01 * k, 1.0]), at), at)
        if joint_states:
            # In another order than the arm's.
            put('joint_states', stamped(JointState(name=['joint2', 'joint1'],
                                                   position=[-1.0, 0.02 * k]), at), at)
        put('residual', stamped(Residual(seq=k, filtered=[0.5, 0.0], threshold=[1.0, 1.0],
                                         exceeded=[False, False], valid=True), at), at)
        if k == 100:
            put('collision', stamped(Collision(link='link2', joint='joint2', residual=1.5), at),
                at)
            status = DiagnosticStatus(level=b'\1', name='board 0', message='1 % lost')
            put('diagnostics', DiagnosticArray(status=[status]), at, 1_700_000_000 * 10**9)
    bag.close()
    return folder


def test_messages_come_when_they_are_due(tmp_path):
    playback = BagPlayback(write(tmp_path / 'bag'))
    assert playback.seconds == pytest.approx(1.99)
    early = [m for m in playback.advance(0.5) if m.topic == 'residual']
    assert len(early) == 51                    # both ends
    assert playback.position == pytest.approx(0.5)
    assert not playback.finished
    late = [m.topic for m in playback.advance(100.0)]
    assert late.count('residual') == 149
    assert late.count('diagnostics') == 1      # its clock has not held up the others
    assert playback.finished
    playback.rewind()
    assert len(list(playback)) == 603


@pytest.mark.parametrize('diagnostics', ['/diagnostics', '/left/diagnostics'])
def test_feed_fills_the_history(tmp_path, diagnostics):
    """Bags of earlier versions have the diagnostics in the arm's namespace."""
    playback = BagPlayback(write(tmp_path / 'bag', diagnostics=diagnostics))
    history = ArmHistory(JOINTS)
    feed = Feed(history, '/right')             # a page of another arm, which opens this bag
    for message in playback.advance(1.2):
        feed.take_bytes(message.topic, message.data)
    assert history.time == pytest.approx(1.21)
    assert history.position.tolist() == pytest.approx([0.02 * 121, -1.0])
    assert history.ratio.tolist() == pytest.approx([0.5, 0.0])
    assert [(e.link, e.time) for e in history.events] == [('link2', pytest.approx(1.0))]
    assert history.mode.name == 'enabled'
    assert history.health['board 0'].level == 1


def test_a_page_shows_the_diagnostics_of_its_own_arm():
    history = ArmHistory(JOINTS)
    names = 'left/motor_board: arm', 'right/motor_board: arm'
    Feed(history, '/left').take('/diagnostics', DiagnosticArray(
        status=[DiagnosticStatus(name=name, message='enabled') for name in names]))
    assert set(history.health) == {'left/motor_board: arm'}


def test_motor_states_serve_where_joint_states_are_missing(tmp_path):
    playback = BagPlayback(write(tmp_path / 'bag', '/', joint_states=False))
    history = ArmHistory(JOINTS)
    feed = Feed(history)
    for message in playback:
        feed.take_bytes(message.topic, message.data)
    assert history.position.tolist() == pytest.approx([2.0, 1.0])


def test_bags_are_found_newest_first(tmp_path):
    write(tmp_path / 'a' / 'old')
    write(tmp_path / 'new')
    assert [path.name for path in find_bags(tmp_path)] == ['new', 'old']


def test_what_is_no_bag_of_an_arm_is_refused(tmp_path):
    with pytest.raises(ArmsenseError, match='is no bag'):
        BagPlayback(tmp_path / 'nothing')
    bag = BagWriter(tmp_path / 'other')
    bag.add_topic('/mode', 'armsense_msgs/msg/DriverMode')
    bag.write('/mode', serialize_message(DriverMode()), 1)
    bag.close()
    with pytest.raises(ArmsenseError, match='has no motor_states'):
        BagPlayback(tmp_path / 'other')
