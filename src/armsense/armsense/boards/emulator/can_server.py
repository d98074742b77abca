"""CAN boards for a driver in another process, one bus per board.

In lock-step a cycle is one current reference (id 0x005) per board, so the driver sends one in
every cycle, zero when it wants nothing, and the first before it has heard anything. The zero that
directly follows a system enable belongs to the enable sequence and ends no cycle.
"""

from __future__ import annotations

from collections.abc import Sequence

from armsense.boards.emulator.board_server import BoardServer
from armsense.boards.emulator.can_board import CanFrame
from armsense.boards.emulator.rack import BoardRack
from armsense.boards.protocol.udriver_can import (
    CommandCode,
    encode_command,
    encode_currents,
    ID_COMMAND,
    ID_CURRENT_REFERENCE,
)
from armsense.boards.transport.can_bus import (
    ATTEMPT,
    MAX_PACKET,
    pack_message,
    SILENCE,
    unpack_message,
)

_SYSTEM_ENABLE = encode_command(CommandCode.SYSTEM_ENABLE, 1)
_ZERO = encode_currents(0.0, 0.0)


class CanServer(BoardServer):
    """The far end of one `SeqpacketBus` per board."""

    def __init__(self, rack: BoardRack, paths: Sequence[str]) -> None:
        """Start to listen; see `BoardServer`."""
        super().__init__(rack, paths, MAX_PACKET)
        self._heard = [True] * len(paths)            # the board sent something in this cycle
        self._enabling = [False] * len(paths)        # the last message was a system enable

    def flush(self) -> None:
        """Send everything the boards have queued; without a host it is lost, as on a bus."""
        for port in range(len(self._rack.boards)):
            messages = self._rack.routed(port).drain()
            self._heard[port] = any(not message.is_error for message in messages)
            for identifier, data, is_error in messages:
                self._packets.send(port, pack_message(identifier, data, int(is_error)))

    def poll(self, timeout: float | None = 0.0) -> list[int]:
        """Deliver every message that is pending or arrives first within `timeout` [s].

        Returns:
            The boards whose cycle a current reference ended, in order of arrival.
        """
        served: list[int] = []
        packets = self._packets.poll(timeout)
        # What follows a reference belongs to the next cycle.
        while packets and not served:
            served = [board for board, packet in packets if self._deliver(board, packet)]
            packets = [] if served else self._packets.poll(0.0)
        return served

    def _deliver(self, board: int, packet: bytes) -> bool:
        """Hand a packet to its board; True if it ends the board's cycle."""
        identifier, data, kind = unpack_message(packet)
        if kind == ATTEMPT:
            return True
        self._rack.routed(board).receive(CanFrame(identifier, data))
        after_enable = self._enabling[board]
        self._enabling[board] = identifier == ID_COMMAND and data == _SYSTEM_ENABLE
        if identifier != ID_CURRENT_REFERENCE:
            return False
        return not (after_enable and data == _ZERO)

    def _begin_cycle(self) -> None:
        for port, heard in enumerate(self._heard):
            if not heard:
                self._packets.send(port, pack_message(0, b'', SILENCE))
