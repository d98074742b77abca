"""Recordings as a user names them: files, folders, globs."""

from __future__ import annotations

from collections.abc import Iterable
import glob
from pathlib import Path

from armsense_core.errors import ArmsenseError


def expand(names: Iterable[str]) -> list[Path]:
    """Paths of all recordings, globs resolved in order of their names, each one once."""
    found: dict[Path, None] = {}
    for name in names:
        if glob.has_magic(name) and not Path(name).exists():
            matches = sorted(glob.glob(name, recursive=True))
            if not matches:
                raise ArmsenseError(f'nothing matches {name!r}')
            found |= dict.fromkeys(map(Path, matches))
        else:
            found[Path(name)] = None
    return list(found)
