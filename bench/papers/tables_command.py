"""`./armsense tables [NAME...] [--json]`: published tables beside our own, simulated.

    tables                       all of them, some minutes
    tables thesis-003            those of one document
    tables thesis-000-4.2        one table

Every number of ours comes from a simulated arm (MuJoCo) with the noise and limits that the
document names; seeds are fixed. `better` says whether ours is better where a row can be judged.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import sys
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as Shown

from armsense.cli.command import answer
from bench.papers.catalogue import makers, NAMES, wanted
from bench.papers.entry import Row, Table, Value

VERDICT = {True: '[green]yes[/green]', False: '[red]no[/red]', None: ''}


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(
        prog='armsense tables', description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    out.add_argument('names', nargs='*', metavar='NAME', help=', '.join(NAMES))
    out.add_argument('--json', action='store_true', help='one JSON object as the last line')
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the tables; 1: a mistake on the command line."""
    options = parser().parse_args(arguments)
    return answer('tables', lambda: tell(options), options.json)


def tell(options: argparse.Namespace) -> dict[str, Any]:
    """Print the tables; returns them as plain data."""
    tables = make(wanted(options.names))
    stream = sys.stderr if options.json else sys.stdout
    console = Console(file=stream, highlight=False, width=None if stream.isatty() else 120)
    for table in tables:
        show(table, console)
    summary(tables, console)
    return {table.name: table.as_data() for table in tables}


def make(chosen: Sequence[str]) -> list[Table]:
    """The tables, with a progress bar on standard error."""
    jobs = makers(chosen)
    made: list[Table] = []
    with Progress(TextColumn('tables'), BarColumn(), TextColumn('{task.description}'),
                  TimeElapsedColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task('', total=len(jobs))
        for number, job in enumerate(jobs):
            made += job(lambda text: bar.update(task, description=text))
            bar.update(task, completed=number + 1)
    return [table for table in made if table.name in chosen]


def show(table: Table, console: Console) -> None:
    """One table with what is to be said about it."""
    shown = Shown(title=f'{table.name}: {escape(table.title)}', title_justify='left')
    shown.add_column('')
    for heading in ('printed', 'ours', 'exact', 'better'):
        shown.add_column(heading, justify='right')
    for row in table.rows:
        shown.add_row(escape(row.label), *_cells(row), VERDICT[row.better])
    console.print(shown)
    console.print(f'simulated: {escape(table.conditions)}')
    for text in table.contradictions:
        console.print(f'[yellow]the document contradicts itself:[/yellow] {escape(text)}')
    for text in table.remarks:
        console.print(f'remark: {escape(text)}')
    console.print()


def summary(tables: Sequence[Table], console: Console) -> None:
    """Judged rows and verdicts, table by table."""
    shown = Shown(title='summary', title_justify='left')
    for heading in ('table', 'rows better', 'better', 'contradictions'):
        shown.add_column(heading, justify='left' if heading == 'table' else 'right')
    for table in tables:
        judged = [row.better for row in table.rows if row.better is not None]
        shown.add_row(table.name, f'{sum(judged)} of {len(judged)}', VERDICT[table.better],
                      str(len(table.contradictions)))
    console.print(shown)


def _cells(row: Row) -> list[str]:
    return [_cell(value) for value in (row.printed, row.ours, row.exact)]


def _cell(value: Value) -> str:
    if value is None:
        return ''
    return escape(value) if isinstance(value, str) else f'{value:.4g}'


if __name__ == '__main__':
    sys.exit(main())
