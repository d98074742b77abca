import math

import pytest

from armsense.boards.joint_map import JointMap
from armsense.boards.protocol.messages import BoardState, MotorCommand, MotorState
from armsense.errors import ArmsenseError
from armsense.model import ArmConfig
from armsense.schema import load
from armsense.types import Command


def config(**joint):
    base = {'drive': 'rigid', 'gear_ratio': 20.0, 'torque_constant': 0.05, 'current_limit': 10.0,
            'slot': {'board': 0, 'motor': 1}}
    other = {**base, 'slot': {'board': 0, 'motor': 2}, 'direction': -1}
    return load(ArmConfig, {'arm': 'two', 'title': 't', 'urdf': 'u', 'home': [0.5, -0.5],
                            'joints': {'joint1': {**base, **joint}, 'joint2': other}}, 'two.yaml')


def states(one=0.0, two=0.0, current=(0.0, 0.0), adc=(0, 0)):
    return [BoardState(motors=(MotorState(one, 2.0, current[0], adc=adc[0]),
                               MotorState(two, 2.0, current[1], adc=adc[1])))]


def test_reading_by_hand():
    reading = JointMap(config()).reading(states(10.0, 10.0, (2.0, 2.0)))
    # q = home + direction * angle / gear; torque = direction * 0.05 * 20 * current
    assert reading.position == pytest.approx([0.5 + 0.5, -0.5 - 0.5])
    assert reading.velocity == pytest.approx([0.1, -0.1])
    assert reading.torque == pytest.approx([2.0, -2.0])
    assert reading.joint_position == []
    assert reading.strain == []


def test_commands_undo_readings():
    joint_map = JointMap(config())
    n = [0.0, 0.0]
    command = Command([1.0, -1.0], [0.1, -0.1], [2.0, -2.0], [40.0, 40.0], [4.0, 4.0], n)
    one, two = joint_map.motor_commands(command)[0]
    assert (one.position, two.position) == pytest.approx((10.0, 10.0))
    assert (one.velocity, two.velocity) == pytest.approx((2.0, 2.0))
    assert (one.current, two.current) == pytest.approx((2.0, 2.0))
    # 40 Nm/rad at the joint: 0.1 rad -> 4 Nm -> 4 A, and 0.1 rad are 2 rad at the motor.
    assert (one.kp, two.kp) == pytest.approx((2.0, 2.0))


def test_link_encoders_are_unwrapped_from_the_turn_nearest_home():
    joint_map = JointMap(config(drive='elastic_joint', elastic={'stiffness': 100.0},
                                joint_encoder={'counts': 65536}))
    start = round(0.5 / math.tau * 65536)
    assert joint_map.reading(states(adc=(start, 0))).joint_position[0] == pytest.approx(
        0.5, abs=1e-4)
    angle = 0.5
    for _ in range(30):                       # 30 x -0.3 rad: through zero, and a whole turn
        angle -= 0.3
        counts = round(angle / math.tau * 65536) % 65536
        reading = joint_map.reading(states(adc=(counts, 0)))
        assert reading.joint_position[0] == pytest.approx(angle, abs=1e-4)
    assert reading.joint_position[1] == reading.position[1]      # rigid: where its motor is


def test_strain_is_read_around_the_middle_of_the_converter():
    joint_map = JointMap(config(drive='strain_link', strain={
        'bending_stiffness': 10.0, 'surface_distance': 0.002, 'gauge_position': 0.05,
        'length': 0.4, 'adc_scale': 1e-7}))
    reading = joint_map.reading(states(adc=(32768 - 500, 0)))
    assert reading.strain == pytest.approx([-5e-5, 0.0])


def test_two_joints_on_one_motor_are_refused():
    bad = config()
    joints = {'joint1': bad.joints['joint1'], 'joint2': bad.joints['joint1']}
    object.__setattr__(bad, 'joints', joints)
    with pytest.raises(ArmsenseError, match='share one motor'):
        JointMap(bad)


def test_a_joint_without_a_slot_is_named():
    with pytest.raises(ArmsenseError, match='joint1 has no slot'):
        JointMap(config(slot=None))


def test_a_current_without_sign_has_that_of_the_law_which_the_board_follows():
    joint_map = JointMap(config(current_sensor={'unsigned': True}))
    # kp (p_ref - p) + kd (v_ref - v) + ff at p = 1, v = 2: 2 - 1.2 - 1 = -0.2 A
    law = MotorCommand(position=3.0, velocity=0.8, current=-1.0, kp=1.0, kd=1.0, current_limit=9.0)
    one, two = joint_map.reading(states(1.0, 1.0, (0.3, 0.3)), [[law, law]]).current
    assert (one, two) == (-0.3, 0.3)           # the second sensor tells the sign itself
    assert joint_map.reading(states(1.0, 1.0, (0.3, 0.3))).current == [0.3, 0.3]


def test_an_integrator_hides_the_sign():
    bad = load(ArmConfig, {'arm': 'two', 'title': 't', 'urdf': 'u', 'boards': {
        'protocol': 'laas_inhouse'}, 'joints': {'joint1': {
            'drive': 'rigid', 'gear_ratio': 1.0, 'torque_constant': 1.0, 'current_limit': 1.0,
            'slot': {'board': 0, 'motor': 1}, 'current_sensor': {'unsigned': True}}}}, 'two.yaml')
    with pytest.raises(ArmsenseError, match='without an integrator'):
        JointMap(bad)
