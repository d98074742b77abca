from __future__ import annotations

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message

from armsense.errors import ArmsenseError
from armsense.recordings.cdr import BadRecord
from armsense.recordings.record import new_record, RecordDecoder
from armsense_msgs.msg import (
    BaseResidual,
    Collision,
    LoadCells,
    MotorCommands,
    MotorStates,
    Residual,
)

CASES = [
    (MotorStates, 4, {}), (MotorStates, 4, {'joint_position': 0, 'strain': 0}),
    (MotorStates, 3, {'joint_position': 0}), (MotorStates, 1, {}), (MotorStates, 0, {}),
    (MotorCommands, 4, {}), (MotorCommands, 7, {}), (Residual, 3, {}), (Residual, 4, {}),
    (Residual, 0, {}), (BaseResidual, 0, {}), (LoadCells, 4, {}), (LoadCells, 5, {})]
FRAMES = ['', 'base_link', 'größe']


def fields(record) -> list:
    return [s for s in record._layout.slots if s.name not in ('stamp_ns', 'frame_id')]


def fill(record, rng: np.random.Generator) -> None:
    record.stamp_ns = int(rng.integers(0, 2**31 * 10**9))
    for slot in fields(record):
        size = abs(slot.items)
        values = {'d': rng.normal(size=size), '?': rng.random(size) < 0.5}.get(
            slot.code, rng.integers(0, 2**60, size))
        setattr(record, slot.name, values if slot.items >= 0 else values[0].item())


def assert_same(record, message) -> None:
    stamp = message.header.stamp
    assert record.stamp_ns == stamp.sec * 10**9 + stamp.nanosec
    assert record.frame_id == message.header.frame_id
    for slot in fields(record):
        assert np.array_equal(getattr(record, slot.name), getattr(message, slot.name)), slot.name


@pytest.mark.parametrize('frame_id', FRAMES)
@pytest.mark.parametrize(('msg_type', 'length', 'lengths'), CASES)
def test_ros_reads_what_a_record_writes(msg_type, length, lengths, frame_id):
    record = new_record(msg_type, length, lengths, frame_id)
    for seed in range(3):
        fill(record, np.random.default_rng(seed))
        assert_same(record, deserialize_message(record.wire(), msg_type))


@pytest.mark.parametrize('frame_id', FRAMES)
@pytest.mark.parametrize(('msg_type', 'length', 'lengths'), CASES)
def test_a_record_reads_what_ros_writes(msg_type, length, lengths, frame_id):
    decoder = RecordDecoder(msg_type)
    source = new_record(msg_type, length, lengths, frame_id)
    for seed in range(3):
        fill(source, np.random.default_rng(seed))
        message = deserialize_message(source.wire(), msg_type)
        assert_same(decoder.decode(serialize_message(message)), message)


def test_layouts_of_equal_size_are_told_apart():
    decoder = RecordDecoder(MotorStates, 2, ('joint_position', 'strain'))
    for name, other in (('strain', 'joint_position'), ('joint_position', 'strain')):
        record = new_record(MotorStates, 2, {other: 0})
        setattr(record, name, [1.0, 2.0])
        read = decoder.decode(record.wire())
        assert getattr(read, name).tolist() == [1.0, 2.0]
        assert getattr(read, other).size == 0


def test_received_arrays_are_aligned_constant_and_lasting():
    decoder = RecordDecoder(MotorCommands, 4)
    record = new_record(MotorCommands, 4)
    record.position = [1, 2, 3, 4]
    first = decoder.decode(record.wire()).position
    record.position = 0.0
    decoder.decode(record.wire())
    assert first.tolist() == [1, 2, 3, 4]
    assert first.flags.aligned
    assert not first.flags.writeable
    assert record.position.flags.aligned


def test_equal_values_give_equal_bytes():
    records = [new_record(Residual, 3, None, 'base') for _ in range(2)]
    for record in records:
        fill(record, np.random.default_rng(1))
    assert records[0].wire() == records[1].wire()


def test_fields_are_filled_in_place_and_kept():
    record = new_record(MotorCommands, 3)
    position = record.position
    position[1] = 5.0
    record.kp = 2.0
    assert deserialize_message(record.wire(), MotorCommands).position.tolist() == [0, 5, 0]
    assert deserialize_message(record.wire(), MotorCommands).kp.tolist() == [2, 2, 2]
    assert 'position=array([0., 5., 0.])' in repr(record)


