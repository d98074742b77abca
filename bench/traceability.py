"""Rows of docs/traceability.md: equations of the documents, code and tests.

The documents' numbered equations are listed here; a row may stand for a range of them.
"""

from pathlib import Path
import re
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / 'docs' / 'traceability.md'
CODE = ROOT / 'src' / 'armsense' / 'armsense'
TESTS = ROOT / 'src' / 'armsense' / 'test'
# Chapter and number of the last equation of each document; '': numbered throughout.
EQUATIONS = {
    '000': {'2': 8, '3': 42, '4': 52, '5': 21}, '001': {'': 18}, '002': {'': 14},
    '003': {'2': 22, '3': 2, '4': 2}, '004': {'2': 22, '3': 17, '4': 14, '5': 3, 'A': 2}}
REASON = 'reason: '


class Row(NamedTuple):
    """One line of a table of the page."""

    document: str
    equations: tuple[str, ...]   # such as '3.9', '3.10'
    code: str                    # or a reason why there is none
    test: str
    shown: tuple[str, ...]       # tables of `./armsense tables`


def numbered() -> set[tuple[str, str]]:
    """Document and number of every equation."""
    return {(document, _number(chapter, k)) for document, chapters in EQUATIONS.items()
            for chapter, last in chapters.items() for k in range(1, last + 1)}


def rows() -> list[Row]:
    """All rows of the page."""
    found, document = [], ''
    for line in PAGE.read_text().splitlines():
        if heading := re.match(r'## (\d{3}):', line):
            document = heading[1]
        cells = [cell.strip() for cell in line.strip('|').split('|')]
        if document and len(cells) == 5 and re.match(r'[\dA]', cells[0]):
            found.append(Row(document, _range(cells[0]), cells[2], cells[3], tuple(
                re.findall(r'(?:thesis|paper)-[\w.-]+', cells[4]))))
    return found


def count_rows() -> dict[str, int]:
    """How many equations there are, and how many have a row with code or with a reason."""
    known = {(row.document, number) for row in rows() for number in row.equations}
    reasons = {(row.document, number) for row in rows() if row.code.startswith(REASON)
               for number in row.equations}
    every = numbered()
    return {'equations': len(every), 'with_row': len(known & every),
            'with_reason_only': len(reasons & every)}


def missing_names(cell: str, folder: Path) -> list[str]:
    """What a cell names and is not there: files, and what should stand in the file before."""
    missing, text = [], ''
    for name in re.findall(r'`([^`]+)`', cell):
        if name.endswith('.py'):
            path = ROOT / name if name.startswith(('bench/', 'test/')) else folder / name
            text = path.read_text() if path.is_file() else ''
            missing += [] if text else [name]
        elif not re.search(rf'(def|class) {name}\b', text):
            missing.append(name)
    return missing


def _number(chapter: str, k: int) -> str:
    return f'{chapter}.{k}' if chapter else str(k)


def _range(cell: str) -> tuple[str, ...]:
    """'3.9-3.11' -> ('3.9', '3.10', '3.11')."""
    first, _, last = cell.partition('-')
    chapter, _, low = first.rpartition('.')
    high = (last or first).rpartition('.')[2]
    return tuple(_number(chapter, k) for k in range(int(low), int(high) + 1))
