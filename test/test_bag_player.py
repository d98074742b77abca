"""A recorded run, played into the real observer node: it says what it said before, bit for bit."""

from pathlib import Path
import time

import numpy as np
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import SetBool

from armsense.model import Arm
from armsense.recordings.bag_writer import BagWriter
from armsense.recordings.record import new_record
from armsense.watch.collision_monitor import CollisionMonitor, DetectionConfig
from armsense_bringup.launch.plan import load
from armsense_bringup.launch.supervisor import Supervisor
from armsense_msgs.msg import Collision, MotorStates, Residual
from armsense_node.loop import DirectSubscription, event_qos

LAUNCH = Path(__file__).resolve().parents[1] / 'launch' / 'replay.launch.xml'
STATES, PERIOD, PUSHED = 1500, 1_000_000, 1000     # [ns]; number of the first pushed state
WALL = 1_700_000_000 * 10**9                       # [ns] begin of the recording
PHASE = np.array([0.0, 0.5, 1.0, 1.5])             # [rad] of the joints' swings


def recording(folder):
    """A swinging arm that is pushed; the residuals that its observer would have published."""
    model = Arm.load('laas4')
    monitor = CollisionMonitor(model, DetectionConfig.of(model, None), None, None)
    rng = np.random.default_rng(8)
    bag = BagWriter(folder)
    bag.add_topic('/left/motor_states', 'armsense_msgs/msg/MotorStates')
    bag.add_topic('/left/residual', 'armsense_msgs/msg/Residual')
    state = new_record(MotorStates, 4, {'joint_position': 0, 'strain': 0})
    residual = new_record(Residual, 4)
    expected = {}
    for k in range(1, STATES + 1):
        stamp = WALL + k * PERIOD
        angle = 2e-3 * k + PHASE
        q, dq, ddq = 0.4 * np.sin(angle), 0.8 * np.cos(angle), -1.6 * np.sin(angle)
        push = np.array([4.0, 0.0, 0.0, 0.0]) * (k >= PUSHED)
        tau = model.inverse_dynamics(q, dq, ddq) - push + rng.normal(0.0, 0.02, 4)
        state.seq, state.stamp_ns, state.enabled, state.power = k, stamp, True, 0.0
        state.position, state.velocity, state.torque, state.current = q, dq, tau, tau
        bag.write('/left/motor_states', state.wire(), stamp)
        result = monitor.step(q.tolist(), tau.tolist(), [], [], True,
                              PERIOD * 1e-9 if k > 1 else 0.0)
        residual.seq, residual.stamp_ns, residual.valid = k, stamp, result.valid
        residual.raw, residual.filtered = result.raw, result.filtered
        residual.threshold, residual.exceeded = result.threshold, result.exceeded
        bag.write('/left/residual', residual.wire(), stamp)
        expected[k] = np.array(result.filtered)
    bag.close()
    return expected


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    folder = tmp_path_factory.mktemp('player') / 'bag'
    return folder, recording(folder)


@pytest.fixture
def node():
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node('listener', context=context)
    yield node
    node.destroy_node()
    context.try_shutdown()


@pytest.mark.timing
def test_replayed_residuals_equal_the_recorded_ones(bag, node):
    folder, expected = bag
    heard = DirectSubscription(node, Residual, 'residual', event_qos(10 * STATES))
    recorded = DirectSubscription(node, Residual, 'recorded/residual', event_qos(10 * STATES))
    collisions = DirectSubscription(node, Collision, 'collision', event_qos(100))
    plan = load(LAUNCH, {'bag': str(folder), 'rate': '0', 'paused': 'true'})
    replayed, first, events = {}, {}, []

    def listen():
        for message in heard.drain():
            replayed[message.seq] = np.array(message.filtered)
        for message in recorded.drain():
            first[message.seq] = np.array(message.filtered)
        events.extend(collisions.drain())
    with Supervisor(plan) as supervisor:
        supervisor.wait_for_line('bag_player.*s$', 60.0)
        while not recorded.publisher_count() or not heard.publisher_count():
            assert supervisor.running()
            time.sleep(0.05)
        go_on(node)
        while supervisor.running():
            listen()
            time.sleep(0.005)
        assert supervisor.wait(30.0) == 0, supervisor.last_words
    listen()
    # The first answers may leave before the observer knows this listener; later none may miss.
    assert len(replayed) > 0.9 * STATES
    assert sorted(replayed) == list(range(min(replayed), STATES + 1))
    for seq, residual in replayed.items():
        assert residual.tolist() == expected[seq].tolist(), seq
    assert len(first) > STATES // 2             # best effort of a test that polls
    for seq, residual in first.items():
        assert residual.tolist() == expected[seq].tolist(), seq
    assert events[0].seq >= PUSHED
    assert events[0].joint == 'joint1'


def go_on(node):
    client = node.create_client(SetBool, 'bag_player/pause')
    assert client.wait_for_service(30.0)
    future = client.call_async(SetBool.Request(data=False))
    executor = SingleThreadedExecutor(context=node.context)
    rclpy.spin_until_future_complete(node, future, executor, 30.0)
    assert future.result().success
