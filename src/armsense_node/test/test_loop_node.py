from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path
import signal
import subprocess
import sys
import threading
import time

from node_process import call, finish, own_node, PATIENCE
import pytest
from rcl_interfaces.srv import GetParameters
import rclpy
from rclpy.context import Context
import rclpy.executors
from rclpy.node import Node
from std_srvs.srv import Trigger

from armsense_msgs.msg import MotorCommands, MotorStates
from armsense_node import loop_stream
from armsense_node.loop import (
    BackgroundExecutor,
    DirectSubscription,
    event_qos,
    LoopEnded,
    ReactiveLoop,
    stream_qos,
    StreamPublisher,
    StreamSubscription,
    WaitSet,
)

PEER = Path(__file__).with_name('loop_peer.py')


def start(name: str, *ros_args: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, str(PEER), name, '--ros-args', '-p', 'realtime:=false',
         *ros_args], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def start_running(name: str, *ros_args: str) -> subprocess.Popen:
    """Starts a peer and waits until it says that it runs."""
    process = start(name, *ros_args)
    assert process.stdout is not None
    watchdog = threading.Timer(PATIENCE, process.kill)
    watchdog.start()
    line = process.stdout.readline()
    watchdog.cancel()
    if line != 'running\n':
        _, err, code = finish(process)
        pytest.fail(f'{name} did not start (exit code {code}): {err}')
    return process


@pytest.fixture(scope='module')
def node() -> Iterator[Node]:
    with own_node() as node:
        yield node


@pytest.fixture(scope='module')
def driver() -> Iterator[subprocess.Popen]:
    process = start_running('driver')
    try:
        yield process
    finally:
        finish(process, signal.SIGINT)


@pytest.fixture
def states(node, driver) -> Iterator[StreamSubscription]:
    subscription = StreamSubscription(
        node, MotorStates, 'motor_states', 4, ('joint_position', 'strain'))
    yield subscription
    subscription.destroy()


def test_wait_wakes_with_the_record(states):
    state = states.wait(PATIENCE)
    assert state.position.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert (state.stamp_ns, state.frame_id, state.enabled) == (5_000_000_007, 'base', True)
    assert state.strain.size == 0
    assert states.received_ns > 0
    assert states.rejected == 0


def test_newest_message_wins(states):
    first = states.wait(PATIENCE)
    time.sleep(0.3)
    newest = states.take_latest()
    assert newest.seq > first.seq + 1  # those between were dropped, not queued
    time.sleep(0.1)
    assert len(list(zip(range(3), states.drain(), strict=False))) < 3


def test_wait_without_publisher_ends(node):
    silent = DirectSubscription(node, MotorStates, 'nobody')
    assert silent.wait(0.01) is None
    assert silent.take_latest() is None
    assert silent.publisher_count() == 0
    silent.destroy()


def test_wait_set_wakes_for_any(node, states):
    silent = DirectSubscription(node, MotorStates, 'nobody')
    both = WaitSet([silent, states])
    got = None
    for _ in range(3):  # another message may have been taken in between
        both.wait(PATIENCE)
        got = got or states.take_latest()
    assert got is not None
    silent.destroy()


def test_ordinary_subscribers_understand_the_stream(node, driver):
    ordinary = DirectSubscription(node, MotorStates, 'motor_states', stream_qos())
    message = ordinary.wait(PATIENCE)
    assert message.position == array('d', [0.1, 0.2, 0.3, 0.4])
    assert (message.header.frame_id, message.enabled) == ('base', True)
    ordinary.destroy()


def test_executor_sleeps_while_the_stream_flows(node, states, monkeypatch):
    rounds = []  # of the executor: in each it asks the group of every subscription
    monkeypatch.setattr(
        loop_stream._LeftToTheLoop, 'can_execute', lambda group, entity: rounds.append(entity))
    with BackgroundExecutor(node) as executor:
        seqs = [states.wait(PATIENCE).seq for _ in range(200)]
    assert seqs == sorted(set(seqs))
    assert executor.errors == 0
    assert 0 < len(rounds) < 50


def test_executor_stops_even_if_it_was_about_to_wait(node, monkeypatch):
    about_to_wait, stop_begun = threading.Event(), threading.Event()
    count = rclpy.executors.NumberOfEntities

    def pause(*counts):
        about_to_wait.set()
        stop_begun.wait(PATIENCE)
        return count(*counts)
    monkeypatch.setattr(rclpy.executors, 'NumberOfEntities', pause)
    executor = BackgroundExecutor(node)
    assert about_to_wait.wait(PATIENCE)
    stopper = threading.Thread(target=executor.stop, daemon=True)
    stopper.start()
    time.sleep(0.2)  # the stop is on its way and cannot end yet
    stop_begun.set()
    stopper.join(PATIENCE)
    assert not stopper.is_alive()


