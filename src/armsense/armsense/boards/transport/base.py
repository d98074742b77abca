"""The one thing an SPI transport does."""

from __future__ import annotations

from typing import Protocol

from armsense.errors import ArmsenseError


class TransportUnavailable(OSError, ArmsenseError):
    """The device or socket cannot be opened; the message says what to do."""


class SpiTransport(Protocol):
    """Full-duplex exchange of one frame with one board."""

    def transfer(self, frame: bytes) -> bytes:
        """Send `frame` and return what came back meanwhile; empty bytes if nothing came (a drop).

        Never raises for a board that is silent or gone: that is the link's business to count.
        """
        ...

    def close(self) -> None:
        """Release the device; a closed transport drops every frame."""
        ...
