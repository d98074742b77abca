"""Errors that name the bad value and the valid ones."""

from collections.abc import Iterable
import difflib


class ArmsenseError(ValueError):
    """Base of all errors a user can mend; its text is one line."""


class UnknownName(ArmsenseError):
    """A name that is not among the known ones."""

    def __init__(self, kind: str, name: object, known: Iterable[object], where: str = '') -> None:
        names = [str(k) for k in known]
        near = difflib.get_close_matches(str(name), names, n=1)
        hint = f' (did you mean {near[0]!r}?)' if near else ''
        place = f'{where}: ' if where else ''
        super().__init__(f'{place}unknown {kind} {str(name)!r}{hint}; known: {", ".join(names)}')


class BadValue(ArmsenseError):
    """A value outside what is valid."""

    def __init__(self, what: str, value: object, valid: str) -> None:
        super().__init__(f'{what} is {value!r}; it must be {valid}')


class TransportUnavailable(OSError, ArmsenseError):
    """The device or socket cannot be opened; the message says what to do."""
