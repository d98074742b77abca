"""Who may open a page, and what pages may say: the only way in from the network.

A browser sends the origin of the page that opens a websocket. A page of somebody else's site is
refused, and so is a name that is not this machine's: it may have been made to point here. What a
page sends is checked before the server sees it. One malformed message costs its connection only.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
import contextlib
import gzip
from html import escape
import ipaddress
import math
import re
import socket
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import msgspec
from viser import _messages
import websockets.asyncio.server as server

# What else pages say is not needed here.
USED = ('GuiUpdateMessage', 'ViewerCameraMessage', 'SceneNodeDragMessage', 'CommandTriggerMessage',
        'GuiFormSubmitMessage')
TITLE = re.compile(rb'<title>[^<]*</title>')
ICON = re.compile(rb'(rel="icon"\s+href=")[^"]*')
# An arm, and what it feels.
OWN_ICON = (b"data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'"
            b" fill='none' stroke-linecap='round'%3E%3Cpath d='M6 27V17L17 9' stroke='%23495057'"
            b" stroke-width='5'/%3E%3Ccircle cx='23' cy='8' r='6' fill='%23ff922b'/%3E%3C/svg%3E")
LONGEST = 10_000     # [bytes] of one of them
POLICY = 1008        # code of a connection that is closed for what it said


class PageGuard:
    """Rules for pages; tells each kind of breach once."""

    def __init__(self, hosts: Sequence[str], tell: Callable[[str], None]) -> None:
        """Allow the names of this machine, and more, such as that of a proxy.

        `tell` is given one sentence per kind of breach.
        """
        own = socket.gethostname().lower()
        self._given = {host.strip().lower() for host in hosts if host.strip()}
        self._names = self._given | {'localhost', own, f'{own}.local'}
        self._tell = tell
        self._warned: set[str] = set()

    def refusal(self, headers: Mapping[str, str]) -> str | None:
        """Why a request is refused; None: it is not."""
        host, origin = headers.get('Host', ''), headers.get('Origin')
        if not self._known(urlsplit(f'//{host}').hostname):
            return f'{host!r} is no name of this machine; the parameter hosts allows more'
        if origin is None:      # no browser; it could send any
            return None
        asked = urlsplit(origin)
        if asked.netloc.lower() == host.lower() or asked.hostname in self._given:
            return None
        return f'a page of {origin} may not look at {host}; the parameter hosts allows more'

    def breach(self, raw: Any) -> str | None:
        """What is wrong with a message of a page; None: nothing."""
        if not isinstance(raw, bytes) or len(raw) > LONGEST:
            return 'no short binary message'
        try:
            content = msgspec.msgpack.decode(raw)
            _messages.Message.deserialize(raw)
        except Exception as error:   # whatever the library makes of bytes that are none of its own
            return f'no message of a page ({type(error).__name__})'
        updates = content.get('updates', {'value': None})
        if not isinstance(updates, dict) or set(updates) != {'value'}:
            return 'changes of more than the value of an input'
        if not _finite(updates):
            return 'numbers that are none'
        return None

    def wanted(self, raw: bytes) -> bool:
        """Whether a message without breach is for us; a camera may lack numbers at first."""
        content = msgspec.msgpack.decode(raw)
        return content['type'] in USED and _finite(content)

    def say(self, what: str) -> None:
        """Tell a kind of breach, the first time only."""
        if what not in self._warned:
            self._warned.add(what)
            self._tell(f'web page: {what} (said once)')

    def _known(self, name: str | None) -> bool:
        with contextlib.suppress(ValueError):
            return bool(ipaddress.ip_address(name or ''))    # an address cannot be redirected
        return name in self._names


def _finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    if isinstance(value, list):
        return all(map(_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


class OwnPage:
    """The library's page with a title and an icon of our own."""

    def __init__(self, title: str) -> None:
        self._title = b'<title>%b</title>' % escape(title).encode()
        self._made: dict[bytes, bytes] = {}     # of megabytes, for every browser that asks

    def of(self, response: Any) -> Any:
        """An answer of the library, changed where it is the page."""
        if response is None or not response.headers.get('Content-Type', '').startswith(
                'text/html'):
            return response
        packed = response.headers.get('Content-Encoding') == 'gzip'
        if response.body not in self._made:
            body = gzip.decompress(response.body) if packed else response.body
            body = ICON.sub(rb'\g<1>' + OWN_ICON, TITLE.sub(self._title, body, count=1), count=1)
            self._made[response.body] = gzip.compress(body, 1) if packed else body
        response.body = self._made[response.body]
        del response.headers['Content-Length']
        response.headers['Content-Length'] = str(len(response.body))
        return response


@contextlib.contextmanager
def guarding(guard: PageGuard, title: str) -> Iterator[None]:
    """Websocket servers that are started within are guarded; their page has a title."""
    page = OwnPage(title)

    class Connection(server.ServerConnection):
        async def recv(self, *arguments: Any, **options: Any) -> Any:
            while True:
                raw = await super().recv(*arguments, **options)
                breach = guard.breach(raw)
                if breach is not None:
                    guard.say(f'a connection was closed for {breach}')
                    await self.close(POLICY, breach)
                elif guard.wanted(raw):
                    return raw

    start = server.serve

    def serve(*arguments: Any, process_request: Any, **options: Any) -> server.serve:
        def process(connection: server.ServerConnection, request: Any) -> Any:
            why = guard.refusal(request.headers)
            if why is None:
                return page.of(process_request(connection, request))
            guard.say(why)
            return connection.respond(403, f'{why}\n')

        return start(*arguments, process_request=process, create_connection=Connection, **options)

    with mock.patch.object(server, 'serve', serve):     # viser has no way to pass these on
        yield