def test_executor_ends_with_its_context():
    context = Context()
    rclpy.init(context=context)
    node = Node('short', context=context)
    executor = BackgroundExecutor(node)
    rclpy.shutdown(context=context)
    executor.stop()
    executor.stop()
    assert executor.errors == 0
    node.destroy_node()


def test_parameters_are_served_while_the_loop_runs(node, driver, states):
    before = states.wait(PATIENCE).seq
    answer = call(node, GetParameters, '/driver/get_parameters',
                  GetParameters.Request(names=['gain', 'realtime']))
    assert answer.values[0].double_value == 2.5
    assert answer.values[1].bool_value is False
    states.take_latest()
    assert states.wait(PATIENCE).seq > before


def test_failing_callback_stops_neither_loop_nor_executor(node, driver, states):
    assert call(node, Trigger, '/driver/fail', Trigger.Request(), patience=0.5) is None
    answer = call(node, Trigger, '/driver/count', Trigger.Request())
    assert answer.success
    states.take_latest()
    assert states.wait(PATIENCE).seq >= int(answer.message)


def test_reliable_stream_waits_for_one_answer(node):
    topic, reliable = 'answers', event_qos()
    answers = StreamSubscription(node, MotorCommands, topic, 4, qos=reliable)
    publisher = StreamPublisher(node, MotorCommands, topic, 4, qos=reliable)
    other = StreamPublisher(node, MotorCommands, topic, 3, qos=reliable)
    end = time.monotonic() + PATIENCE
    while not (answers.publisher_count() == 2 and publisher.subscriber_count()
               and other.subscriber_count()):
        assert time.monotonic() < end
        time.sleep(0.01)
    other.publish()
    for seq in range(1, 9):
        publisher.message.seq = seq
        publisher.publish()
    assert answers.wait_for(6, PATIENCE).seq == 6
    assert answers.take_latest().seq == 8
    assert answers.wait_for(6, 0.01) is None
    assert answers.rejected == 1
    for endpoint in (answers, publisher, other):
        endpoint.destroy()


def test_a_step_that_waits_hears_that_its_loop_shall_end(node):
    silent = StreamSubscription(node, MotorCommands, 'nobody', 4)
    loop = ReactiveLoop(silent, lambda _: None)
    node.loop = loop
    try:
        assert silent.wait_for(1, 0.1) is None        # it runs: nobody answers
        threading.Timer(0.2, loop.stop).start()
        with pytest.raises(LoopEnded):
            silent.wait_for(1, PATIENCE)
        node.loop = None                              # as in a node that is deactivated
        with pytest.raises(LoopEnded):
            silent.wait_for(1, PATIENCE)
    finally:
        del node.loop
        silent.destroy()


def test_publishers_at_the_same_time_are_told_from_one_after_the_other(node, monkeypatch):
    heard = StreamSubscription(node, MotorCommands, 'turns', 4, qos=event_qos())
    first, second = (StreamPublisher(node, MotorCommands, 'turns', 4, qos=event_qos())
                     for _ in range(2))
    end = time.monotonic() + PATIENCE
    while not (first.subscriber_count() and second.subscriber_count()):
        assert time.monotonic() < end
        time.sleep(0.01)

    def say(*publishers: StreamPublisher) -> bool:
        for publisher in publishers:
            publisher.publish()
            assert heard.wait(PATIENCE) is not None
        return heard.publishers_take_turns

    assert not heard.publishers_take_turns
    assert not say(first, first, first)
    assert not say(second, second, second)     # in the place of the first
    assert say(first, second)
    assert say(second, second)
    monkeypatch.setattr(loop_stream, '_TURNS', 1000)      # [ns]
    assert not say(second)                     # it is long ago
    for endpoint in (heard, first, second):
        endpoint.destroy()


