"""Both drivers as nodes in this process, cycle by cycle: requests, time and wishes; no DDS."""

from types import SimpleNamespace

import pytest
import rclpy
from sensor_msgs.msg import JointState

from armsense.boards.arbiter import Answer
from armsense.boards.emulator.board import LoopbackTransport
from armsense.boards.emulator.rack import ArmRack
from armsense.boards.mode import Mode
from armsense.boards.protocol.spi import by_name
from armsense.boards.transport.link import SpiLink
from armsense.model import Arm
from armsense_driver import driver_node, motor_board_node, ros2_control_bridge_node

MODEL = Arm.load('laas4')
HOME = list(MODEL.config.home)
ZERO = [0.0] * 4
P = 1_000_000                # [ns]


class Time:
    """Stands in for the module; whoever sets the wall clock changes `wall`."""

    def __init__(self):
        self.now, self.wall = 5 * 10**9, 1_700_000_000 * 10**9     # [ns]

    def monotonic_ns(self):
        return self.now

    def monotonic(self):
        return 1e-9 * self.now

    def time_ns(self):
        return self.wall + self.now


class Boards:
    """`motor_board` on emulated boards."""

    def __init__(self, clock, monkeypatch):
        self.time = clock
        self.rack = ArmRack(MODEL.config, seed=1, alignment=0.02, noise=False)
        links = [SpiLink(by_name(MODEL.config.boards.protocol),
                         LoopbackTransport(self.rack.rack.port(b))) for b in range(2)]
        monkeypatch.setattr(motor_board_node, 'open_links', lambda *_: links)
        self.node = motor_board_node.MotorBoardNode()

    def step(self):
        self.time.now += P
        self.rack.step(1e-3, HOME, ZERO)
        self.node._cycle(0)


class Efforts:
    """`ros2_control_bridge` on a robot that stands still."""

    def __init__(self, clock, monkeypatch):
        self.time = clock
        self.node = ros2_control_bridge_node.Ros2ControlBridgeNode()

    def step(self):
        self.time.now += P
        message = JointState(name=list(MODEL.joint_names), position=HOME, velocity=ZERO,
                             effort=ZERO)
        stamp = self.time.time_ns()
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        self.node._step(message)


@pytest.fixture(params=[Boards, Efforts])
def arm(request, monkeypatch):
    clock = Time()
    for module in (driver_node, motor_board_node, ros2_control_bridge_node):
        monkeypatch.setattr(module, 'time', clock)
    rclpy.init(args=['--ros-args', '-p', 'autostart:=false', '-p', 'enable_on_start:=true'])
    arm = request.param(clock, monkeypatch)
    arm.speaks, arm.times = False, []
    try:
        arm.node.configure()
        arm.node._commands = SimpleNamespace(
            take_latest=lambda: answer(arm), publishers_take_turns=False)
        yield arm
    finally:
        arm.node.destroy_node()
        rclpy.shutdown()


def answer(arm):
    """The command of a controller that holds the arm, if there is one."""
    if not arm.speaks:
        return None
    return SimpleNamespace(position=HOME, velocity=ZERO, torque=ZERO, kp=[10.0] * 4, kd=[1.0] * 4,
                           ki=ZERO, seq=arm.node.driver.seq, collision_seq=0)


def run(arm, cycles):
    for _ in range(cycles):
        arm.step()
        arm.times.append(int(arm.node._states.message.time_ns))


def test_an_arm_enables_itself_for_a_controller_if_that_was_wished(arm):
    run(arm, 50)
    assert arm.node.driver.mode == Mode.DISABLED
    arm.speaks = True
    run(arm, 500)
    assert arm.node.driver.mode == Mode.ENABLED


@pytest.mark.parametrize('requests', [
    ('emergency_stop', 'clear_fault', 'disable'), ('emergency_stop', 'clear_fault'), ('disable',)])
def test_who_stopped_the_arm_before_a_controller_came_must_enable_it(arm, requests):
    run(arm, 50)
    for request in requests:
        assert arm.node._request(request).success
        run(arm, 20)
    arm.speaks = True
    run(arm, 500)
    assert arm.node.driver.mode == Mode.DISABLED
    assert arm.node._request('enable').success
    run(arm, 500)
    assert arm.node.driver.mode == Mode.ENABLED


@pytest.mark.parametrize('leap', [-3600.0, -0.005, 0.2, 86400.0])     # [s]
def test_setting_the_wall_clock_changes_neither_mode_nor_time(arm, leap):
    arm.speaks = True
    run(arm, 550)
    assert arm.node.driver.mode == Mode.ENABLED
    arm.time.wall += round(leap * 1e9)
    run(arm, 100)
    assert arm.node.driver.mode == Mode.ENABLED
    steps = {b - a for a, b in zip(arm.times[-110:], arm.times[-109:], strict=False)}
    assert steps == {P}


@pytest.mark.parametrize('what', ['enable', 'disable', 'clear_fault', 'emergency_stop'])
def test_requests_and_cycles_never_run_at_the_same_time(arm, what):
    locked = []

    def note(*_):
        locked.append(arm.node._lock.locked())
        return Answer(True, '')
    run(arm, 5)
    setattr(arm.node.driver, what, note)
    arm.node._request(what)
    decide = arm.node.driver.decide
    arm.node.driver.decide = lambda: note() and decide()
    arm.step()
    assert locked[0]
    assert len(locked) > 1
    assert all(locked)


def test_a_node_that_shall_end_brakes_until_the_arm_rests(arm):
    loop = arm.node.make_loop()
    arm.speaks = True
    run(arm, 550)
    assert arm.node.driver.mode == Mode.ENABLED
    arm.speaks = False                               # the controller ends at the same time
    cycles = 0
    while not loop._may_end() and cycles < 1000:     # as the loop asks, once it shall end
        arm.step()
        cycles += 1
        assert arm.node.driver.mode == (Mode.DISABLED if arm.node.driver.released
                                        else Mode.DAMPING)
        assert arm.node.driver.fault is None
    assert 100 <= cycles < 110                       # 0.1 s without motion is rest
    assert arm.node.driver.released