@pytest.mark.parametrize('values', [[1.0, 2.0], np.zeros(5), np.zeros((4, 2))])
def test_wrong_length_is_refused(values):
    with pytest.raises(ArmsenseError, match=r'MotorCommands\.position .* array of 4'):
        new_record(MotorCommands, 4).position = values


@pytest.mark.parametrize('value', [1.5, -1, 2**64, 'x', None])
def test_bad_scalar_is_refused(value):
    with pytest.raises(ArmsenseError, match=r'MotorCommands\.seq'):
        new_record(MotorCommands, 4).seq = value


def test_unknown_fields_are_refused():
    record = new_record(MotorCommands, 4)
    with pytest.raises(AttributeError):
        record.positions = 0.0
    with pytest.raises(AttributeError):
        record.frame_id = 'x'
    with pytest.raises(BadRecord, match='power.*position'):
        new_record(MotorStates, 4, {'power': 1})


def test_unexpected_length_is_named_once_and_dropped():
    decoder = RecordDecoder(MotorStates, 4, ('strain',))
    short = new_record(MotorStates, 4, {'torque': 3}).wire()
    with pytest.raises(ArmsenseError, match=r'MotorStates\.torque has 3 values; it must have 4'):
        decoder.decode(short)
    assert decoder.decode(short) is None
    with pytest.raises(ArmsenseError, match=r'strain has 2 values; it must have 4 or none'):
        decoder.decode(new_record(MotorStates, 4, {'strain': 2}).wire())
    good = new_record(MotorStates, 4, {'strain': 0})
    good.seq = 8
    assert decoder.decode(good.wire()).seq == 8
    assert decoder.decode(short) is None


def test_many_shapes_do_not_fill_the_memory():
    decoder = RecordDecoder(MotorCommands)
    for n in range(50):
        assert decoder.decode(new_record(MotorCommands, n).wire()).position.size == n
    assert len(decoder._shapes) <= 8


def test_cut_bytes_are_refused():
    wire = new_record(Residual, 3, None, 'base').wire()
    for size in range(len(wire)):
        with pytest.raises(BadRecord):
            RecordDecoder(Residual).decode(wire[:size])
    decoder = RecordDecoder(Residual)
    assert decoder.decode(wire) is not None
    for size in range(len(wire)):
        with pytest.raises(BadRecord):
            decoder.decode(wire[:size])


def test_random_bytes_are_refused_or_read():
    rng = np.random.default_rng(5)
    for _ in range(300):
        data = b'\x00\x01\x00\x00' + rng.bytes(int(rng.integers(0, 200)))
        try:
            RecordDecoder(MotorStates, 4).decode(data)
        except ArmsenseError:
            continue
        pytest.fail('random lengths passed for four joints')


def test_other_byte_order_is_named():
    with pytest.raises(BadRecord, match='little-endian'):
        RecordDecoder(Residual).decode(b'\x00\x00\x00\x00' + bytes(100))


def test_type_that_does_not_fit_is_named():
    with pytest.raises(BadRecord, match=r'Collision\.\w+ is a'):
        new_record(Collision)


@pytest.mark.parametrize('rubbish', [0, 4])     # behind the last field, as some senders leave it
@pytest.mark.parametrize('length', [1, 3, 4, 7])
def test_a_state_recorded_before_it_had_a_monotonic_time_reads_zero(length, rubbish):
    state = new_record(MotorStates, length, {'strain': 0}, 'base_link')
    fill(state, np.random.default_rng(1))
    end = next(s.offset for s in state._layout.slots if s.name == 'enabled') + 1
    old = state.wire()[:4 + end] + b'\x07' * rubbish
    record = RecordDecoder(MotorStates).decode(old)
    assert record.time_ns == 0
    assert np.array_equal(record.torque, state.torque)
    assert (record.stamp_ns, record.enabled) == (state.stamp_ns, state.enabled)
    with pytest.raises(BadRecord, match='cut off'):
        RecordDecoder(MotorStates).decode(old[:4 + end - 2])
