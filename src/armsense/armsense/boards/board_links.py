"""Links to the boards of an arm over the bus that the user chose."""

from dataclasses import dataclass

from armsense.boards.arm_driver import BoardLink
from armsense.boards.can_link import CanLink
from armsense.boards.joint_map import JointMap
from armsense.boards.protocol.spi import by_name, SpiProtocol
from armsense.boards.transport.can_bus import open_can_bus, SeqpacketBus
from armsense.boards.transport.link import SpiLink
from armsense.boards.transport.seqpacket import SeqpacketTransport, socket_paths
from armsense.boards.transport.spi_device import lock_name, SpidevTransport
from armsense.errors import ArmsenseError
from armsense.model import ArmConfig
from armsense.schema import check_known, quantity

HARDWARE = ('sim', 'spi', 'can')
BUSES = ('spi', 'can')
CONNECT_TIMEOUT = 60.0   # [s] for the simulator to appear
RETRIES = 1     # of a damaged SPI transfer; at 8 MHz it costs 40 us of the period


@dataclass(frozen=True, kw_only=True)
class Wiring:
    """How the driver reaches the boards."""

    hardware: str = quantity('sim', choices=HARDWARE, text='how the boards are reached')
    bus: str = quantity('spi', choices=BUSES, text='what emulated boards speak')
    sockets: str = quantity(
        '', text='folder of the emulated boards; empty: one per user and namespace')
    timeout: float = 0.005       # [s] longest wait for a reply


def spi_protocol(config: ArmConfig) -> SpiProtocol:
    """The arm's own, if it has one for SPI."""
    name = config.boards.protocol if config.boards else 'uomodri'
    return by_name('uomodri' if name == 'udriver_can' else name)


def open_links(config: ArmConfig, wiring: Wiring) -> list[BoardLink]:
    """One link per board of the arm."""
    check_known('hardware', wiring.hardware, HARDWARE)
    check_known('bus', wiring.bus, BUSES)
    count = JointMap(config).boards
    if wiring.hardware == 'sim':
        return _emulated(config, wiring, count)
    if (boards := config.boards) is None:
        raise ArmsenseError(f'{config.arm} has no boards in its arm file')
    if wiring.hardware == 'can':
        _check_count(config, 'can_channels', boards.can_channels, count)
        return [CanLink(open_can_bus('socketcan', channel), 1.0 / config.rate, wiring.timeout,
                        lock_name(channel)) for channel in boards.can_channels[:count]]
    _check_count(config, 'spi_devices', boards.spi_devices, count)
    return [SpiLink(spi_protocol(config), SpidevTransport(boards.spi_bus, device, boards.spi_mode,
                                              boards.spi_clock), retries=RETRIES)
            for device in boards.spi_devices[:count]]


def _emulated(config: ArmConfig, wiring: Wiring, count: int) -> list[BoardLink]:
    paths = socket_paths(wiring.sockets, count)
    if wiring.bus == 'can':
        return [CanLink(SeqpacketBus(path, connect_timeout=CONNECT_TIMEOUT),
                        1.0 / config.rate, wiring.timeout) for path in paths]
    return [SpiLink(spi_protocol(config), SeqpacketTransport(
        path, wiring.timeout, CONNECT_TIMEOUT)) for path in paths]


def _check_count(config: ArmConfig, name: str, given: tuple[object, ...], count: int) -> None:
    if len(given) < count:
        raise ArmsenseError(f'{config.arm}: boards.{name} names {len(given)}, {count} are needed')
