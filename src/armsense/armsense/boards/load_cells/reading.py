"""What every source of load-cell data delivers."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Counts(NamedTuple):
    """One set of readings; None where a cell did not answer or is at the end of its range."""

    values: tuple[int | None, ...]
    saturated: tuple[bool, ...]
    seq: int | None = None   # counter of the sender, where it has one


class CellSource(Protocol):
    """Where readings come from."""

    @property
    def problems(self) -> dict[str, int]:
        """What went wrong how often since the start, by name."""
        ...

    def read(self) -> Counts | None:
        """The newest readings since the last call; None: nothing new."""
        ...

    def close(self) -> None:
        """Release the device."""
        ...
