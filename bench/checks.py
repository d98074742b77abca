"""`./armsense test [fast|unit|system|lint] [pytest arguments]`: the checks of the project.

Without a word: ruff, mypy, then unit and system tests in one pytest run on all cores. `fast` is
the library without its tests marked `slow`, for the time in which you write. What fails, fails.
Only tests that are marked `timing` (real processes against a clock) get a second chance: where
nothing else failed in their file, it is run once more with the machine to itself, a warning tells
their names, and the second result counts. It is the whole file, because a process that a test
leaves behind is noticed only at the end of its file.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
import subprocess
import sys
import tempfile

PARTS = ('fast', 'unit', 'system', 'lint')
FAST = ['src/armsense/test']
TESTS_FAILED = 1   # pytest's exit code


def lint(root: Path) -> int:
    """Style and types; every tool runs even if one before it failed."""
    checks = [
        ['ruff', 'check', '.'],
        ['mypy', *_packages(root)],
        ['hadolint', 'docker/Dockerfile'],
    ]
    codes = []
    for command in checks:
        print('$ ' + ' '.join(command), flush=True)
        tool = Path(sys.executable).parent / command[0]
        codes.append(subprocess.run([str(tool), *command[1:]], cwd=root).returncode)
    return max(codes)


def tests(root: Path, folders: list[str], arguments: list[str]) -> int:
    pytest = [sys.executable, '-m', 'pytest', '--no-fold-skipped']   # each with name and reason
    chosen = [a for a in arguments
              if not a.startswith('-') and Path(root, a.split('::')[0]).exists()]
    if chosen or any(a.startswith(('-n', '-x', '--pdb', '-k')) for a in arguments):
        return _run([*pytest, *([] if chosen else folders), *arguments], root)
    together = ['-n', str(os.cpu_count() or 1), '--dist', 'loadfile']
    with tempfile.TemporaryDirectory() as folder:
        outcomes = Path(folder, 'outcomes.json')
        code = _run([*pytest, *together, *folders, *arguments], root, outcomes)
        failed = _failed(outcomes) if code == TESTS_FAILED else {}
    excused = {file: names for file, names in failed.items() if all(names.values())}
    if excused:
        second = _run_again(pytest, excused, arguments, root)
        code = second if len(excused) == len(failed) else TESTS_FAILED
    _tell_failures([name for file in failed.keys() - excused.keys() for name in failed[file]])
    return code


def _run_again(pytest: list[str], excused: dict[str, dict[str, bool]], arguments: list[str],
               root: Path) -> int:
    names = [name for tests in excused.values() for name in tests]
    print(f'\nWARNING: {len(names)} timing tests failed beside others and are run once more, with '
          'the machine to themselves:\n  ' + '\n  '.join(names), flush=True)
    return _run([*pytest, '-v', *sorted(excused), *arguments], root)


def _tell_failures(names: list[str]) -> None:
    """Last of all, where the end of a long log is all that somebody sees."""
    if names:
        print(f'\nFAILED ({len(names)}):\n  ' + '\n  '.join(sorted(names)), flush=True)


def _failed(outcomes: Path) -> dict[str, dict[str, bool]]:
    """Names of failed tests by their files, and whether they are marked `timing`."""
    if not outcomes.exists():
        return {}
    files: dict[str, dict[str, bool]] = {}
    for name, timing in json.loads(outcomes.read_text()).items():
        files.setdefault(name.split('::')[0], {})[name] = timing
    return files


def _run(command: list[str], root: Path, outcomes: Path | None = None) -> int:
    print('$ ' + ' '.join(command[1:]), flush=True)
    told = {} if outcomes is None else {'ARMSENSE_TEST_OUTCOMES': str(outcomes)}
    return subprocess.run(command, cwd=root, env=os.environ | told).returncode


def _packages(root: Path) -> list[str]:
    names = sorted(p.name for p in (root / 'src').glob('armsense*') if (p / p.name).is_dir())
    return [word for name in names for word in ('-p', name)]


def main() -> int:
    root = Path(os.environ['ARMSENSE_ROOT'])
    arguments = sys.argv[1:]
    if arguments[:1] in (['-h'], ['--help']):
        print(__doc__)
        return 0
    part = arguments.pop(0) if arguments and arguments[0] in PARTS else None
    unit = sorted(str(p.relative_to(root)) for p in (root / 'src').glob('*/test'))
    if part == 'lint':
        return lint(root)
    if part == 'fast':
        return tests(root, FAST, ['-m', 'not slow', *arguments])
    if part == 'unit':
        return tests(root, unit, arguments)
    if part == 'system':
        return tests(root, ['test'], arguments)
    style = lint(root)
    return tests(root, [*unit, 'test'], arguments) or style


if __name__ == '__main__':
    sys.exit(main())
