"""`./armsense test [unit|system|lint] [pytest arguments]`: the checks of the project.

Without a word: ruff, mypy, then unit and system tests in one pytest run on all cores. Files in
which something failed are run once more with the machine to themselves; the second result counts,
and the names of the tests that needed it are printed: their timing is a defect to mend, not a
reason to stop a change. It is the whole file, because a process that a test leaves behind is
noticed only at the end of its file.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
import subprocess
import sys

PARTS = ('unit', 'system', 'lint')
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
    pytest = [sys.executable, '-m', 'pytest']
    chosen = [a for a in arguments
              if not a.startswith('-') and Path(root, a.split('::')[0]).exists()]
    if chosen or any(a.startswith(('-n', '-x', '--pdb', '-k')) for a in arguments):
        return _run([*pytest, *([] if chosen else folders), *arguments], root)
    together = ['-n', str(os.cpu_count() or 1), '--dist', 'loadfile']
    code = _run([*pytest, *together, *folders, *arguments], root)
    again = _failed_files(root, folders) if code == TESTS_FAILED else []
    if not again:
        return code
    print('\nTests of these files failed beside others; once more, one by one:', flush=True)
    return _run([*pytest, '-v', *again, *arguments], root)


def _failed_files(root: Path, folders: list[str]) -> list[str]:
    """Files below the folders in which a test failed last, from pytest's cache."""
    try:
        failed = json.loads((root / '.pytest_cache/v/cache/lastfailed').read_text())
    except FileNotFoundError:   # the cache is switched off
        return []
    files = sorted({Path(name.split('::')[0]) for name in failed})
    return [str(file) for file in files if (root / file).is_file()
            and any(file.is_relative_to(folder) for folder in folders)]


def _run(command: list[str], root: Path) -> int:
    print('$ ' + ' '.join(command[1:]), flush=True)
    return subprocess.run(command, cwd=root).returncode


def _packages(root: Path) -> list[str]:
    names = sorted(p.name for p in (root / 'src').glob('armsense_*') if (p / p.name).is_dir())
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
    if part == 'unit':
        return tests(root, unit, arguments)
    if part == 'system':
        return tests(root, ['test'], arguments)
    style = lint(root)
    return tests(root, [*unit, 'test'], arguments) or style


if __name__ == '__main__':
    sys.exit(main())
