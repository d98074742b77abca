"""Checks of a recorded run: a sound bag passes, each fault is named in words."""

import numpy as np
import pytest
from rosbags.interfaces import Nodetype
from rosbags.typesys import get_types_from_msg, get_typestore, Stores

from armsense.model import Arm
from armsense.recordings.bag_files import BagFacts, schema_text
from armsense.recordings.bag_writer import BagWriter
from armsense.recordings.recording_check import check_recording, model_hash, Run, verdict
from armsense.trajectory import Limits, point_to_point

START = 3.0
STEP = 0.01
MODEL = Arm.load('laas4')
HOME = np.array(MODEL.config.home)
MOTION = point_to_point(HOME, HOME + 0.4, Limits.of(MODEL), MODEL, 0.3)
TOPICS = {'/motor_states': 'armsense_msgs/msg/MotorStates',
          '/joint_states': 'sensor_msgs/msg/JointState',
          '/collision': 'armsense_msgs/msg/Collision',
          '/motor_board/mode': 'armsense_msgs/msg/DriverMode'}
ZERO = {'string': '', 'bool': False, 'float64': 0.0, 'int64': 0, 'uint64': 0, 'uint32': 0,
        'int32': 0, 'uint8': 0}
STORE = get_typestore(Stores.ROS2_JAZZY)
for kind in TOPICS.values():
    if kind not in STORE.fielddefs:
        STORE.register(get_types_from_msg(schema_text(kind), kind))


def make(kind, **fields):
    """A message with zeros where nothing is given."""
    values = {}
    for name, (node, detail) in STORE.fielddefs[kind][1]:
        default = (make(detail) if node == Nodetype.NAME else ZERO[detail[0]]
                   if node == Nodetype.BASE else np.zeros(9 if name == 'force_covariance' else 0))
        values[name] = fields.get(name, default)
    return STORE.types[kind](**values)


def header(t):
    stamp = make('builtin_interfaces/msg/Time', sec=int(t), nanosec=round((t - int(t)) * 1e9))
    return make('std_msgs/msg/Header', stamp=stamp)


def write_bag(folder, *, away=0.0, torque=0.1, gap=False, hit=False, fault=False, fast=0.0):
    """The motion as an ideal arm drives it, with one thing wrong."""
    bag = BagWriter(folder)
    for topic, kind in TOPICS.items():
        bag.add_topic(topic, kind)

    def write(topic, t, **fields):
        message = make(TOPICS[topic], **fields)
        bag.write(topic, bytes(STORE.serialize_cdr(message, TOPICS[topic])), round(t * 1e9))

    for t in np.arange(START - 0.5, START + MOTION.duration + 0.5, STEP):
        if gap and START + 0.5 < t < START + 0.7:
            continue
        sample = MOTION.sample(float(t - START))
        common = {'header': header(t), 'position': sample.q + away, 'velocity': sample.dq + fast}
        write('/motor_states', t, torque=np.full(4, torque), **common)
        write('/joint_states', t, name=list(MODEL.joint_names), effort=np.full(4, torque),
              **common)
    if hit:
        write('/collision', 4.0, header=header(4.0), link='link3', joint='joint2', residual=1.5)
    write('/motor_board/mode', 1.0, mode=4 if fault else 3, fault='over_current' * fault,
          explanation='joint 2 drew 30 A')
    bag.close()
    return folder


def test_sound_run_passes(tmp_path):
    checks = check_recording(write_bag(tmp_path / 'bag'), Run(MODEL, MOTION, START))
    assert verdict(checks) == 'ok'
    assert [check.name for check in checks] == [
        'complete', 'followed', 'position', 'velocity', 'torque', 'untouched', 'faultless']


@pytest.mark.parametrize(('wrong', 'text'), [
    ({'away': np.array([0.0, 0.0, 0.2, 0.0])}, 'the arm did not follow: joint3 was 0.200 rad'),
    ({'torque': 500.0}, 'left its torque limits: 500 Nm'),
    ({'fast': 50.0}, 'left its velocity limits'),
    ({'gap': True}, 'ms without a state'),
    ({'hit': True}, '1 collision, the first on link3 (1.50 Nm at joint2)'),
    ({'fault': True}, 'the driver went to damping: over_current (joint 2 drew 30 A)'),
])
def test_each_fault_is_named(tmp_path, wrong, text):
    checks = check_recording(write_bag(tmp_path / 'bag', **wrong), Run(MODEL, MOTION, START))
    assert text in verdict(checks)
    assert sum(not check.passed for check in checks) == 1


def test_facts_stand_in_the_metadata(tmp_path):
    bag = write_bag(tmp_path / 'bag')
    assert BagFacts.read(bag) is None
    facts = BagFacts(arm='laas4', model_sha256=model_hash(MODEL), motion_start='3.0',
                     motion_end='7.5')
    facts.write(bag)
    assert BagFacts.read(bag) == facts
    assert BagFacts.read(bag).window() == (3.0, 7.5)


def test_model_hash_changes_with_the_parameters():
    heavier = MODEL.replace(1.01 * MODEL.parameters)
    assert model_hash(heavier) != model_hash(MODEL)
    assert model_hash(Arm.load('laas4')) == model_hash(MODEL)
