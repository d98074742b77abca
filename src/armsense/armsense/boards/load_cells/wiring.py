"""What the load cells are connected to."""

from __future__ import annotations

from dataclasses import dataclass

from armsense.boards.load_cells.can_amplifier import CanSource, DEFAULT_ID
from armsense.boards.load_cells.converters import CONVERTERS, SpiSource
from armsense.boards.load_cells.reading import CellSource
from armsense.boards.load_cells.serial_source import SerialSource
from armsense.boards.transport.can_bus import open_can_bus
from armsense.boards.transport.spi_device import SpidevTransport
from armsense.errors import ArmsenseError
from armsense.schema import quantity


@dataclass(frozen=True, kw_only=True)
class CellWiring:
    """Only what belongs to the source counts."""

    source: str = quantity('serial', choices=('serial', *CONVERTERS, 'can'),
                           text='what the cells are connected to')
    port: str = quantity('/dev/ttyACM0', text='serial port of the microcontroller')
    baud_rate: int = quantity(1000000, unit='bit/s', low=1200, high=10000000,
                              text='of the serial port')
    spi_bus: int = quantity(1, low=0, high=10, text='SPI bus of the converters')
    spi_devices: tuple[int, ...] = quantity(
        (0, 1, 2, 3), text='chip select of each cell, in the order of the layout')
    spi_clock: int = quantity(1000000, unit='Hz', low=1000, high=20000000,
                              text='of the converters')
    can_interface: str = quantity('socketcan', text='python-can interface of the amplifier')
    can_channel: str = quantity('can2', text='CAN channel of the amplifier')
    can_id: int = quantity(DEFAULT_ID, low=0, high=2047, text='identifier of the first two cells')


def open_source(wiring: CellWiring, cells: int) -> CellSource:
    """Counts of so many cells."""
    if wiring.source == 'serial':
        return SerialSource(wiring.port, wiring.baud_rate, cells)
    if wiring.source == 'can':
        bus = open_can_bus(wiring.can_interface, wiring.can_channel)
        return CanSource(bus, cells, wiring.can_id)
    if len(wiring.spi_devices) != cells:
        raise ArmsenseError(f'{len(wiring.spi_devices)} spi_devices for {cells} cells')
    return SpiSource([SpidevTransport(wiring.spi_bus, device, 1, wiring.spi_clock)
                      for device in wiring.spi_devices], wiring.source)
