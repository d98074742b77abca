"""Everything that can be wrong with a frame, each with a name."""

from __future__ import annotations

from collections.abc import Iterable


class ProtocolError(ValueError):
    """Base of all protocol errors."""


class UnknownProtocol(ProtocolError):
    """No protocol has this name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f'{name!r}; known: {", ".join(sorted(known))}')
        self.name = name


class NonFiniteValue(ProtocolError):
    """NaN or infinity where the wire needs a number: refused, since no saturation is right."""

    def __init__(self, field: str, value: float) -> None:
        super().__init__(f'{field} = {value!r}; valid: any finite number')
        self.field = field
        self.value = value


class FrameError(ProtocolError):
    """A received frame that cannot be believed; `kind` is its short name in counters and logs."""

    kind = 'frame'


class WrongLength(FrameError):
    """A short or long frame."""

    kind = 'length'

    def __init__(self, length: int, expected: int) -> None:
        super().__init__(f'{length} bytes; expected {expected}')
        self.length = length


class BadCrc(FrameError):
    """The checksum does not match: bits were flipped, lost or shifted."""

    kind = 'crc'


class SwappedCrc(BadCrc):
    """The checksum is right but its two 16-bit words are exchanged: a firmware/host mismatch."""

    kind = 'crc_word_order'


class AllZeros(FrameError):
    """Nothing pulled the line up: board without power, or a line shorted to ground."""

    kind = 'all_zeros'


class AllOnes(FrameError):
    """Nothing pulled the line down: board absent, or chip-select not wired."""

    kind = 'all_ones'
