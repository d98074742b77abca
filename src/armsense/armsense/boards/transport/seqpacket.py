"""SPI frames over a Unix SEQPACKET socket: the way to an emulated board in another process.

Each packet is a 32-bit transfer number followed by the frame, and the reply repeats the number.
Without it one late reply would leave every later one a transfer behind. A reply that holds the
number alone says "no answer": the emulator drops frames without making the driver wait for a
timeout, which keeps lock-step runs with dropped frames deterministic and fast.
"""

from collections.abc import Callable
import contextlib
import os
from pathlib import Path
import socket
from struct import Struct
import tempfile
from time import monotonic, sleep

from armsense.errors import TransportUnavailable

ENVELOPE = Struct('=I')
MAX_PACKET = 256      # [byte]
# What answers at a path where driver and boards share a process and a thread: to be called when
# the driver has sent something, or it would wait for ever.
SERVED_HERE: dict[str, Callable[[], None]] = {}


def _elsewhere() -> None:
    """The boards are served by another process."""


class SeqpacketTransport:
    """`SpiTransport` to the board that listens on a socket path.

    A board that has gone, because its simulator was killed, is looked for at every transfer: as
    on a real bus, one that comes back is simply there again.
    """

    def __init__(self, path: str, timeout: float = 0.005, connect_timeout: float = 0.0) -> None:
        """Connect, waiting for the socket to appear; a reply later than `timeout` is lost [s]."""
        self._timeout = timeout
        self._number = 0
        self._path: str | None = path      # None: closed for good
        self._serve = server_of(path)
        self._socket: socket.socket | None = connect_seqpacket(path, connect_timeout)

    def transfer(self, frame: bytes) -> bytes:
        """Reply to `frame`; empty if it was dropped, came too late or the board is gone."""
        connection = self._socket = self._socket or self._reconnected()
        if connection is None:
            return b''
        self._number = (self._number + 1) & 0xFFFFFFFF
        number = ENVELOPE.pack(self._number)
        deadline = monotonic() + self._timeout
        try:
            connection.settimeout(self._timeout)
            connection.send(number + frame)
            self._serve()
            while packet := connection.recv(MAX_PACKET):
                if packet.startswith(number):
                    return packet[ENVELOPE.size:]
                left = deadline - monotonic()
                if left <= 0.0:
                    return b''
                connection.settimeout(left)
        except TimeoutError:
            return b''
        except OSError:
            pass
        self._drop()     # an empty packet is the end of the connection, too
        return b''

    @property
    def connected(self) -> bool:
        """False while the other end is gone."""
        return self._socket is not None

    def close(self) -> None:
        """Close the socket for good."""
        self._path = None
        self._drop()

    def _reconnected(self) -> socket.socket | None:
        with contextlib.suppress(TransportUnavailable):
            return None if self._path is None else connect_seqpacket(self._path)
        return None

    def _drop(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def server_of(path: str) -> Callable[[], None]:
    """See `SERVED_HERE`; does nothing where another process serves the path."""
    return SERVED_HERE.get(path, _elsewhere)


def connect_seqpacket(path: str, connect_timeout: float = 0.0) -> socket.socket:
    """Connected socket to `path`, waiting up to `connect_timeout` [s] for someone to listen."""
    deadline = monotonic() + connect_timeout
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            connection.connect(path)
            return connection
        except OSError as error:
            connection.close()
            if monotonic() >= deadline:
                raise TransportUnavailable(
                    error.errno, f'no emulated board listens on {path!r} ({error.strerror}); '
                    'start the simulator first or correct the path') from error
        sleep(0.01)


def socket_paths(directory: str | Path, count: int) -> list[str]:
    """Paths `board0.sock` … in `directory`: the naming that driver and simulator agree on."""
    return [str(Path(directory) / f'board{number}.sock') for number in range(count)]


def socket_folder(namespace: str) -> str:
    """Where driver and simulator meet when nobody says otherwise: one per user and namespace."""
    domain = os.environ.get('ROS_DOMAIN_ID', '0')
    name = f'armsense-{os.getuid()}-{domain}{namespace.strip("/").replace("/", "-")}'
    folder = Path(tempfile.gettempdir(), name)
    folder.mkdir(mode=0o700, exist_ok=True)
    return str(folder)
