"""Bags in, residuals out: the same ones as live, whatever the bag went through."""

import json

from mcap.reader import make_reader
from mcap.writer import Writer
import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message

from armsense.boards.mode import Mode
from armsense.cli import replay_command
from armsense.errors import ArmsenseError
from armsense.jobs.replay import replay
from armsense.model import Arm
from armsense.model.model_file import FORMAT, ModelFile, Provenance
from armsense.recordings.bag_files import blank, messages, serialize
from armsense.recordings.bag_tape import read_tape
from armsense.recordings.bag_writer import BagWriter
from armsense.recordings.record import new_record, RecordDecoder
from armsense.sim.closed_loop import ClosedLoop
from armsense.watch.collision_message import add_contact, fill_collision
from armsense.watch.collision_monitor import CollisionMonitor
from armsense_msgs.msg import Collision, MotorStates, Residual
from armsense_node.payload import carrying, payload_message

MODEL = Arm.load('laas4')
START = 1_700_000_000 * 10**9   # [ns]


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    """0.8 s of a simulated arm that is pushed, with the residuals of its live monitor."""
    folder = tmp_path_factory.mktemp('bags') / 'run'
    loop = ClosedLoop(MODEL, monitor=CollisionMonitor(MODEL), seed=4, mismatch=0.02)
    writer = BagWriter(folder)
    writer.add_topic('/motor_states', 'armsense_msgs/msg/MotorStates')
    writer.add_topic('/residual', 'armsense_msgs/msg/Residual')
    state = new_record(MotorStates, 4, {'joint_position': 0, 'strain': 0})
    answer = new_record(Residual, 4)
    hits = []
    for k in range(800):
        if k == 400:
            loop.plant.apply_force('link4', (0.05, 0.0, 0.0), (0.0, 0.0, -12.0), 0.1)
        enabled = loop.driver.mode == Mode.ENABLED
        cycle = loop.step()
        stamp = START + (k + 1) * 1_000_000
        state.seq = answer.seq = k + 1
        state.stamp_ns = answer.stamp_ns = stamp
        state.position, state.torque = cycle.reading.position, cycle.reading.torque
        state.enabled = enabled
        result = cycle.result
        answer.raw, answer.filtered, answer.valid = result.raw, result.filtered, result.valid
        writer.write('/motor_states', state.wire(), stamp)
        writer.write('/residual', answer.wire(), stamp)
        if result.detection is not None:
            hits.append(k)
    writer.close()
    assert hits
    return folder, hits


def test_replay_equals_live_bit_for_bit(bag):
    folder, hits = bag
    run = replay(MODEL, read_tape(folder, 4))
    assert run.identical is True
    assert [event.number for event in run.events] == hits
    assert run.events[0].link == 'link4'


def test_residuals_from_before_a_field_was_added_are_left_out(tmp_path):
    writer = BagWriter(tmp_path / 'old')
    writer.add_topic('/motor_states', 'armsense_msgs/msg/MotorStates')
    writer.add_topic('/residual', 'armsense_msgs/msg/Residual')
    state = new_record(MotorStates, 4, {'joint_position': 0, 'strain': 0})
    answer = new_record(Residual, 4)
    end = next(slot.offset for slot in answer._layout.slots if slot.name == 'valid') + 5
    for k in range(10):
        state.seq = answer.seq = k + 1
        state.stamp_ns = answer.stamp_ns = stamp = START + (k + 1) * 1_000_000
        state.position = np.array(MODEL.config.home)
        writer.write('/motor_states', state.wire(), stamp)
        writer.write('/residual', answer.wire()[:end], stamp)
    writer.close()
    bag = read_tape(tmp_path / 'old', 4)
    assert bag.residual is None
    assert 'the recorded residuals are of an older version: they are not compared' in bag.notes
    assert replay(MODEL, bag).identical is None


def test_another_observer_is_not_identical_but_finds_the_push(bag):
    run = replay(MODEL, read_tape(bag[0], 4), observer='kalman')
    assert run.identical is False
    assert len(run.events) >= 1


@pytest.mark.parametrize('told', [(0.3,), (0.0, 0.3)])
def test_the_payload_of_a_bag_is_carried(bag, tmp_path, told, capsys):
    folder = tmp_path / 'loaded'
    writer = BagWriter(folder)
    writer.add_topic('/motor_states', 'armsense_msgs/msg/MotorStates')
    writer.add_topic('/payload', 'geometry_msgs/msg/InertiaStamped')
    for mass in told:
        message = payload_message(MODEL.tool_frame, mass)
        writer.write('/payload', serialize_message(message), START)
    for message in messages(bag[0], []):
        if message.topic == '/motor_states':
            writer.write('/motor_states', message.data, START)
    writer.close()
    tape = read_tape(folder, 4)
    assert tape.payload.inertia.m == 0.3
    assert ('changed' in tape.notes[0]) is (len(told) > 1)
    # The arm of the bag carried nothing: now that is what looks like a contact.
    weight = MODEL.with_payload(0.3).gravity_torque(tape.tape.position[300]) - (
        MODEL.gravity_torque(tape.tape.position[300]))
    light, heavy = (replay(m, tape).trace.filtered[300] for m in (
        MODEL, carrying(MODEL, tape.payload)))
    np.testing.assert_allclose(heavy - light, weight, atol=0.05)
    assert replay_command.main([str(folder), '--plot', str(tmp_path / 'x.png'), '--json']) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])['notes'] == list(tape.notes)


