"""How frames reach the boards: spidev, Unix SEQPACKET; python-can for CAN boards."""

from armsense.boards.transport.base import SpiTransport, TransportUnavailable
from armsense.boards.transport.can_bus import open_can_bus, SeqpacketBus
from armsense.boards.transport.link import Exchange, LinkCounters, LinkSummary, Outcome, SpiLink
from armsense.boards.transport.seqpacket import SeqpacketTransport
from armsense.boards.transport.spi_device import SpidevTransport

__all__ = [
    'Exchange',
    'LinkCounters',
    'LinkSummary',
    'Outcome',
    'SeqpacketBus',
    'SeqpacketTransport',
    'SpiLink',
    'SpiTransport',
    'SpidevTransport',
    'TransportUnavailable',
    'open_can_bus',
]
