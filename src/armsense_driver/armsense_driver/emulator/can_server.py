"""Serves the CAN boards of a rack to a driver in another process, one bus per board.

`flush` sends what the boards queued in `rack.step`; `poll` delivers what the driver sent. In
lock-step a cycle is one current reference (id 0x005) per board, so the driver sends one in every
cycle, zero when it wants nothing, and the first before it has heard anything. The zero that
directly follows a system enable belongs to the enable sequence and ends no cycle::

    while running:
        torque = rack.step(dt, theta, omega)
        server.flush()
        server.wait_all(timeout=10.0) or fail()       # realtime: server.poll(0.0)
        plant.integrate(torque, dt)
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

from armsense_driver.emulator.can_board import CanFrame
from armsense_driver.emulator.rack import BoardRack
from armsense_driver.emulator.sockets import PacketServer
from armsense_driver.protocol.udriver_can import (
    CommandCode,
    encode_command,
    encode_currents,
    ID_COMMAND,
    ID_CURRENT_REFERENCE,
)
from armsense_driver.transport.can_bus import (
    ATTEMPT,
    MAX_PACKET,
    pack_message,
    SILENCE,
    unpack_message,
)

_SYSTEM_ENABLE = encode_command(CommandCode.SYSTEM_ENABLE, 1)
_ZERO = encode_currents(0.0, 0.0)


class CanServer:
    """The far end of one `SeqpacketBus` per board."""

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
        self._waiting: set[int] = set()              # boards without a reference in this cycle
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

    def wait_all(self, timeout: float) -> bool:
        """Deliver until each board got its current reference of this cycle.

        Returns:
            False if `timeout` [s] passes before; the next call then goes on with the same cycle.
        """
        deadline = monotonic() + timeout
        if not self._waiting:
            self._waiting = set(range(len(self._rack.boards)))
            self._tell_silence()
        while self._waiting:
            left = deadline - monotonic()
            if left <= 0.0:
                return False
            self._waiting.difference_update(self.poll(left))
        return True

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

    def _tell_silence(self) -> None:
        for port, heard in enumerate(self._heard):
            if not heard:
                self._packets.send(port, pack_message(0, b'', SILENCE))

    @property
    def connected(self) -> list[bool]:
        """Per board, whether a driver is connected."""
        return self._packets.connected

    def close(self) -> None:
        """Stop listening and remove the sockets."""
        self._packets.close()
