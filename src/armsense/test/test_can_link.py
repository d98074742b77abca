"""One CAN board's link against a bus that says what it is told to, like SocketCAN."""

from __future__ import annotations

import can
import pytest

from armsense.boards.can_link import CanLink
from armsense.boards.protocol import udriver_can as wire
from armsense.boards.protocol.messages import (
    BoardCommand,
    BoardError,
    BoardStatus,
    MotorCommand,
)
from armsense.boards.transport.can_bus import ERROR_BUS_OFF, ERROR_RESTARTED
from armsense.boards.transport.link import Outcome

PERIOD = 0.01     # [s]
ERROR_NO_ACKNOWLEDGE = 0x20
SPEED = 3.0       # [rad/s] of both motors
DAMPING = MotorCommand(kd=0.5, current_limit=10.0)
BRAKE = BoardCommand(enable=True, motors=(DAMPING, DAMPING), timeout_ms=20)


class Bus:
    """Its state is always ACTIVE, as python-can's is for SocketCAN."""

    state = can.BusState.ACTIVE

    def __init__(self):
        self.waiting: list[can.Message] = []
        self.currents: list[tuple[float, float]] = []
        self.full = False       # sending fails

    def send(self, message, timeout=None):
        if self.full:
            raise can.CanOperationError('no buffer space available')
        if message.arbitration_id == wire.ID_CURRENT_REFERENCE:
            self.currents.append(wire.decode_pair(wire.ID_CURRENT, bytes(message.data)))

    def recv(self, timeout=None):
        return self.waiting.pop(0) if self.waiting else None

    def tell(self, arbitration_id, data=bytes(8), error=False):
        self.waiting.append(can.Message(arbitration_id=arbitration_id, data=data,
                                        is_extended_id=False, is_error_frame=error))

    def measure(self):
        self.tell(wire.ID_CURRENT)
        self.tell(wire.ID_POSITION)
        self.tell(wire.ID_VELOCITY, wire.encode_pair(wire.ID_VELOCITY, SPEED, SPEED))

    def tell_status(self, error=BoardError.NONE):
        self.tell(wire.ID_STATUS, wire.encode_status(BoardStatus.build(
            system=not error, enabled=(True, True), ready=(True, True), error=error)))


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


@pytest.mark.parametrize('error_class', [ERROR_NO_ACKNOWLEDGE, ERROR_RESTARTED])
def test_an_error_frame_does_not_hide_what_the_board_reports(bus, link, error_class):
    bus.tell_status(BoardError.ENCODER_1)
    assert listen(link, bus).state.status.error is BoardError.ENCODER_1
    bus.tell(error_class, error=True)
    assert listen(link, bus).state.status.error is BoardError.ENCODER_1


@pytest.mark.parametrize('full', [False, True])
def test_a_bus_that_is_off_is_told_until_it_carries_something_again(bus, link, full):
    bus.tell_status()
    assert listen(link, bus).state.status.error is BoardError.NONE
    bus.full = full
    bus.tell(ERROR_BUS_OFF, error=True)
    off = link.exchange(BRAKE)
    assert off.state.status.error is BoardError.LINK_FAILURE
    assert off.accepted != full
    assert link.exchange(BRAKE).outcome is Outcome.DROP
    bus.full = False
    bus.tell(ERROR_RESTARTED, error=True)
    assert listen(link, bus).state.status.error is BoardError.NONE
    assert bus.currents[-1] == (0.0, 0.0)


def test_an_error_is_gone_with_the_enabling_that_clears_it(bus, link):
    rest = BoardCommand()
    bus.tell_status(BoardError.RECEIVE_TIMEOUT)
    assert listen(link, bus, rest).state.status.error is BoardError.RECEIVE_TIMEOUT
    assert listen(link, bus, rest).state.status.error is BoardError.RECEIVE_TIMEOUT
    assert listen(link, bus).state.status.error is BoardError.NONE
    bus.tell_status(BoardError.RECEIVE_TIMEOUT)      # it came too late again
    assert listen(link, bus).state.status.error is BoardError.RECEIVE_TIMEOUT
