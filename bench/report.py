"""Common output of the benchmarks: a table for people, a JSON object for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import json
import sys
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table


def emit(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], result: Mapping[str, Any],
    as_json: bool, notes: Iterable[str] = (),
) -> None:
    """Prints a table; with `as_json` to stderr, and `result` as the last line of stdout.

    Args:
        title: Above the table.
        columns: Headings; the first column is left-aligned, the others right-aligned.
        rows: Cells; floats are shown with four significant digits.
        result: What programs read.
        as_json: Whether a program reads.
        notes: Lines below the table.
    """
    stream = sys.stderr if as_json else sys.stdout
    # A terminal tells its own width; a pipe must not wrap the cells.
    console = Console(file=stream, width=None if stream.isatty() else 120, highlight=False)
    table = Table(title=title, title_justify='left')
    for number, column in enumerate(columns):
        table.add_column(escape(column), justify='right' if number else 'left', no_wrap=not number)
    for row in rows:
        table.add_row(*(escape(_cell(value)) for value in row))
    console.print(table)
    for note in notes:
        console.print(note)
    if as_json:
        sys.stdout.write(json.dumps(result) + '\n')
        sys.stdout.flush()


def _cell(value: Any) -> str:
    if value is None:
        return '-'
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    if isinstance(value, float):
        return f'{value:.4g}' if abs(value) < 1e4 else f'{value:.0f}'
    return str(value)
