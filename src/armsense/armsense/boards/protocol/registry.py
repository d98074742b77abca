"""SPI protocols by name."""

from __future__ import annotations

from armsense.boards.protocol.errors import UnknownProtocol
from armsense.boards.protocol.spi import SpiProtocol

UDRIVER_SPI = SpiProtocol(
    name='udriver_spi',
    limit_high_byte_is_motor_1=False,
    zero_limit=0.0,
    min_interval=0.7e-3,
    description='Open Dynamic Robot Initiative udriver, 34-byte frame',
)

UOMODRI = SpiProtocol(
    name='uomodri',
    limit_high_byte_is_motor_1=True,
    zero_limit=10.0,
    description='LAAS uOmodri, 34-byte frame',
)

LAAS_INHOUSE = SpiProtocol(
    name='laas_inhouse',
    limit_high_byte_is_motor_1=True,
    zero_limit=10.0,
    has_ki_and_power=True,
    verified=False,
    description='uomodri frame with ki and input power, 38 bytes; our layout, unverified on '
                'hardware',
)

SPI_PROTOCOLS = {
    protocol.name: protocol for protocol in (UDRIVER_SPI, UOMODRI, LAAS_INHOUSE)}


def by_name(name: str) -> SpiProtocol:
    """The SPI protocol called `name`.

    Raises:
        UnknownProtocol: names the valid ones.
    """
    try:
        return SPI_PROTOCOLS[name]
    except KeyError:
        raise UnknownProtocol(name, SPI_PROTOCOLS) from None
