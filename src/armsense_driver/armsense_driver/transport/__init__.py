"""How frames reach the boards: spidev, Unix SEQPACKET, loopback; python-can for CAN boards."""

from armsense_driver.transport.base import SpiTransport, TransportUnavailable
from armsense_driver.transport.can_bus import open_can_bus, SeqpacketBus
from armsense_driver.transport.counters import LinkCounters, LinkSummary, Outcome
from armsense_driver.transport.link import Exchange, SpiLink
from armsense_driver.transport.loopback import LoopbackTransport
from armsense_driver.transport.seqpacket import SeqpacketTransport
from armsense_driver.transport.spi_device import SpidevTransport

__all__ = [
    'Exchange',
    'LinkCounters',
    'LinkSummary',
    'LoopbackTransport',
    'Outcome',
    'SeqpacketBus',
    'SeqpacketTransport',
    'SpiLink',
    'SpiTransport',
    'SpidevTransport',
    'TransportUnavailable',
    'open_can_bus',
]
