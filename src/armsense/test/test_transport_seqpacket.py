"""SEQPACKET transport against a hand-driven far end."""

from __future__ import annotations

import socket
from threading import Thread

import pytest

from armsense.boards.emulator.board import LoopbackTransport
from armsense.boards.transport.seqpacket import SeqpacketTransport
from armsense.errors import TransportUnavailable


@pytest.fixture
def far_end(tmp_path):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(tmp_path / 'b.sock'))
    listener.listen(1)
    yield str(tmp_path / 'b.sock'), listener
    listener.close()


def serve(listener, script):
    """Accept one host and run `script(connection)` in a thread."""
    def work():
        connection, _ = listener.accept()
        with connection:
            script(connection)
    thread = Thread(target=work)
    thread.start()
    return thread


def test_reply_and_drop(far_end):
    path, listener = far_end

    def script(connection):
        packet = connection.recv(256)
        connection.send(packet[:4] + packet[4:][::-1])
        connection.send(connection.recv(256)[:4])      # the number alone: no answer

    thread = serve(listener, script)
    transport = SeqpacketTransport(path, timeout=5.0)
    assert transport.transfer(b'abc') == b'cba'
    assert transport.transfer(b'abc') == b''
    thread.join()
    transport.close()


def test_late_reply_does_not_shift_the_following_ones(far_end):
    path, listener = far_end

    def script(connection):
        first = connection.recv(256)
        second = connection.recv(256)                  # sent after the first timed out
        connection.send(first)
        connection.send(second)

    thread = serve(listener, script)
    transport = SeqpacketTransport(path, timeout=0.02)
    assert transport.transfer(b'one') == b''
    transport._timeout = 5.0
    assert transport.transfer(b'two') == b'two'
    thread.join()
    transport.close()


def test_lost_far_end_is_a_drop(far_end):
    path, listener = far_end
    thread = serve(listener, lambda connection: None)
    transport = SeqpacketTransport(path, timeout=5.0)
    thread.join()
    listener.close()
    assert [transport.transfer(b'abc') for _ in range(3)] == [b'', b'', b'']
    assert not transport.connected


def test_nobody_listens(tmp_path):
    with pytest.raises(TransportUnavailable, match='start the simulator first'):
        SeqpacketTransport(str(tmp_path / 'none.sock'))


def test_loopback():
    class Echo:
        def receive(self, frame):
            return frame

    transport = LoopbackTransport(Echo().receive)
    assert transport.transfer(b'abc') == b'abc'
    transport.close()
    assert transport.transfer(b'abc') == b''


def test_a_board_that_comes_back_is_found_again(far_end):
    path, listener = far_end
    gone = serve(listener, lambda connection: None)
    transport = SeqpacketTransport(path, timeout=5.0)
    gone.join()
    assert transport.transfer(b'abc') == b''
    back = serve(listener, lambda connection: connection.send(connection.recv(256)))
    assert transport.transfer(b'abc') == b'abc'
    assert transport.connected
    back.join()
    transport.close()
    assert transport.transfer(b'abc') == b''           # closed for good
    assert not transport.connected
