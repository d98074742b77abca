"""Serves the boards of a rack to a driver in another process, one SEQPACKET path per board.

A server has no clock and no thread: the simulator owns the loop. In lock-step one cycle is what a
driver sends to every board once::

    while running:
        torque = rack.step(dt, theta, omega)
        server.flush()
        server.wait_all(timeout=10.0) or fail()       # realtime: server.poll(0.0)
        plant.integrate(torque, dt)
"""

from collections.abc import Sequence
import contextlib
from pathlib import Path
import select
import socket
from time import monotonic

from armsense.boards.emulator.can_board import CanFrame
from armsense.boards.emulator.rack import BoardRack
from armsense.boards.protocol import udriver_can as wire
from armsense.boards.transport.can_bus import ATTEMPT, pack_message, SILENCE, unpack_message
from armsense.boards.transport.seqpacket import ENVELOPE, MAX_PACKET

_SYSTEM_ENABLE = wire.encode_command(wire.CommandCode.SYSTEM_ENABLE, 1)
_ZERO = wire.encode_pair(wire.ID_CURRENT_REFERENCE, 0.0, 0.0)


class BoardServer:
    """What serving boards has in common, whatever the wire: a new host replaces the old one."""

    def __init__(self, rack: BoardRack, paths: Sequence[str]) -> None:
        """Start to listen on one path per board, see `socket_paths`; stale files are replaced."""
        if len(paths) != len(rack.boards):
            raise ValueError(f'{len(paths)} paths; expected {len(rack.boards)}, one per board')
        self._rack = rack
        self._waiting: set[int] = set()      # boards not yet served in this cycle
        self._paths = [Path(path) for path in paths]
        self._poll = select.poll()
        self._listeners: dict[int, tuple[int, socket.socket]] = {}
        self._hosts: list[socket.socket | None] = [None] * len(paths)
        self._boards: dict[int, int] = {}        # descriptor of a host -> board
        for number, path in enumerate(self._paths):
            self._listen(number, path)

    def flush(self) -> None:
        """Send what the boards say without being asked."""

    def poll(self, timeout: float | None = 0.0) -> list[int]:
        """Serve every packet that is pending or arrives first within `timeout` [s].

        Returns the boards whose cycle is over, in order of arrival.
        """
        raise NotImplementedError

    def wait_all(self, timeout: float) -> bool:
        """Serve until each board has been served once in this cycle.

        False if `timeout` [s] passes before; the next call then goes on with the same cycle.
        """
        deadline = monotonic() + timeout
        if not self._waiting:
            self._waiting = set(range(len(self._rack.boards)))
            self._begin_cycle()
        while self._waiting:
            left = max(deadline - monotonic(), 0.0)
            served = self.poll(left)
            self._waiting.difference_update(served)
            if not (served or left):
                return False
        return True

    def _begin_cycle(self) -> None:
        """What a wire needs at the beginning of a lock-step cycle."""

    @property
    def connected(self) -> list[bool]:
        """Per board, whether a driver is connected."""
        return [host is not None for host in self._hosts]

    def close(self) -> None:
        for number in range(len(self._hosts)):
            self._forget(number)
        for _, listener in self._listeners.values():
            listener.close()
        self._listeners.clear()
        for path in self._paths:
            path.unlink(missing_ok=True)

    def _packets(self, timeout: float | None) -> list[tuple[int, bytes]]:
        """At most one packet per board that arrives within `timeout` [s]; None waits for ever.

        Accepts new hosts and forgets those that have gone.
        """
        packets = []
        for descriptor, _ in self._poll.poll(None if timeout is None else timeout * 1e3):
            if descriptor in self._listeners:
                number = self._accept(descriptor)     # which may have sent something already
            elif descriptor in self._boards:
                number = self._boards[descriptor]
            else:
                continue
            if packet := self._read(number):
                packets.append((number, packet))
        return packets

    def _send(self, board: int, packet: bytes) -> None:
        """Send to the host of a board, if there is one; a host that does not read loses it."""
        host = self._hosts[board]
        if host is None:
            return
        try:
            host.send(packet)
        except BlockingIOError:
            return
        except OSError:
            self._forget(board)

    def _listen(self, number: int, path: Path) -> None:
        path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(str(path))
        listener.listen(1)
        listener.setblocking(False)
        self._listeners[listener.fileno()] = (number, listener)
        self._poll.register(listener, select.POLLIN)

    def _accept(self, descriptor: int) -> int:
        number, listener = self._listeners[descriptor]
        with contextlib.suppress(BlockingIOError):
            host, _ = listener.accept()
            self._forget(number)
            host.setblocking(False)
            self._hosts[number] = host
            self._boards[host.fileno()] = number
            self._poll.register(host, select.POLLIN)
        return number

    def _read(self, number: int) -> bytes:
        host = self._hosts[number]
        if host is None:
            return b''
        try:
            packet = host.recv(MAX_PACKET)
        except BlockingIOError:
            return b''
        except OSError:
            packet = b''
        if not packet:
            self._forget(number)
        return packet

    def _forget(self, number: int) -> None:
        host = self._hosts[number]
        if host is None:
            return
        self._hosts[number] = None
        self._poll.unregister(host)
        del self._boards[host.fileno()]
        host.close()


class SpiServer(BoardServer):
    """Answers frames; a cycle is one transfer per board, and in lock-step none is repeated."""

    def poll(self, timeout: float | None = 0.0) -> list[int]:
        served = []
        for board, packet in self._packets(timeout):
            number, frame = packet[:ENVELOPE.size], packet[ENVELOPE.size:]
            self._send(board, number + self._rack.receive(board, frame))
            served.append(board)
        return served


class CanServer(BoardServer):
    """The far end of one `SeqpacketBus` per board.

    In lock-step a cycle is one current reference (id 0x005) per board, so the driver sends one in
    every cycle, zero when it wants nothing, and the first before it has heard anything. The zero
    that directly follows a system enable belongs to the enable sequence and ends no cycle.
    """

    def __init__(self, rack: BoardRack, paths: Sequence[str]) -> None:
        super().__init__(rack, paths)
        self._heard = [True] * len(paths)            # the board sent something in this cycle
        self._enabling = [False] * len(paths)        # the last message was a system enable

    def flush(self) -> None:
        """Send everything the boards have queued; without a host it is lost, as on a bus."""
        for port in range(len(self._rack.boards)):
            messages = self._rack.routed(port).drain()
            self._heard[port] = any(not message.is_error for message in messages)
            for identifier, data, is_error in messages:
                self._send(port, pack_message(identifier, data, int(is_error)))

    def poll(self, timeout: float | None = 0.0) -> list[int]:
        served: list[int] = []
        packets = self._packets(timeout)
        # What follows a reference belongs to the next cycle.
        while packets and not served:
            served = [board for board, packet in packets if self._deliver(board, packet)]
            packets = [] if served else self._packets(0.0)
        return served

    def _deliver(self, board: int, packet: bytes) -> bool:
        """Hand a packet to its board; True if it ends the board's cycle."""
        identifier, data, kind = unpack_message(packet)
        if kind == ATTEMPT:
            return True
        self._rack.routed(board).receive(CanFrame(identifier, data))
        after_enable = self._enabling[board]
        self._enabling[board] = identifier == wire.ID_COMMAND and data == _SYSTEM_ENABLE
        if identifier != wire.ID_CURRENT_REFERENCE:
            return False
        return not (after_enable and data == _ZERO)

    def _begin_cycle(self) -> None:
        for port, heard in enumerate(self._heard):
            if not heard:
                self._send(port, pack_message(0, b'', SILENCE))
