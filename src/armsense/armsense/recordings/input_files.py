"""Recordings as a user names them: files, folders, globs; and how far a name may reach."""

from __future__ import annotations

from collections.abc import Iterable
import glob
from pathlib import Path

from armsense.errors import ArmsenseError


def confined(name: str, folder: Path) -> Path:
    """A path that somebody else names: within a folder, also when links are followed.

    Args:
        name: Relative to the folder, or absolute.
        folder: That must not be left.
    """
    path = (folder / name).resolve()
    if '..' in Path(name).parts or not path.is_relative_to(folder.resolve()):
        raise ArmsenseError(f'{name} does not lie within {folder.resolve()}, where this node '
                            'reads and writes (its parameter folder)')
    return path


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
