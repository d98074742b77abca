"""Files of named columns: text tables, NumPy archives, Parquet, MATLAB.

A row of a text table that is no row of numbers is left out, and its line is told: loggers are
killed in the middle of a line. A file with many of them is no table.
"""

from collections import Counter
from collections.abc import Callable, Iterator
import gzip
from pathlib import Path
from typing import Any, NamedTuple
import zipfile

import numpy as np
import scipy.io

from armsense.errors import ArmsenseError
from armsense.types import Array

TEXT = ('.csv', '.txt', '.gz', '.tsv', '.dat')
MOST_MALFORMED = 0.2      # share of the rows
SAMPLE = 200              # rows that tell how many columns there are


class Table(NamedTuple):
    """Columns by name, (N,) or (N, k) each; in a text without headings their numbers."""

    columns: dict[str, Array]
    notes: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()    # of the rows in a text, counted from 1; else empty


def read_table_file(path: Path) -> Table:
    """All columns of a file."""
    if not path.is_file():
        raise ArmsenseError(f'cannot read {path}: not a file')
    kinds: dict[str, Callable[[Path], Table]] = {
        '.npz': _npz, '.parquet': _parquet, '.mat': _mat}
    table = kinds.get(path.suffix, _text)(path)
    if not table.columns or not len(next(iter(table.columns.values()))):
        raise ArmsenseError(f'{path.name} has no rows')
    return table


SUFFIXES = (*TEXT, '.npz', '.parquet', '.mat')


class _Lines:
    """Rows of a text file without empty lines and comments; remembers their numbers."""

    def __init__(self, path: Path) -> None:
        self.path, self.numbers, self.heading = path, list[int](), ''
        self.decimal_comma = False

    def __iter__(self) -> Iterator[str]:
        self.numbers.clear()
        opener = gzip.open if self.path.suffix == '.gz' else open
        first = True
        with opener(self.path, 'rt', encoding='utf-8-sig') as file:
            for number, line in enumerate(file, 1):
                text = line.strip()
                if not text:
                    continue
                if first:
                    first = False
                    if not _numbers(text.lstrip('#')):
                        self.heading = text.lstrip('# ')
                        continue
                if text[0] in '#%':
                    continue
                self.numbers.append(number)
                yield text.replace(',', '.') if self.decimal_comma else text


def _text(path: Path) -> Table:
    lines = _Lines(path)
    try:
        first = next(iter(lines), '')
        if not first and not lines.heading:
            raise ArmsenseError(f'{path.name} is empty')
        mark = _delimiter(first or lines.heading)
        lines.decimal_comma = mark == ';'
        notes: tuple[str, ...] = ()
        try:
            rows = np.loadtxt(lines, delimiter=mark, ndmin=2) if first else np.empty((0, 1))
        except ValueError:
            rows, notes = _row_by_row(lines, mark)
    except OSError as error:
        raise ArmsenseError(f'cannot read {path}: {error.strerror or error}') from error
    except (UnicodeDecodeError, EOFError) as error:
        raise ArmsenseError(f'{path.name} is not a text table') from error
    names = [word.strip(' "\'') for word in lines.heading.split(mark)] if lines.heading else []
    if len(names) != rows.shape[1]:
        names = [str(k) for k in range(rows.shape[1])]
    names = [name if names.count(name) == 1 else f'{name}.{k}' for k, name in enumerate(names)]
    return Table(dict(zip(names, rows.T, strict=True)), notes, tuple(lines.numbers))


def _row_by_row(lines: _Lines, mark: str | None) -> tuple[Array, tuple[str, ...]]:
    """Rows of numbers, and what was left out."""
    words = [line.split(mark) for line in lines]
    numbers = list(lines.numbers)
    width = Counter(map(len, words[:SAMPLE])).most_common(1)[0][0]
    rows, kept, bad = [], [], list[str]()
    for number, row in zip(numbers, words, strict=True):
        reason = (f'{len(row)} values instead of {width}' if len(row) != width else
                  next((f'{word.strip()!r} is no number' for word in row if not _is_number(word)),
                       ''))
        if reason:
            bad.append(f'line {number}: {reason}')
        else:
            rows.append([float(word) if word.strip() else np.nan for word in row])
            kept.append(number)
    lines.numbers[:] = kept
    if not bad:
        return np.array(rows), ()
    what = (f'{lines.path.name}: {len(bad)} of {len(words)} rows are malformed, the first in '
            f'{bad[0]}')
    if len(bad) > MOST_MALFORMED * len(words):
        raise ArmsenseError(f'{what}; this is no table of numbers')
    return np.array(rows), (f'{what}; they are left out',)


def _delimiter(line: str) -> str | None:
    return next((mark for mark in (';', '\t', ',') if mark in line), None)


def _numbers(line: str) -> bool:
    return all(_is_number(word) for word in line.split(_delimiter(line)))


def _is_number(word: str) -> bool:
    """Or nothing at all: a value that was not measured."""
    try:
        float(word.strip().replace(',', '.') or 'nan')
    except ValueError:
        return False
    return True


def _npz(path: Path) -> Table:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return _arrays({name: archive[name] for name in archive.files})
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise ArmsenseError(f'{path.name} is no archive of arrays: {error}') from error


def _mat(path: Path) -> Table:
    try:
        content = scipy.io.loadmat(path, simplify_cells=True)
    except NotImplementedError:
        raise ArmsenseError(f'{path.name} is a MATLAB file of version 7.3; save it with '
                            "save(file, '-v7')") from None
    except Exception as error:      # damaged bytes make the library raise what it will
        raise ArmsenseError(f'{path.name} is no MATLAB file: {error}') from error
    return _arrays({name: value for name, value in _leaves(content) if name[:2] != '__'})


def _leaves(content: dict[str, Any], prefix: str = '') -> Iterator[tuple[str, Any]]:
    """Fields of structures as `structure.field`."""
    for name, value in content.items():
        if isinstance(value, dict):
            yield from _leaves(value, f'{prefix}{name}.')
        else:
            yield prefix + name, value


def _arrays(found: dict[str, Any]) -> Table:
    """Those that are numbers."""
    arrays = {name: np.asarray(value) for name, value in found.items()}
    return Table({name: array.astype(float) for name, array in arrays.items()
                  if array.dtype.kind in 'fiu' and array.ndim in (1, 2) and array.size > 1})


def _parquet(path: Path) -> Table:
    try:
        from pyarrow import ArrowInvalid, parquet
    except ImportError:
        raise ArmsenseError(f'{path.name}: Parquet needs pyarrow; type: pip install '
                            'pyarrow') from None
    try:
        table = parquet.read_table(path)
    except (OSError, ArrowInvalid) as error:
        raise ArmsenseError(f'{path.name} is no Parquet file: {error}') from error
    found = {name: table.column(name).to_numpy() for name in table.column_names}
    return _arrays({name: np.stack(list(values)) if values.dtype == object else _plain(values)
                    for name, values in found.items() if _numeric(values)})


def _numeric(values: Any) -> bool:
    return values.dtype.kind in 'fiuM' or (len(values) > 0 and isinstance(values[0], np.ndarray))


def _plain(values: Any) -> Any:
    """Instants of time as seconds."""
    if values.dtype.kind != 'M':
        return values
    return 1e-9 * (values - values[0]).astype('timedelta64[ns]').astype(float)
