"""What the motor boards put on the wire: pure functions between bytes and SI units, no I/O.

SPI boards (`udriver_spi`, `uomodri`, `laas_inhouse`) share one interface, `SpiProtocol`, taken by
name::

    protocol = by_name('uomodri')
    frame = protocol.encode_command(command)
    state = protocol.decode_state(transport.transfer(frame))

CAN boards (`udriver_can`) exchange small messages instead of one frame; see `udriver_can`.
"""

from armsense.boards.protocol.errors import (
    AllOnes,
    AllZeros,
    BadCrc,
    FrameError,
    NonFiniteValue,
    ProtocolError,
    SwappedCrc,
    UnknownProtocol,
    WrongLength,
)
from armsense.boards.protocol.messages import (
    BoardCommand,
    BoardError,
    BoardState,
    BoardStatus,
    MotorCommand,
    MotorState,
)
from armsense.boards.protocol.registry import by_name, SPI_PROTOCOLS
from armsense.boards.protocol.spi import crc32_mpeg2, SpiProtocol

__all__ = [
    'SPI_PROTOCOLS',
    'AllOnes',
    'AllZeros',
    'BadCrc',
    'BoardCommand',
    'BoardError',
    'BoardState',
    'BoardStatus',
    'FrameError',
    'MotorCommand',
    'MotorState',
    'NonFiniteValue',
    'ProtocolError',
    'SpiProtocol',
    'SwappedCrc',
    'UnknownProtocol',
    'WrongLength',
    'by_name',
    'crc32_mpeg2',
]
