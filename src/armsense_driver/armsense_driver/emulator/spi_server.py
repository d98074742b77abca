"""Serves the SPI boards of a rack to a driver in another process.

The server has no clock and no thread: the simulator owns the loop. In lock-step one cycle is one
transfer per board (a driver must not retry inside a cycle there)::

    while running:
        torque = rack.step(dt, theta, omega)
        server.wait_all(timeout=10.0) or fail()       # realtime: server.poll(0.0)
        plant.integrate(torque, dt)
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

from armsense_driver.emulator.rack import BoardRack
from armsense_driver.emulator.sockets import PacketServer
from armsense_driver.transport.seqpacket import ENVELOPE, MAX_PACKET


class SpiServer:
    """Answers frames on one SEQPACKET path per board."""

    def __init__(self, rack: BoardRack, paths: Sequence[str]) -> None:
        """Start to listen.

        Args:
            rack: the boards.
            paths: one socket path per board; see `socket_paths`.
        """
        if len(paths) != len(rack.boards):
            raise ValueError(f'{len(paths)} paths; expected {len(rack.boards)}, one per board')
        self._rack = rack
        self._packets = PacketServer(paths, MAX_PACKET)
        self._waiting: set[int] = set()      # boards not yet served in this cycle

    def poll(self, timeout: float | None = 0.0) -> list[int]:
        """Answer every frame that is pending or arrives first within `timeout` [s].

        Returns:
            The boards that were served, in order of arrival.
        """
        served = []
        for board, packet in self._packets.poll(timeout):
            number, frame = packet[:ENVELOPE.size], packet[ENVELOPE.size:]
            reply = self._rack.receive(board, frame)
            self._packets.send(board, number + reply)
            served.append(board)
        return served

    def wait_all(self, timeout: float) -> bool:
        """Serve until each board has been served once in this cycle.

        Returns:
            False if `timeout` [s] passes before; the next call then goes on with the same cycle.
        """
        deadline = monotonic() + timeout
        self._waiting = self._waiting or set(range(len(self._rack.boards)))
        while self._waiting:
            left = deadline - monotonic()
            if left <= 0.0:
                return False
            self._waiting.difference_update(self.poll(left))
        return True

    @property
    def connected(self) -> list[bool]:
        """Per board, whether a driver is connected."""
        return self._packets.connected

    def close(self) -> None:
        """Stop listening and remove the sockets."""
        self._packets.close()
