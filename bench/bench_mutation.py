"""Do the tests notice a changed line? Mutations of observer, detector, protocol and limits.

    ./armsense bench mutation [GROUP ...] [--sample 40] [--json]

cosmic-ray (installed once into out/mutation) changes one operator or constant at a time in a copy
of the sources; a mutant that the group's tests let pass has survived.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
from pathlib import Path
import random
import shutil
import sqlite3
import subprocess
import sys
from typing import NamedTuple

from bench.report import emit

VERSION = '8.7.0'
CPU_LIMIT = 60       # [s] of a core for the tests of one mutant: an endless loop is noticed, too
TIMEOUT = 3600.0     # [s] a busy machine kills no mutant


class Group(NamedTuple):
    package: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]


GROUPS = {
    'observer': Group('armsense', ('observer/observers.py', 'observer/observer.py'),
                      ('test_observer_samples.py', 'test_observer_conformance.py')),
    'detector': Group('armsense', ('detector/detector.py', 'detector/contact.py'),
                      ('test_detector.py', 'test_contact.py')),
    'protocol': Group('armsense', ('boards/protocol/spi.py', 'boards/protocol/spi_fields.py',
                                   'boards/protocol/udriver_can.py'),
                      ('test_protocol_spi.py', 'test_protocol_can.py', 'test_crc.py')),
    'limits': Group('armsense', ('boards/command_guard.py',),
                    ('test_command_guard.py', 'test_arm_driver.py')),
}


class Score(NamedTuple):
    mutants: int
    killed: int
    survivors: list[str]

    @property
    def percent(self) -> float:
        return 100.0 * self.killed / max(self.mutants, 1)


def install(folder: Path) -> Path:
    """cosmic-ray in an environment of its own; returns its program."""
    program = folder / 'venv' / 'bin' / 'cosmic-ray'
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / 'COLCON_IGNORE').touch()
        subprocess.run([sys.executable, '-m', 'venv', '--clear', str(folder / 'venv')], check=True)
        subprocess.run([str(folder / 'venv' / 'bin' / 'pip'), 'install', '-qq',
                        f'cosmic-ray=={VERSION}'], check=True)
    return program


def measure(group: Group, program: Path, folder: Path, root: Path, sample: int) -> Score:
    """Mutate a copy of the package and run the group's tests on each mutant."""
    copy = folder / 'sources' / group.package
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(root / 'src' / group.package, copy)
    modules = [str(copy / group.package / name) for name in group.modules]
    tests = ' '.join(str(copy / 'test' / name) for name in group.tests)
    config, session = folder / 'config.toml', folder / 'session.sqlite'
    command = (f'prlimit --cpu={CPU_LIMIT} {sys.executable} -m pytest -x -q -p no:cacheprovider '
               f'-p no:xdist -c {root}/pyproject.toml --rootdir {copy} {tests}')
    config.write_text(
        f'[cosmic-ray]\nmodule-path = {json.dumps(modules)}\ntimeout = {TIMEOUT}\n'
        f'excluded-modules = []\ntest-command = "{command}"\n'
        '[cosmic-ray.distributor]\nname = "local"\n')
    session.unlink(missing_ok=True)
    # The copy comes before the installed package.
    env = {**os.environ, 'PYTHONPATH': f'{copy}:{os.environ.get("PYTHONPATH", "")}'}
    # Tests that fail on the sources as they are would kill every mutant.
    subprocess.run([str(program), 'baseline', str(config)], check=True, env=env)
    subprocess.run([str(program), 'init', str(config), str(session)], check=True, env=env)
    _thin_out(session, sample)
    subprocess.run([str(program), 'exec', str(config), str(session)], check=True, env=env)
    return _read(session, copy)


def _thin_out(session: Path, sample: int) -> None:
    """Keep a random sample, seeded, of the mutants that change what the program does."""
    with sqlite3.connect(session) as database:
        # By place, so that the same are drawn again: job ids are random.
        found = database.execute(
            'SELECT job_id, module_path, start_pos_row, operator_name FROM mutation_specs '
            'ORDER BY module_path, start_pos_row, start_pos_col, operator_name, operator_args, '
            'occurrence').fetchall()
        hints = {path: _annotations(Path(path)) for _, path, _, _ in found}
        real = [job for job, path, row, operator in found
                if 'BitOr' not in operator or row not in hints[path]]
        keep = set(random.Random(1).sample(real, min(sample, len(real))))
        drop = [job for job, *_ in found if job not in keep]
        for table in ('mutation_specs', 'work_items'):
            database.executemany(f'DELETE FROM {table} WHERE job_id = ?', [(j,) for j in drop])


def _annotations(path: Path) -> set[int]:
    """Lines with types, which nobody evaluates: `float | None` is no calculation."""
    hints = [hint for node in ast.walk(ast.parse(path.read_text()))
             for hint in (getattr(node, 'annotation', None), getattr(node, 'returns', None))
             if hint is not None]
    return {line for hint in hints for line in range(hint.lineno, hint.end_lineno + 1)}


def _read(session: Path, copy: Path) -> Score:
    with sqlite3.connect(session) as database:
        rows = database.execute(
            'SELECT r.test_outcome, m.module_path, m.start_pos_row, m.operator_name FROM '
            'work_results r JOIN mutation_specs m ON m.job_id = r.job_id').fetchall()
    survivors = [f'{Path(path).relative_to(copy)}:{row} {operator.removeprefix("core/")}'
                 for outcome, path, row, operator in rows if 'SURVIVED' in str(outcome).upper()]
    return Score(len(rows), len(rows) - len(survivors), sorted(survivors))


def main() -> int:
    parser = argparse.ArgumentParser(prog='armsense bench mutation', description=__doc__)
    parser.add_argument('groups', nargs='*', choices=[*GROUPS, []], default=[])
    parser.add_argument('--sample', type=int, default=40, help='mutants of each group')
    parser.add_argument('--json', action='store_true')
    options = parser.parse_args()
    root = Path(os.environ['ARMSENSE_ROOT'])
    folder = root / 'out' / 'mutation'
    program = install(folder)
    scores = {name: measure(GROUPS[name], program, folder, root, options.sample)
              for name in options.groups or GROUPS}
    emit('mutants', ('group', 'mutants', 'killed', '%'),
         [(name, s.mutants, s.killed, s.percent) for name, s in scores.items()],
         {name: {'mutants': s.mutants, 'killed_percent': s.percent, 'survivors': s.survivors}
          for name, s in scores.items()}, options.json,
         [f'survived: {line}' for s in scores.values() for line in s.survivors])
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
