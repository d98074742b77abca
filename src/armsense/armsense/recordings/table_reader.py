"""Signals in tables: one file with columns, or a folder with one file per quantity.

Columns are named by the robot file: headings, numbers, or what a series of headings begins with
(`q` for q1, q2, ...). Where it names none, the usual names are looked for.
"""

from pathlib import Path
import re

import numpy as np

from armsense.errors import ArmsenseError, BadValue, UnknownName
from armsense.identify.robot_file import SourceConfig, UNITS
from armsense.recordings.signals import Signals
from armsense.recordings.table_files import read_table_file, Table
from armsense.types import Array

USUAL = {'time': ('time', 't', 'timestamp', 'stamp'),
         'position': ('position', 'pos', 'q', 'actual_q', 'joint_position', 'angle'),
         'velocity': ('velocity', 'vel', 'dq', 'qd', 'actual_qd', 'joint_velocity'),
         'effort': ('effort', 'torque', 'tau', 'joint_torque', 'actual_current', 'current')}
NECESSARY = ('position', 'effort')


def read_table(path: Path, source: SourceConfig,
               joints: tuple[str, ...]) -> tuple[Signals, dict[str, str]]:
    """Signals of a file with columns, or of a folder with `source.files`, and their units.

    The robot file tells units, else the headings do; what neither tells is SI.
    """
    lines: tuple[int, ...] = ()
    if source.files:
        found, units, notes = _separate(path, source, joints), dict(source.units), list[str]()
    else:
        table = read_table_file(path)
        notes, lines = list(table.notes), table.lines
        found, units = _columns(path, table, source, joints, notes)
    for needed in NECESSARY:
        if needed not in found:
            raise ArmsenseError(f'{path.name}: no {needed}; the robot file gives '
                                f'{", ".join(found) or "no columns"}')
    rows = min(map(len, found.values()))
    if 'time' in found:
        t = found.pop('time')[:rows, 0]
    elif source.rate is not None:
        t = np.arange(rows) / source.rate
    else:
        raise ArmsenseError(f'{path.name}: give source.columns.time or source.rate')
    whole = np.isfinite(np.column_stack([t, *(x[:rows] for x in found.values())])).all(axis=1)
    if not whole.all():
        first = int(np.argmin(whole))
        where = f'line {lines[first]}' if lines else f'row {first}'
        notes.append(f'{path.name}: {int((~whole).sum())} of {rows} rows lack a number, the first '
                     f'in {where}; they are left out')
    position, effort, velocity = (found[name][:rows][whole] if name in found else None
                                  for name in ('position', 'effort', 'velocity'))
    assert position is not None
    assert effort is not None
    if not len(position):
        raise ArmsenseError(f'{path.name}: no row has a number in every column')
    return Signals(t[whole], position, effort, velocity, path.name, tuple(notes)), units


def _columns(path: Path, table: Table, source: SourceConfig, joints: tuple[str, ...],
             notes: list[str]) -> tuple[dict[str, Array], dict[str, str]]:
    """Quantities, (N, k) each, and the units that their headings name."""
    found, units = {}, {}
    for quantity, stems in USUAL.items():
        named = source.columns.get(quantity)
        names = (_usual(stems, table, joints, quantity) if not source.columns
                 else named and _named(named, table, joints, quantity, path))
        if not names:
            continue
        wanted = 1 if quantity == 'time' else len(joints)
        parts = [_upright(table.columns[name], wanted) for name in names]
        width = sum(part.shape[1] for part in parts)
        if width != wanted:
            raise BadValue(f'{path.name}: number of columns of {quantity}', width, f'{wanted}')
        found[quantity] = np.hstack([part[:min(map(len, parts))] for part in parts])
        unit = source.units.get(quantity) or _unit(names[0], quantity)
        if unit:
            units[quantity] = unit
        if not source.columns:
            notes.append(f'{path.name}: {quantity} is taken from '
                         f'{" to ".join(dict.fromkeys((names[0], names[-1])))}'
                         f'{f" in {unit}" if unit else ""}')
    if not source.columns and not found:
        raise ArmsenseError(f'{path.name}: a table needs source.columns in the robot file; it has '
                            f'{", ".join(list(table.columns)[:40])}')
    return found, units


