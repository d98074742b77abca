"""Several files that belong together appear together or not at all."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import os
from pathlib import Path
import tempfile

from armsense.errors import ArmsenseError


def check_target(file: Path, example: str) -> None:
    """Raise where `file` cannot be written: asked before the work, nothing is lost.

    Args:
        file: What shall be written.
        example: A name that would do in its place, where it is a folder.
    """
    if file.is_dir():
        raise ArmsenseError(f'{file} is a folder; name a file, such as {file / example}')
    folder = file.absolute().parent
    if not folder.is_dir():
        raise ArmsenseError(f'the folder {folder} does not exist')
    with refusals_told(folder), tempfile.TemporaryFile(dir=folder):
        pass                                # rights alone do not tell: a disk may be read-only


@contextlib.contextmanager
def refusals_told(folder: Path) -> Iterator[None]:
    """Where the system refuses to write: one line that says where and why."""
    try:
        yield
    except OSError as error:
        raise ArmsenseError(f'cannot write into {folder}: {error.strerror or error}') from error


@contextlib.contextmanager
def together(folder: Path) -> Iterator[Path]:
    """A folder to write into; at the end all its files move into `folder`, or none does.

    Files move in the order of their writing; the one that others rely on is written last.
    """
    if not folder.is_dir():
        raise ArmsenseError(f'the folder {folder} does not exist')
    with refusals_told(folder), \
            tempfile.TemporaryDirectory(dir=folder, prefix='.writing_') as name:
        stage = Path(name)
        yield stage
        _move(sorted(stage.iterdir(), key=lambda path: path.stat().st_mtime_ns), folder, stage)


def _move(files: list[Path], folder: Path, stage: Path) -> None:
    for file in files:
        if (folder / file.name).is_dir():   # it would go with all that is in it
            raise ArmsenseError(f'{folder / file.name} is a folder; name a file instead')
    old = stage / '.old'
    old.mkdir()
    moved: list[Path] = []
    try:
        for file in files:
            target = folder / file.name
            if target.exists():
                os.replace(target, old / file.name)
            moved.append(target)
            os.replace(file, target)
            target.chmod(0o644)
    except OSError:
        for target in moved:
            target.unlink(missing_ok=True)
            if (old / target.name).exists():
                os.replace(old / target.name, target)
        raise


def report_name(model: Path, suffix: str) -> str:
    """Name of a report beside a model: model.yaml, report.html; arm7.yaml, arm7_report.html."""
    stem = model.stem
    name = stem.replace('model', 'report') if 'model' in stem else f'{stem}_report'
    return name + suffix
