"""python-can bus over SEQPACKET."""

from __future__ import annotations

import socket

import can
import pytest

from armsense.boards.transport.can_bus import (
    ATTEMPT,
    DATA,
    ERROR,
    ERROR_BUS_OFF,
    ERROR_RESTARTED,
    open_can_bus,
    pack_message,
    SeqpacketBus,
    SILENCE,
    unpack_message,
)
from armsense.errors import TransportUnavailable


@pytest.fixture
def ends(tmp_path):
    path = str(tmp_path / 'can.sock')
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen(1)
    bus = open_can_bus('seqpacket', path)
    far, _ = listener.accept()
    yield bus, far
    bus.shutdown()
    far.close()
    listener.close()


def message(arbitration_id=0x005, data=b'\x01\x02'):
    return can.Message(arbitration_id=arbitration_id, data=data, is_extended_id=False)


def test_send_and_receive(ends):
    bus, far = ends
    assert isinstance(bus, SeqpacketBus)
    bus.send(message())
    assert unpack_message(far.recv(64)) == (0x005, b'\x01\x02', DATA)
    far.send(pack_message(0x030, bytes(8)))
    heard = bus.recv(1.0)
    assert heard.arbitration_id == 0x030
    assert bytes(heard.data) == bytes(8)
    assert not heard.is_extended_id
    assert bus.recv(0.0) is None


def test_filters_apply(ends):
    bus, far = ends
    bus.set_filters([{'can_id': 0x020, 'can_mask': 0x7FF}])
    far.send(pack_message(0x030, b''))
    far.send(pack_message(0x020, b''))
    assert bus.recv(1.0).arbitration_id == 0x020


def test_bus_off_and_restart(ends):
    bus, far = ends
    far.send(pack_message(ERROR_BUS_OFF, bytes(8), ERROR))
    assert bus.recv(1.0).is_error_frame
    assert bus.state is can.BusState.ERROR
    with pytest.raises(can.CanOperationError, match='bus is off'):
        bus.send(message())
    assert unpack_message(far.recv(64)) == (0x005, b'', ATTEMPT)
    # A host that only sends must notice the restart too; what came before it is lost.
    far.send(pack_message(0x030, bytes(8)))
    far.send(pack_message(ERROR_RESTARTED, bytes(8), ERROR))
    bus.send(message())
    assert bus.state is can.BusState.ACTIVE
    assert unpack_message(far.recv(64)) == (0x005, b'\x01\x02', DATA)
    assert bus.recv(0.0) is None


def test_silence_ends_the_wait(ends):
    bus, far = ends
    far.send(pack_message(0, b'', SILENCE))
    far.send(pack_message(0x030, bytes(8)))
    assert bus.recv(60.0) is None
    assert bus.recv(60.0).arbitration_id == 0x030


def test_far_end_gone(ends):
    bus, far = ends
    far.close()
    with pytest.raises(can.CanOperationError, match='gone'):
        bus.recv(1.0)
    assert bus.state is can.BusState.ERROR
    with pytest.raises(can.CanOperationError):
        bus.send(message())


def test_errors_say_what_to_do(tmp_path):
    with pytest.raises(TransportUnavailable, match='start the simulator first'):
        open_can_bus('seqpacket', str(tmp_path / 'none.sock'))
    with pytest.raises(TransportUnavailable, match='ip link set nocan0 up'):
        open_can_bus('socketcan', 'nocan0')
