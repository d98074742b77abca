"""Files that a user names: recordings and motions in, results out.

Several results that belong together appear together or not at all.
"""

from collections.abc import Iterable, Iterator
import contextlib
import glob
import os
from pathlib import Path
import tempfile

from armsense import schema
from armsense.errors import ArmsenseError
from armsense.excite import Excitation
from armsense.identify.friction.sweep import FrictionSweep, KIND

MotionFile = Excitation | FrictionSweep


def confined(name: str, folder: Path) -> Path:
    """A path that somebody else names: within a folder, also when links are followed."""
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


def read_motion(path: str | Path, arm: str | None = None) -> MotionFile:
    """Read and check; with `arm`, a file of another arm is an error."""
    if schema.read_yaml(Path(path)).get('kind') == KIND:
        return FrictionSweep.read(path, arm)
    return Excitation.read(path, arm)


def period(motion: MotionFile) -> float:
    """Duration of one period [s]."""
    return float(motion.trajectory(1).duration)


def check_target(file: Path, example: str) -> None:
    """Make its folder; raise where `file` cannot be written: before the work, nothing is lost.

    The example is a name that would do in its place, where it is a folder.
    """
    if file.is_dir():
        raise ArmsenseError(f'{file} is a folder; name a file, such as {file / example}')
    folder = file.absolute().parent
    with explain_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass                            # rights alone do not tell: a disk may be read-only


@contextlib.contextmanager
def explain_write_errors(folder: Path) -> Iterator[None]:
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
    with explain_write_errors(folder), \
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
    named = model.stem == 'model' or model.stem.endswith('_model')
    return (model.stem.removesuffix('model') if named else f'{model.stem}_') + 'report' + suffix
