"""Unix SEQPACKET server side: one listening path per board, one host per board."""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
from pathlib import Path
import select
import socket


def socket_paths(directory: str | Path, count: int) -> list[str]:
    """Paths `board0.sock` … in `directory`: the naming that driver and simulator agree on."""
    return [str(Path(directory) / f'board{number}.sock') for number in range(count)]


class PacketServer:
    """Listens on one path per board and hands out packets; a new host replaces the old one."""

    def __init__(self, paths: Sequence[str], max_packet: int) -> None:
        """Start to listen; stale socket files are replaced.

        Args:
            paths: one socket path per board.
            max_packet: longest packet to expect [byte].
        """
        self._paths = [Path(path) for path in paths]
        self._max_packet = max_packet
        self._poll = select.poll()
        self._listeners: dict[int, tuple[int, socket.socket]] = {}
        self._hosts: list[socket.socket | None] = [None] * len(paths)
        self._boards: dict[int, int] = {}        # descriptor of a host -> board
        for number, path in enumerate(self._paths):
            self._listen(number, path)

    def poll(self, timeout: float | None) -> list[tuple[int, bytes]]:
        """At most one packet per board that arrives within `timeout` [s]; None waits for ever.

        Accepts new hosts and forgets those that have gone.
        """
        packets = []
        for descriptor, _ in self._poll.poll(None if timeout is None else timeout * 1e3):
            if descriptor in self._listeners:
                self._accept(descriptor)
            elif descriptor in self._boards:
                number = self._boards[descriptor]
                packet = self._read(number)
                if packet:
                    packets.append((number, packet))
        return packets

    def send(self, board: int, packet: bytes) -> None:
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

    @property
    def connected(self) -> list[bool]:
        """Per board, whether a host is connected."""
        return [host is not None for host in self._hosts]

    def close(self) -> None:
        """Close everything and remove the socket files."""
        for number in range(len(self._hosts)):
            self._forget(number)
        for _, listener in self._listeners.values():
            listener.close()
        self._listeners.clear()
        for path in self._paths:
            path.unlink(missing_ok=True)

    def _listen(self, number: int, path: Path) -> None:
        path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(str(path))
        listener.listen(1)
        listener.setblocking(False)
        self._listeners[listener.fileno()] = (number, listener)
        self._poll.register(listener, select.POLLIN)

    def _accept(self, descriptor: int) -> None:
        number, listener = self._listeners[descriptor]
        with contextlib.suppress(BlockingIOError):
            host, _ = listener.accept()
            self._forget(number)
            host.setblocking(False)
            self._hosts[number] = host
            self._boards[host.fileno()] = number
            self._poll.register(host, select.POLLIN)

    def _read(self, number: int) -> bytes:
        host = self._hosts[number]
        if host is None:
            return b''
        try:
            packet = host.recv(self._max_packet)
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
