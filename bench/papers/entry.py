"""One reproduced table: printed values beside ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Value = float | str | None


@dataclass(frozen=True)
class Row:
    """One figure; `better` is None where a row is only shown."""

    label: str
    printed: Value
    ours: Value
    better: bool | None = None
    exact: Value = None        # of the simulated arm, where there is such a number


@dataclass(frozen=True)
class Table:
    """A table of a document."""

    name: str                          # such as 'thesis-000-4.2'
    title: str
    rows: tuple[Row, ...]
    conditions: str                    # what was simulated
    contradictions: tuple[str, ...] = ()   # where the document disagrees with itself
    remarks: tuple[str, ...] = ()      # why a row is not better, and what differs

    @property
    def better(self) -> bool:
        """Whether every judged row is better than the printed one."""
        return all(row.better for row in self.rows if row.better is not None)

    def as_data(self) -> dict[str, Any]:
        """For JSON: `printed`, `ours` and `better`, by row."""
        return {'table': self.name, 'title': self.title,
                'printed': {row.label: row.printed for row in self.rows},
                'ours': {row.label: _short(row.ours) for row in self.rows},
                'exact': {row.label: row.exact for row in self.rows if row.exact is not None},
                'better': self.better,
                'better_by_row': {row.label: row.better for row in self.rows
                                  if row.better is not None},
                'conditions': self.conditions, 'contradictions': list(self.contradictions),
                'remarks': list(self.remarks)}


Progress = Callable[[str], None]
Maker = Callable[[Progress], list[Table]]


def smaller(label: str, printed: float, ours: float) -> Row:
    """A figure of which less is better."""
    return Row(label, printed, ours, bool(ours <= printed))


def larger(label: str, printed: float, ours: float) -> Row:
    """A figure of which more is better."""
    return Row(label, printed, ours, bool(ours >= printed))


def _short(value: Value) -> Value:
    return float(f'{value:.5g}') if isinstance(value, float) else value
