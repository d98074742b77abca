"""One CAN board's link against a bus that says what it is told to, like SocketCAN."""

from __future__ import annotations

import can
import pytest

from armsense_driver.can_link import CanLink
from armsense_driver.protocol import udriver_can as wire
from armsense_driver.protocol.messages import BoardCommand, MotorCommand
from armsense_driver.transport.counters import Outcome

PERIOD = 0.01     # [s]
SPEED = 3.0       # [rad/s] of both motors
DAMPING = MotorCommand(kd=0.5, current_limit=10.0)
BRAKE = BoardCommand(enable=True, motors=(DAMPING, DAMPING), timeout_ms=20)


class Bus:
    """Its state is always ACTIVE, as python-can's is for SocketCAN."""

    state = can.BusState.ACTIVE

    def __init__(self):
        self.waiting: list[can.Message] = []
        self.currents: list[tuple[float, float]] = []

    def send(self, message, timeout=None):
        if message.arbitration_id == wire.ID_CURRENT_REFERENCE:
            self.currents.append(wire.decode_currents(bytes(message.data)))

    def recv(self, timeout=None):
        return self.waiting.pop(0) if self.waiting else None

    def tell(self, arbitration_id, data=bytes(8)):
        self.waiting.append(can.Message(arbitration_id=arbitration_id, data=data,
                                        is_extended_id=False))

    def measure(self):
        self.tell(wire.ID_CURRENT)
        self.tell(wire.ID_POSITION)
        self.tell(wire.ID_VELOCITY, wire.encode_velocities(SPEED, SPEED))


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def link(bus):
    return CanLink(bus, PERIOD, timeout=0.0)


def listen(link, bus, command=BRAKE):
    bus.measure()
    return link.exchange(command)


def garble(bus):
    bus.tell(wire.ID_POSITION, bytes(3))


@pytest.mark.parametrize(('happen', 'outcome'), [
    (lambda bus: None, Outcome.DROP), (garble, Outcome.MALFORMED)])
def test_without_measurements_there_is_no_current(bus, link, happen, outcome):
    listen(link, bus)
    listen(link, bus)
    assert bus.currents[-1] == pytest.approx((-0.5 * SPEED, -0.5 * SPEED), abs=1e-3)
    happen(bus)
    assert link.exchange(BRAKE).outcome is outcome
    listen(link, bus)
    assert bus.currents[-1] == (0.0, 0.0)
    listen(link, bus)
    assert bus.currents[-1] == pytest.approx((-0.5 * SPEED, -0.5 * SPEED), abs=1e-3)


def test_what_was_integrated_before_a_silence_is_forgotten(bus, link):
    motor = MotorCommand(position=1.0, ki=2.0, current_limit=10.0)
    integrate = BRAKE._replace(motors=(motor, motor))
    for _ in range(5):
        listen(link, bus, integrate)
    assert bus.currents[-1][0] == pytest.approx(2.0 * 4 * PERIOD, abs=1e-3)
    link.exchange(integrate)
    listen(link, bus, integrate)
    listen(link, bus, integrate)
    assert bus.currents[-1][0] == pytest.approx(2.0 * PERIOD, abs=1e-3)