def _usual(stems: tuple[str, ...], table: Table, joints: tuple[str, ...],
           quantity: str) -> list[str]:
    """Columns with one of the usual names; none: empty."""
    for stem in stems:
        for name in table.columns:
            if name.lower() == stem or _bare(name).lower() == stem:
                return [name]
        if quantity != 'time' and (series := _series(stem, table, joints)):
            return series
    return []


def _named(named: tuple[str, ...], table: Table, joints: tuple[str, ...], quantity: str,
           path: Path) -> list[str]:
    columns, names = list(table.columns), list[str]()
    for name in named:
        if name in columns:
            names.append(name)
        elif name.isdigit() and int(name) < len(columns):
            names.append(columns[int(name)])
        elif quantity != 'time' and (series := _series(name, table, joints)):
            names += series
        elif columns[0] == '0':
            raise BadValue(f'{path.name}: column', name, f'0 to {len(columns) - 1}')
        else:
            raise UnknownName('column', name, columns, path.name)
    return names


def _series(stem: str, table: Table, joints: tuple[str, ...]) -> list[str]:
    """One column per joint: the stem with rising numbers, or with the names of the joints."""
    numbered = {}
    for name in table.columns:
        rest = re.fullmatch(rf'{re.escape(stem)}[\s_./\[(]*(\d+)[\])]*', _bare(name),
                            re.IGNORECASE)
        if rest:
            numbered[int(rest[1])] = name
    first = min(numbered, default=0)
    if set(numbered) == set(range(first, first + len(joints))):
        return [numbered[k] for k in sorted(numbered)]
    by_joint = []
    for joint in joints:
        own = [name for name in table.columns if _of_joint(name, joint, stem)]
        if len(own) != 1:
            return []
        by_joint += own
    return by_joint


def _of_joint(heading: str, joint: str, stem: str) -> bool:
    """Such as /joint_states/elbow_joint/position or position.elbow_joint."""
    rest, count = re.subn(rf'(?<![a-z0-9]){re.escape(joint)}(?![a-z0-9])', '', heading,
                          flags=re.IGNORECASE)
    return count == 1 and stem.lower() in re.split('[^a-z0-9]+', rest.lower())


_UNIT = re.compile(r'\s*[\[(_ ]\s*([A-Za-z/]+)\s*[\])]?$')


def _unit(heading: str, quantity: str) -> str:
    """The unit that a heading ends with, such as `q1 [deg]`, `time_ms`; '': none."""
    found = _UNIT.search(heading)
    unit = found[1] if found else ''
    if quantity == 'velocity' and unit == 'deg':
        return 'deg/s'
    return unit if unit in UNITS[quantity] else ''


def _bare(heading: str) -> str:
    """Without its unit."""
    found = _UNIT.search(heading)
    if found and any(found[1] in units for units in UNITS.values()):
        return heading[:found.start()]
    return heading


def _upright(array: Array, width: int) -> Array:
    """One row per sample, (N, k); MATLAB's arrays often lie on their side."""
    if array.ndim == 1:
        return array[:, None]
    lying = array.shape[0] == width and array.shape[1] != width
    return array.T if lying else array


def _separate(path: Path, source: SourceConfig, joints: tuple[str, ...]) -> dict[str, Array]:
    folder = path if path.is_dir() else path.parent
    out = {}
    for quantity, name in source.files.items():
        columns = list(read_table_file(folder / name).columns.values())
        table = np.column_stack(columns)
        width = 1 if quantity == 'time' else len(joints)
        if table.shape[1] == 1 and table.size % width == 0:   # one number per line
            table = table.reshape(-1, width)
        if table.shape[1] != width:
            raise BadValue(f'{name}: number of columns', table.shape[1], f'{width}')
        out[quantity] = table
    return out
