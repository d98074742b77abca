"""A board in the same process: for campaigns that need speed more than a process boundary."""

from __future__ import annotations

from typing import Protocol


class FrameHandler(Protocol):
    """Anything that answers a frame, such as an emulated board or a port of a board rack."""

    def receive(self, frame: bytes) -> bytes:
        """Reply to `frame`; empty bytes for no reply."""
        ...


class LoopbackTransport:
    """`SpiTransport` that calls the board directly."""

    def __init__(self, board: FrameHandler) -> None:
        self._board: FrameHandler | None = board

    def transfer(self, frame: bytes) -> bytes:
        """Reply of the board, or nothing after `close`."""
        return self._board.receive(frame) if self._board is not None else b''

    def close(self) -> None:
        """Disconnect from the board."""
        self._board = None
