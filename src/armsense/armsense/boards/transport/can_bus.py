"""python-can buses: SocketCAN for the real boards, SEQPACKET for emulated ones.

Both are `can.BusABC`, so the driver's CAN code cannot tell them apart. Bus-off is told as
SocketCAN tells it: an error frame arrives and `send` raises `CanOperationError` until a
"restarted" error frame arrives. `state` tells it only here; python-can's bus for SocketCAN is
always ACTIVE.
"""

import select
import socket
from struct import Struct
from time import monotonic

import can

from armsense.boards.transport.seqpacket import connect_seqpacket, MAX_PACKET, server_of
from armsense.errors import TransportUnavailable

# Error classes of Linux error frames (linux/can/error.h).
ERROR_BUS_OFF = 0x40
ERROR_RESTARTED = 0x100
BITRATE = 1_000_000      # [bit/s]; SocketCAN takes it from `ip link`

_FRAME = Struct('=IBB')      # arbitration id, kind, length; then the data

# Kinds of packets. The last two exist only between `SeqpacketBus` and an emulated bus: they keep
# a lock-step run going, without waiting for a timeout, when a bus carries nothing.
DATA = 0
ERROR = 1
SILENCE = 2      # to the host: nothing more comes in this cycle
ATTEMPT = 3      # from the host: it would have sent, but the bus is off


def pack_message(arbitration_id: int, data: bytes, kind: int = DATA) -> bytes:
    """Packet that carries one classic CAN message."""
    return _FRAME.pack(arbitration_id, kind, len(data)) + data


def unpack_message(packet: bytes) -> tuple[int, bytes, int]:
    """Id, data and kind of a packet."""
    arbitration_id, kind, length = _FRAME.unpack_from(packet)
    return arbitration_id, packet[_FRAME.size:_FRAME.size + length], kind


class SeqpacketBus(can.BusABC):
    """CAN bus of one emulated board behind a Unix SEQPACKET socket."""

    def __init__(self, channel: str, connect_timeout: float = 0.0) -> None:
        """Connect to the socket path `channel`, waiting for it to appear [s]."""
        self._is_shutdown = True       # until the connection stands, for the base's destructor
        self._socket = connect_seqpacket(channel, connect_timeout)
        self._socket.setblocking(False)
        self._serve = server_of(channel)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._state = can.BusState.ACTIVE
        self.channel_info = f'seqpacket {channel}'
        super().__init__(channel=channel)

    @property
    def state(self) -> can.BusState:
        """ACTIVE, or ERROR while the controller is off the bus or the other end is gone."""
        return self._state

    @state.setter
    def state(self, new_state: can.BusState) -> None:
        raise NotImplementedError('only the controller changes the state of its bus')

    def send(self, msg: can.Message, timeout: float | None = None) -> None:
        """Send; CanOperationError: bus-off, buffer full or the other end is gone."""
        if self._state is not can.BusState.ACTIVE:
            self._look_for_restart()
        try:
            if self._state is can.BusState.ACTIVE:
                self._socket.send(pack_message(msg.arbitration_id, bytes(msg.data)))
                return
            self._socket.send(pack_message(msg.arbitration_id, b'', ATTEMPT))
        except OSError as error:
            if not isinstance(error, BlockingIOError):
                self._state = can.BusState.ERROR
            raise can.CanOperationError(f'{self.channel_info}: {error}') from error
        raise can.CanOperationError(f'{self.channel_info}: bus is off')

    def recv(self, timeout: float | None = None) -> can.Message | None:
        """Next message; None after `timeout` [s] or when the bus is silent in this cycle."""
        deadline = None if timeout is None else monotonic() + timeout
        while True:
            packet = self._next_packet(None if deadline is None else deadline - monotonic())
            if not packet:
                return None
            arbitration_id, data, kind = unpack_message(packet)
            if kind == SILENCE:
                return None
            if kind == ERROR:
                self._note_error(arbitration_id)
            message = can.Message(
                timestamp=monotonic(), arbitration_id=arbitration_id, is_extended_id=False,
                is_error_frame=kind == ERROR, data=data, channel=self.channel_info)
            if self._matches_filters(message):
                return message

    def shutdown(self) -> None:
        super().shutdown()
        self._socket.close()

    def _next_packet(self, timeout: float | None) -> bytes:
        """Next packet, empty after `timeout` [s]."""
        if self._socket.fileno() < 0:
            raise can.CanOperationError(f'{self.channel_info}: the other end is gone')
        if not self._poll.poll(0.0):
            if timeout is not None and timeout <= 0.0:
                return b''
            self._serve()
            if not self._poll.poll(None if timeout is None else timeout * 1e3):
                return b''
        try:
            packet = self._socket.recv(MAX_PACKET)
        except OSError:
            packet = b''
        if not packet:
            self._state = can.BusState.ERROR
            self._socket.close()
            raise can.CanOperationError(f'{self.channel_info}: the other end is gone')
        return packet

    def _look_for_restart(self) -> None:
        """Read on until the controller is back; what came meanwhile is lost with its buffers."""
        while self._state is not can.BusState.ACTIVE:
            packet = self._next_packet(0.0)
            if not packet:
                return
            arbitration_id, _, kind = unpack_message(packet)
            if kind == ERROR:
                self._note_error(arbitration_id)

    def _note_error(self, error_class: int) -> None:
        if error_class & ERROR_BUS_OFF:
            self._state = can.BusState.ERROR
        elif error_class & ERROR_RESTARTED:
            self._state = can.BusState.ACTIVE


def open_can_bus(interface: str, channel: str, connect_timeout: float = 0.0) -> can.BusABC:
    """The bus of one CAN board: `seqpacket` at a socket path, or a python-can interface.

    An emulated board is waited for [s].
    """
    if interface == 'seqpacket':
        return SeqpacketBus(channel, connect_timeout=connect_timeout)
    try:
        return can.Bus(channel=channel, interface=interface, bitrate=BITRATE)
    except (OSError, can.CanError, ValueError) as error:
        interfaces = ', '.join(name for _, name in socket.if_nameindex())
        raise TransportUnavailable(
            f'cannot open CAN bus {channel!r} with interface {interface!r} ({error}); network '
            f'interfaces present: {interfaces}. For SocketCAN: '
            f'ip link set {channel} up type can bitrate {BITRATE}') from error