def test_without_metadata_and_cut_off(bag, tmp_path):
    broken = tmp_path / 'broken.mcap'
    with next(bag[0].glob('*.mcap')).open('rb') as source, broken.open('wb') as target:
        out = Writer(target, chunk_size=20_000)   # many chunks, as in a long recording
        out.start(profile='ros2', library='test')
        known = {}
        for schema, channel, message in make_reader(source).iter_messages():
            if channel.topic not in known:
                kind = out.register_schema(schema.name, schema.encoding, schema.data)
                known[channel.topic] = out.register_channel(channel.topic, 'cdr', kind)
            out.add_message(known[channel.topic], message.log_time, message.data,
                            message.publish_time)
        out.finish()
    storage = broken.read_bytes()
    broken.write_bytes(storage[:len(storage) * 2 // 3])
    whole, part = read_tape(bag[0], 4), read_tape(broken, 4)
    assert 100 < len(part.seq) <= len(whole.seq)
    assert part.notes
    np.testing.assert_array_equal(part.tape.torque, whole.tape.torque[:len(part.seq)])


def test_the_wrong_arm_or_topic_is_named(bag):
    with pytest.raises(ArmsenseError, match='has 4 joints; the arm has 3'):
        read_tape(bag[0], 3)
    with pytest.raises(ArmsenseError, match='/motor_states'):
        read_tape(bag[0], 4, '/elsewhere/motor_states')


def test_the_command_writes_everything(bag, tmp_path, capsys):
    model = tmp_path / 'model.yaml'
    ModelFile(format=FORMAT, arm='laas4', provenance=Provenance.now('test')).write(model)
    code = replay_command.main([
        str(bag[0]), '--model', str(model), '--plot', str(tmp_path / 'r.png'), '--csv',
        str(tmp_path / 'r.csv'), '--mcap', str(tmp_path / 'out'), '--json'])
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert code == 0
    assert result['identical_to_live'] is True
    assert len(result['events']) == len(bag[1])
    counts = [result['what_if'][key] for key in ('0.5', '1', '2')]
    assert counts == sorted(counts, reverse=True)
    assert (tmp_path / 'r.png').stat().st_size > 10_000
    assert len((tmp_path / 'r.csv').read_text().splitlines()) == 801
    again = read_tape_of_residuals(tmp_path / 'out')
    np.testing.assert_array_equal(again, replay(MODEL, read_tape(bag[0], 4)).trace.filtered)


def read_tape_of_residuals(folder):
    with next(folder.glob('*.mcap')).open('rb') as file:
        return np.array([deserialize_message(message.data, Residual).filtered
                         for _, _, message in make_reader(file).iter_messages(['/residual'])])


@pytest.mark.parametrize(('scale', 'more'), [('0.05', True), ('50', False)])
def test_thresholds_can_be_scaled(bag, tmp_path, capsys, scale, more):
    replay_command.main([str(bag[0]), '--scale', scale, '--plot', str(tmp_path / 'r.png'),
                         '--json'])
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert bool(result['events']) is more


def test_errors_are_one_line(tmp_path, capsys):
    assert replay_command.main([str(tmp_path / 'nothing')]) == 1
    assert 'no such file or folder' in capsys.readouterr().err


@pytest.mark.parametrize('leap', [-3600.0, -0.005, 0.2, 86400.0])     # [s]
def test_a_wall_clock_that_was_set_in_the_recording_changes_nothing(bag, tmp_path, leap):
    folder = tmp_path / 'leap'
    writer = BagWriter(folder)
    writer.add_topic('/motor_states', 'armsense_msgs/msg/MotorStates')
    state = new_record(MotorStates, 4, {'joint_position': 0, 'strain': 0})
    decoder = RecordDecoder(MotorStates)
    for message in messages(bag[0], []):
        if message.topic == '/motor_states':
            old = decoder.decode(message.data)
            state.seq, state.enabled = old.seq, old.enabled
            state.position, state.torque = old.position, old.torque
            state.time_ns = old.stamp_ns - START + 5_000_000_000
            state.stamp_ns = old.stamp_ns + (round(leap * 1e9) if old.seq > 300 else 0)
            writer.write('/motor_states', state.wire(), state.stamp_ns)
    writer.close()
    plain, set_back = read_tape(bag[0], 4).tape, read_tape(folder, 4).tape
    assert np.array_equal(plain.stamp, set_back.stamp)
    assert np.array_equal(plain.position, set_back.position)


def test_a_collision_made_without_ros_has_the_bytes_of_one_made_with_it(bag):
    run = replay(MODEL, read_tape(bag[0], 4))
    wires = []
    for message in (Collision(), blank('armsense_msgs/msg/Collision')):
        _, detection = run.trace.detections[0]
        fill_collision(message, MODEL, detection, 'link4', number=1, seq=7, stamp=START + 5)
        add_contact(message, run.events[0].contact)
        wires.append(message)
    ours = deserialize_message(serialize(wires[1]), Collision)
    assert ours == wires[0]
    assert ours.force_observable == run.events[0].contact.force_observable
