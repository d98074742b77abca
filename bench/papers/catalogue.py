"""All tables by name, and which command line names mean which."""

from __future__ import annotations

from collections.abc import Sequence
import functools

from armsense.errors import UnknownName
from bench.papers import (
    paper_001,
    paper_002,
    thesis_000_actuator,
    thesis_000_load,
    thesis_003,
    thesis_004_friction,
    thesis_004_model,
)
from bench.papers.entry import Maker

# Tables that come out of one simulation stand together.
MAKERS: dict[tuple[str, ...], Maker] = {
    ('thesis-000-4.2', 'thesis-000-4.3'): thesis_000_actuator.make_parameters,
    ('thesis-000-4.4', 'thesis-000-4.5'): thesis_000_load.make,
    ('thesis-000-A.1',): functools.partial(thesis_000_actuator.make_searches, 3),
    ('thesis-000-A.2',): functools.partial(thesis_000_actuator.make_searches, 4),
    ('thesis-000-A.3',): functools.partial(thesis_000_actuator.make_searches, 5),
    ('paper-001-4',): paper_001.make,
    ('paper-002-I',): paper_002.make,
    ('thesis-003-3.2', 'thesis-003-4.2'): thesis_003.make_static,
    ('thesis-003-4.3',): thesis_003.make_correction,
    ('thesis-004-4.3',): thesis_004_friction.make,
    ('thesis-004-5.1', 'thesis-004-A.1'): thesis_004_model.make}
NAMES = tuple(name for names in MAKERS for name in names)
DOCUMENTS = tuple(dict.fromkeys('-'.join(name.split('-')[:2]) for name in NAMES))


def wanted(given: Sequence[str]) -> tuple[str, ...]:
    """Tables that the names of tables or documents mean; none given: all."""
    if not given:
        return NAMES
    chosen: list[str] = []
    for name in given:
        found = [table for table in NAMES if table == name or table.startswith(f'{name}-')]
        if not found:
            raise UnknownName('table', name, (*DOCUMENTS, *NAMES))
        chosen += found
    return tuple(dict.fromkeys(chosen))


def makers(chosen: Sequence[str]) -> list[Maker]:
    """What must run for these tables, each once."""
    return [maker for names, maker in MAKERS.items() if any(name in chosen for name in names)]
