"""Serves the boards of a rack to a driver in another process, one SEQPACKET path per board.

A server has no clock and no thread: the simulator owns the loop. In lock-step one cycle is what a
driver sends to every board once::

    while running:
        torque = rack.step(dt, theta, omega)
        server.flush()
        server.wait_all(timeout=10.0) or fail()       # realtime: server.poll(0.0)
        plant.integrate(torque, dt)
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

from armsense.boards.emulator.rack import BoardRack
from armsense.boards.emulator.sockets import PacketServer


class BoardServer:
    """What serving boards has in common, whatever the wire."""

    def __init__(self, rack: BoardRack, paths: Sequence[str], max_packet: int) -> None:
        """Start to listen.

        Args:
            rack: the boards.
            paths: one socket path per board; see `socket_paths`.
            max_packet: longest packet to expect [byte].
        """
        if len(paths) != len(rack.boards):
            raise ValueError(f'{len(paths)} paths; expected {len(rack.boards)}, one per board')
        self._rack = rack
        self._packets = PacketServer(paths, max_packet)
        self._waiting: set[int] = set()      # boards not yet served in this cycle

    def flush(self) -> None:
        """Send what the boards say without being asked."""

    def poll(self, timeout: float | None = 0.0) -> list[int]:
        """Serve every packet that is pending or arrives first within `timeout` [s].

        Returns:
            The boards whose cycle is over, in order of arrival.
        """
        raise NotImplementedError

    def wait_all(self, timeout: float) -> bool:
        """Serve until each board has been served once in this cycle.

        Returns:
            False if `timeout` [s] passes before; the next call then goes on with the same cycle.
        """
        deadline = monotonic() + timeout
        if not self._waiting:
            self._waiting = set(range(len(self._rack.boards)))
            self._begin_cycle()
        while self._waiting:
            left = deadline - monotonic()
            if left <= 0.0:
                return False
            self._waiting.difference_update(self.poll(left))
        return True

    def _begin_cycle(self) -> None:
        """What a wire needs at the beginning of a lock-step cycle."""

    @property
    def connected(self) -> list[bool]:
        """Per board, whether a driver is connected."""
        return self._packets.connected

    def close(self) -> None:
        """Stop listening and remove the sockets."""
        self._packets.close()
