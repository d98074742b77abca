"""The driver of an arm on CAN boards, on a bus in the same process."""

from driver_arm import DT, SmallArm
import numpy as np

from armsense.boards.arm_driver import ArmDriver, DriverSettings
from armsense.boards.can_link import CanLink
from armsense.boards.command_guard import guard_limits
from armsense.boards.emulator.faults import Injection
from armsense.boards.emulator.rack import ArmRack
from armsense.boards.mode import Mode


class LoopbackBus:
    """A python-can bus straight into an emulated CAN board."""

    def __init__(self, rack, number):
        import can
        self._rack, self._number, self._can = rack, number, can
        self._queue = []
        self.state = can.BusState.ACTIVE     # python-can says so of SocketCAN, whatever happens
        self.deaf = False                    # what the board tells is lost
        self.currents = None                 # newest reference [A]

    def send(self, message, timeout=None):
        from armsense.boards.emulator.can_board import CanFrame
        from armsense.boards.protocol import udriver_can as wire
        if message.arbitration_id == wire.ID_CURRENT_REFERENCE:
            self.currents = wire.decode_pair(wire.ID_CURRENT, bytes(message.data))
        if self._rack.routed(self._number).bus_off:
            raise self._can.CanOperationError('bus off')
        self._rack.routed(self._number).receive(
            CanFrame(message.arbitration_id, bytes(message.data)))

    def recv(self, timeout=None):
        self._queue += self._rack.routed(self._number).drain()
        if self.deaf:
            self._queue.clear()
        if not self._queue:
            return None
        frame = self._queue.pop(0)
        return self._can.Message(arbitration_id=frame.arbitration_id, data=frame.data,
                                 is_extended_id=False, is_error_frame=frame.is_error)


def can_arm(faults=()):
    arm = SmallArm()
    arm.rack = ArmRack(arm.config, 'can', seed=3, alignment=0.05, faults=faults)
    arm.buses = [LoopbackBus(arm.rack.rack, b) for b in range(2)]
    links = [CanLink(bus, DT, timeout=0.0) for bus in arm.buses]
    arm.driver = ArmDriver(arm.config, guard_limits(arm.model), links,
                           DriverSettings(period=DT, board_timeout_ms=20))
    return arm


def test_on_can_the_host_closes_the_loops():
    arm = can_arm()
    arm.run(0.1)
    assert arm.driver.enable().success
    arm.run(0.3)
    assert arm.driver.mode == Mode.ENABLED, arm.driver.fault
    arm.controller = arm.swing
    arm.run(1.0)
    reference = arm.swing(None).position
    assert np.abs(arm.q - reference).max() < 0.05
    assert np.abs(arm.q - arm.config.home).max() > 0.1


def test_can_bus_off_is_named():
    arm = can_arm([Injection('can_bus_off', start=0.6)])
    arm.run(0.1)
    arm.driver.enable()
    arm.run(0.4)
    assert arm.driver.mode == Mode.ENABLED, arm.driver.fault
    arm.run(0.4)
    assert arm.driver.mode == Mode.DAMPING
    assert arm.driver.fault.name == 'bus_off'


def swinging_can_arm():
    arm = can_arm()
    arm.run(0.1)
    arm.driver.enable()
    arm.run(0.3)
    arm.controller = arm.swing
    arm.run(0.3)
    assert arm.driver.mode == Mode.ENABLED, arm.driver.fault
    return arm


def test_on_can_nothing_drives_an_arm_that_is_not_measured():
    arm = swinging_can_arm()
    for bus in arm.buses:
        bus.deaf = True
    arm.run(2 * DT)
    assert [bus.currents for bus in arm.buses] == [(0.0, 0.0)] * 2
    speed = np.abs(arm.dq)
    for _ in range(100):
        arm.run(5 * DT)
        assert np.all(np.abs(arm.dq) <= speed)
        speed = np.abs(arm.dq)
    assert [bus.currents for bus in arm.buses] == [(0.0, 0.0)] * 2
    assert arm.driver.fault.name == 'board_lost'


def test_on_can_enabling_recovers_from_a_watchdog():
    arm = swinging_can_arm()
    arm.stalled = True
    arm.run(0.06)
    arm.stalled = False
    arm.run(1.1)                                    # the boards tell it once a second
    assert arm.driver.fault.name == 'watchdog'
    under_way = arm.rack.rack.unsafe_frames         # sent before the host could read it
    assert not arm.driver.enable().success
    assert arm.driver.clear_fault().success
    arm.run(0.1)
    assert arm.driver.mode == Mode.DISABLED         # never enabled by itself
    arm.controller = lambda reading: arm.hold(reading)._replace(position=list(reading.position))
    assert arm.driver.enable().success
    arm.run(1.1)
    assert arm.driver.mode == Mode.ENABLED, arm.driver.fault
    assert all(board.system_enabled for board in arm.rack.rack.boards)
    assert arm.rack.rack.unsafe_frames == under_way


def test_on_can_an_error_that_enabling_does_not_clear_stays():
    arm = can_arm([Injection('driver_fault', start=0.6)])
    arm.run(0.1)
    arm.driver.enable()
    arm.run(1.6)
    assert arm.driver.fault.name == 'driver_chip'
    assert 'power-cycle' in arm.driver.clear_fault().message
