"""Recordings in text tables: one file with columns, or a folder with one file per quantity."""

import gzip
from pathlib import Path

import numpy as np

from armsense.errors import ArmsenseError, BadValue, UnknownName
from armsense.identify.robot_file import SourceConfig
from armsense.recordings.bag_reader import Signals
from armsense.types import Array

TEXT = ('.csv', '.txt', '.gz', '.tsv', '.dat')


def read_csv(path: Path, source: SourceConfig, joints: int) -> Signals:
    """Signals of a file with columns, or of a folder with `source.files`."""
    if source.files:
        tables = _separate(path, source, joints)
    else:
        tables = _columns(path, source, joints)
    for needed in ('position', 'effort'):
        if needed not in tables:
            raise ArmsenseError(f'{path.name}: no {needed}; the robot file gives '
                                f'{", ".join(tables) or "no columns"}')
    rows = min(len(table) for table in tables.values())
    position = tables['position'][:rows]
    if 'time' in tables:
        t = tables['time'][:rows, 0]
    elif source.rate is not None:
        t = np.arange(rows) / source.rate
    else:
        raise ArmsenseError(f'{path.name}: give source.columns.time or source.rate')
    velocity = tables['velocity'][:rows] if 'velocity' in tables else None
    return Signals(t, position, tables['effort'][:rows], velocity, path.name)


def _columns(path: Path, source: SourceConfig, joints: int) -> dict[str, Array]:
    if not path.is_file():
        raise ArmsenseError(f'cannot read {path}: not a file')
    if not source.columns:
        raise ArmsenseError(f'{path.name}: a csv file needs source.columns in the robot file')
    headings, table = _table(path)
    out = {}
    for quantity, names in source.columns.items():
        wanted = 1 if quantity == 'time' else joints
        if len(names) != wanted:
            raise BadValue(f'number of columns of {quantity}', len(names), f'{wanted}')
        out[quantity] = table[:, [_place(name, headings, table.shape[1], path) for name in names]]
    return out


def _separate(path: Path, source: SourceConfig, joints: int) -> dict[str, Array]:
    folder = path if path.is_dir() else path.parent
    out = {}
    for quantity, name in source.files.items():
        table = _table(folder / name)[1]
        width = 1 if quantity == 'time' else joints
        if table.shape[1] == 1 and table.size % width == 0:   # one number per line
            table = table.reshape(-1, width)
        if table.shape[1] != width:
            raise BadValue(f'{name}: number of columns', table.shape[1], f'{width}')
        out[quantity] = table
    return out


def _table(path: Path) -> tuple[list[str], Array]:
    """Headings (empty where there are none) and numbers, (N, columns)."""
    try:
        opener = gzip.open if path.suffix == '.gz' else open
        with opener(path, 'rt') as file:
            first = file.readline()
    except OSError as error:
        raise ArmsenseError(f'cannot read {path}: {error.strerror or error}') from error
    except UnicodeDecodeError as error:
        raise ArmsenseError(f'{path.name} is not a text table') from error
    if not first.strip():
        raise ArmsenseError(f'{path.name} is empty')
    delimiter = next((mark for mark in (',', ';', '\t') if mark in first), None)
    words = [word.strip() for word in first.split(delimiter)]
    headings = [] if all(_is_number(word) for word in words if word) else words
    try:
        table = np.loadtxt(path, delimiter=delimiter, skiprows=1 if headings else 0, ndmin=2)
    except ValueError as error:
        raise ArmsenseError(f'{path.name}: {error}') from error
    if not table.size:
        raise ArmsenseError(f'{path.name} has no rows')
    return headings, table


def _place(name: str, headings: list[str], width: int, path: Path) -> int:
    if name in headings:
        return headings.index(name)
    if name.isdigit() and int(name) < width:
        return int(name)
    if headings:
        raise UnknownName('column', name, headings, path.name)
    raise BadValue(f'{path.name}: column', name, f'0 to {width - 1}')


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
