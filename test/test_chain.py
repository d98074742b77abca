"""The chain: emulated boards, driver, controller as processes over DDS, in lock-step."""

import math

from arm_system import arm_system
import pytest

from armsense_msgs.msg import DriverMode, MotorCommands
from armsense_node.lockstep import lockstep_qos

HOME = [0.0, 0.6, 0.0, -0.6]
ZERO = [0.0] * 4


@pytest.fixture(scope='module', params=['spi', 'can'])
def system(request):
    with arm_system(lockstep='true', observer='false', bus=request.param) as (client, supervisor):
        client.wait_mode(DriverMode.ENABLED)
        yield client, supervisor
    assert supervisor.exit_code == 0, supervisor.last_words


def test_a_trajectory_is_followed(system):
    client, _ = system
    target = [0.5, 0.3, 0.4, -0.2]
    result = client.result(client.send([(1.0, target)]))
    assert result.error_code == 0, result.error_string
    assert max(abs(a - b) for a, b in zip(client.state.position, target, strict=True)) < 0.02
    back = client.result(client.send([(1.0, HOME)]))
    assert back.error_code == 0, back.error_string


def test_joints_in_another_order_are_sorted(system):
    client, _ = system
    names = ['joint4', 'joint2', 'joint1', 'joint3']
    result = client.result(client.send([(1.0, [-0.4, 0.5, 0.2, 0.1])], names))
    assert result.error_code == 0, result.error_string
    assert client.state.position[0] == pytest.approx(0.2, abs=0.02)
    assert client.state.position[3] == pytest.approx(-0.4, abs=0.02)


def test_a_goal_with_missing_joints_is_refused_with_their_names(system):
    client, _ = system
    result = client.result(client.send([(1.0, [0.0, 0.0])], ['joint1', 'joint7']))
    assert result.error_code == -2
    assert 'joint2' in result.error_string
    assert 'joint7' in result.error_string


def test_a_goal_beyond_a_limit_is_refused_before_anything_moves(system):
    client, _ = system
    before = list(client.state.position)
    result = client.result(client.send([(1.0, [0.0, 2.5, 0.0, 0.0])]))
    assert result.error_code == -1
    assert 'joint2' in result.error_string
    assert max(abs(a - b) for a, b in zip(client.state.position, before, strict=True)) < 0.01


def test_cancel_stops_smoothly(system):
    client, _ = system
    handle = client.send([(8.0, [1.5, 0.6, 0.0, -0.6])])
    client.wait(lambda: client.state.position[0] > 0.4, what='motion')
    client.cancel(handle)
    client.result(handle)
    client.wait(lambda: abs(client.state.velocity[0]) < 0.05, what='stop')
    assert client.state.position[0] < 1.4


def test_stop_clear_enable_again(system):
    client, _ = system
    assert client.call('motor_board/emergency_stop').success
    client.wait_mode(DriverMode.DAMPING)
    assert client.modes[-1].fault == 'emergency_stop'
    assert not client.call('motor_board/enable').success
    assert client.call('motor_board/clear_fault').success
    client.wait_mode(DriverMode.DISABLED)
    assert client.call('motor_board/enable').success
    client.wait_mode(DriverMode.ENABLED)


def test_a_second_controller_stops_the_arm_until_it_is_gone(system):
    client, _ = system
    rival = client.node.create_publisher(MotorCommands, 'motor_commands', lockstep_qos())
    # It does nothing but speak: what it says is too old to be followed.
    timer = client.node.create_timer(0.1, lambda: rival.publish(MotorCommands(
        position=HOME, velocity=ZERO, torque=ZERO, kp=ZERO, kd=ZERO, ki=ZERO)))
    client.wait_mode(DriverMode.DAMPING)
    for _ in range(2):                                   # nor can it be enabled again
        assert client.modes[-1].fault == 'two_controllers'
        assert 'stop the others' in client.modes[-1].explanation
        assert client.call('motor_board/clear_fault').success
        client.wait_mode(DriverMode.DISABLED)
        client.call('motor_board/enable')
        client.wait_mode(DriverMode.DAMPING)
    timer.cancel()

    def enabled() -> bool:
        mode = client.modes[-1].mode
        if mode == DriverMode.DAMPING:
            client.call('motor_board/clear_fault')
        elif mode == DriverMode.DISABLED:
            client.call('motor_board/enable')
        return mode == DriverMode.ENABLED
    client.wait(enabled, what='enabling without the rival')


def test_laws_can_be_switched_and_unknown_ones_are_named(system):
    client, _ = system
    answer = client.call('dynamic_controller/switch', 'pd_gravity')
    assert answer.success, answer.message
    answer = client.call('dynamic_controller/switch', 'pd_grafity')
    assert not answer.success
    assert 'computed_torque' in answer.message


def test_joint_states_are_the_link_side(system):
    client, _ = system
    client.wait(lambda: client.joint_state is not None)
    assert list(client.joint_state.name) == ['joint1', 'joint2', 'joint3', 'joint4']
    assert all(math.isfinite(v) for v in client.joint_state.effort)
