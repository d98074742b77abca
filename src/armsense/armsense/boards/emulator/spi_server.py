"""SPI boards for a driver in another process; it must not retry inside a lock-step cycle."""

from __future__ import annotations

from collections.abc import Sequence

from armsense.boards.emulator.board_server import BoardServer
from armsense.boards.emulator.rack import BoardRack
from armsense.boards.transport.seqpacket import ENVELOPE, MAX_PACKET


class SpiServer(BoardServer):
    """Answers frames; a cycle is one transfer per board."""

    def __init__(self, rack: BoardRack, paths: Sequence[str]) -> None:
        """Start to listen; see `BoardServer`."""
        super().__init__(rack, paths, MAX_PACKET)

    def poll(self, timeout: float | None = 0.0) -> list[int]:
        """Answer every frame that is pending or arrives first within `timeout` [s]."""
        served = []
        for board, packet in self._packets.poll(timeout):
            number, frame = packet[:ENVELOPE.size], packet[ENVELOPE.size:]
            reply = self._rack.receive(board, frame)
            self._packets.send(board, number + reply)
            served.append(board)
        return served
