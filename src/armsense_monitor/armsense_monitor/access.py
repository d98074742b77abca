"""Who may do more than look: whoever has entered the token that was printed at the start."""

from __future__ import annotations

import secrets

WAIT = 1.0   # [s] after a wrong token nobody may try again: guessing takes for ever


class Access:
    """Pages that may control the arm."""

    def __init__(self, token: str = '') -> None:
        """Begin with none.

        Args:
            token: To be entered; empty: a random one.
        """
        self.token = token or secrets.token_hex(6)
        self._allowed: set[int] = set()
        self._closed_until = 0.0

    def allows(self, page: int) -> bool:
        return page in self._allowed

    def enter(self, page: int, token: str, now: float) -> str:
        """Try a token; why it was refused, or nothing.

        Args:
            page: Number of the connection.
            token: What the user typed.
            now: Monotonic time [s].
        """
        if now < self._closed_until:
            return 'too fast: wait a second'
        if not secrets.compare_digest(token.strip().encode(), self.token.encode()):
            self._closed_until = now + WAIT
            return 'wrong token: it is printed where the monitor was started'
        self._allowed.add(page)
        return ''

    def leave(self, page: int) -> None:
        """The page was closed."""
        self._allowed.discard(page)