def test_controller_answers_in_another_process(node):
    echo = start_running('echo', '-r', '__ns:=/alone')  # away from the driver's states
    try:
        publisher = node.create_publisher(MotorStates, '/alone/motor_states', stream_qos())
        commands = StreamSubscription(node, MotorCommands, '/alone/motor_commands', 4)
        good = MotorStates(seq=9, position=[1.0, 2.0, 3.0, 4.0])
        good.velocity = good.current = good.torque = good.position
        bad = MotorStates(seq=8)  # no joints
        command = None
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and (command is None or command.torque[0] == 0.0):
            publisher.publish(bad)
            publisher.publish(good)
            command = commands.wait(0.1) or command
        assert command.seq == 9
        assert command.position.tolist() == [1.0, 2.0, 3.0, 4.0]
        assert command.torque[0] > 0.0  # messages without joints were refused and counted
        commands.destroy()
        node.destroy_publisher(publisher)
    finally:
        out, err, code = finish(echo, signal.SIGINT)
    assert code == 0
    assert 'MotorStates.position has 0 values; it must have 4' in err


@pytest.mark.parametrize('signals', [
    (signal.SIGINT, signal.SIGINT), (signal.SIGTERM,), (signal.SIGINT, signal.SIGTERM)])
def test_signals_end_a_node_in_order(signals):
    process = start_running('driver')
    out, err, code = finish(process, *signals)
    assert code == 0
    assert out.splitlines() == ['closed', 'threads: 1']
    assert 'Traceback' not in err
    assert not Path(f'/proc/{process.pid}').exists()


def test_node_without_loop_ends_too():
    process = start_running('idle')
    out, err, code = finish(process, signal.SIGINT)
    assert (out, code) == ('threads: 1\n', 0)
    assert 'Traceback' not in err


def test_loop_can_be_replaced_and_its_end_ends_the_node():
    out, _, code = finish(start('replaced'))
    assert out.splitlines() == ['first ended: True', 'second', 'threads: 1']
    assert code == 0


def test_error_of_the_user_is_one_line():
    out, err, code = finish(start('misconfigured'))
    assert code == 1
    assert len(err.splitlines()) == 1
    assert err.rstrip().endswith('gain is -1; it must be positive')


def test_an_error_before_there_is_a_node_has_its_name():
    _, err, code = finish(start('misconfigured', '-r', '__node:=elbow'))
    assert code == 1
    assert '[elbow]: gain is -1' in err


def test_failing_step_closes_the_node_and_fails():
    out, err, code = finish(start('failing'))
    assert code == 1
    assert 'IndexError' in err
    assert out.splitlines() == ['closed', 'threads: 1']


def test_privileges_never_fail():
    ask = ('import os, resource\n'
           'from armsense_node.loop_realtime import realtime_privileges\n')
    granted = 'p = realtime_privileges()\nassert p.fifo and p.memory_locked or p.explanation, p\n'
    subprocess.run([sys.executable, '-c', ask + granted], check=True, timeout=PATIENCE)
    forbid = ('for limit in (resource.RLIMIT_RTPRIO, resource.RLIMIT_MEMLOCK):\n'
              '    resource.setrlimit(limit, (0, 0))\n'
              'if os.getuid() == 0:\n'
              '    os.setuid(65534)\n')
    refused = ('p = realtime_privileges()\n'
               'assert not p.fifo and not p.memory_locked, p\n'
               'assert "SCHED_FIFO" in p.explanation and "memory" in p.explanation, p\n')
    subprocess.run([sys.executable, '-c', ask + forbid + refused], check=True, timeout=PATIENCE)


def test_a_core_to_stay_on():
    ask = ('import os\n'
           'from armsense_node.loop_realtime import realtime_privileges\n'
           'core = max(os.sched_getaffinity(0))\n'
           'p = realtime_privileges(core)\n'
           'assert os.sched_getaffinity(0) == {core}, os.sched_getaffinity(0)\n'
           'p = realtime_privileges(999)\n'
           'assert "core 999" in p.explanation, p\n')
    subprocess.run([sys.executable, '-c', ask], check=True, timeout=PATIENCE)


def test_receivers_of_the_middleware_rise_with_the_loop():
    ask = ('import os, rclpy\n'
           'from armsense_node import loop_realtime\n'
           'rclpy.init()\n'
           'node = rclpy.create_node("x")\n'
           'threads = loop_realtime._receivers()\n'
           'assert threads\n'
           'p = loop_realtime.realtime_privileges()\n'
           'policies = {os.sched_getscheduler(t) & ~os.SCHED_RESET_ON_FORK for t in threads}\n'
           'assert policies == {os.SCHED_FIFO if p.fifo else os.SCHED_OTHER}, policies\n'
           'rclpy.shutdown()\n')
    subprocess.run([sys.executable, '-c', ask], check=True, timeout=PATIENCE)
