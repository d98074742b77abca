"""Damaged input for every parser: each answers with an error of ours, none crashes, none hangs.

    ./armsense bench fuzz [--minutes 10] [--jobs 2] [--json]

atheris (installed once into out/fuzz) begins with a valid frame, line or file, damages it, and
goes on from whatever reached new lines of the parser. An error that is not ours, the end of the
process, 10 s or 2 GB for one input are failures; the input is kept in out/fuzz.
"""

from __future__ import annotations

import argparse
from concurrent.futures import as_completed, ThreadPoolExecutor
import contextlib
import os
from pathlib import Path
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

from rich.console import Console
from rich.progress import Progress

from bench.fuzz_targets import targets
from bench.report import emit

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / 'out' / 'fuzz'
ATHERIS = 'atheris==3.0.0'
HANG = 10            # [s] for one input
MEMORY = 2048        # [MB]
TRICKS = (b'\x00', b'\xff' * 4, b'nan', b'1e999', b'-1', b'{', b']', b'<', b'&', b'\n', b'\t: ',
          b'..', b'&a *a', b'!!python/object:os.system x', b'9' * 40, '\u00e9'.encode())


class Outcome(NamedTuple):
    inputs: int
    paths: int               # inputs that reached something new
    failure: str             # '' where there is none


def install(folder: Path = FOLDER) -> Path:
    """Atheris in a folder of its own: few platforms have it, and only this needs it.

    Raises:
        SystemExit: It cannot be had here.
    """
    site = folder / 'site'
    if not site.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=folder))
        done = subprocess.run([sys.executable, '-m', 'pip', 'install', '--quiet', '--no-deps',
                               '--only-binary', ':all:', '--target', str(fresh), ATHERIS],
                              capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f'bench fuzz needs {ATHERIS}, whose wheels are for Linux on x86-64 '
                             f'and Python 3.11 to 3.13:\n{done.stderr}')
        with contextlib.suppress(OSError):       # another process was quicker
            fresh.rename(site)
    return site


def attack(name: str, seconds: int, seed: int, site: Path, kept: Path = FOLDER,
           module: str = 'bench.fuzz_targets') -> Outcome:
    """One parser for so long [s].

    Args:
        name: Of the parser.
        seconds: By the clock.
        seed: Of the changes.
        site: Where atheris is.
        kept: Where the input of a failure is kept.
        module: Has `targets`.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / 'tricks').write_text(''.join(f'"{_escaped(trick)}"\n' for trick in TRICKS))
        done = subprocess.run(
            [sys.executable, '-m', 'bench.fuzz_worker', module, name, scratch, f'-seed={seed}',
             f'-max_total_time={seconds}', f'-timeout={HANG}', f'-rss_limit_mb={MEMORY}',
             f'-dict={folder / "tricks"}', '-print_final_stats=1', '-verbosity=0',
             '-close_fd_mask=3',     # libraries write there what they think of the input
             f'-artifact_prefix={kept / name.replace(" ", "_")}_'],
            capture_output=True, text=True, errors='replace', cwd=ROOT,
            env={**os.environ, 'PYTHONPATH': os.pathsep.join(
                [str(ROOT), os.environ.get('PYTHONPATH', ''), str(site)])})
        return Outcome(_stat('number_of_executed_units', done.stderr),
                       _stat('new_units_added', done.stderr), _failure(folder, done))


def _escaped(data: bytes) -> str:
    return ''.join(f'\\x{byte:02x}' for byte in data)


def _stat(name: str, output: str) -> int:
    found = re.search(rf'stat::{name}:\s+(\d+)', output)
    return int(found[1]) if found else 0


def _failure(folder: Path, done: subprocess.CompletedProcess[str]) -> str:
    if not done.returncode:
        return ''
    written = re.search(r'Test unit written to (\S+)', done.stderr)
    where = f'; input in {written[1]}' if written else ''
    error = folder / 'failure.txt'
    if error.exists():
        return error.read_text().strip() + where
    if 'libFuzzer: timeout' in done.stderr:
        return f'longer than {HANG} s' + where
    if 'out-of-memory' in done.stderr:
        return f'more than {MEMORY} MB' + where
    return f'the process ended with code {done.returncode}{where}\n{done.stderr[-500:]}'


def attack_all(names: list[str], seconds: int, seed: int, jobs: int) -> dict[str, Outcome]:
    """All parsers, `jobs` of them at a time."""
    site = install()
    with ThreadPoolExecutor(jobs) as threads, Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task('parsers', total=len(names))
        running = {threads.submit(attack, name, seconds, seed, site): name for name in names}
        results = {}
        for done in as_completed(running):
            results[running[done]] = done.result()
            bar.advance(task)
    return {name: results[name] for name in names}


def main() -> int:
    parser = argparse.ArgumentParser(prog='armsense bench fuzz', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--minutes', type=float, default=0.1, help='for each parser')
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='parsers at a time')
    parser.add_argument('--only', metavar='NAME', nargs='+', help='only these parsers')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--json', action='store_true')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        known = [target.name for target in targets(Path(folder))]
    if unknown := set(options.only or ()) - set(known):
        parser.error(f'unknown parser {sorted(unknown)}; known: {known}')
    results = attack_all(options.only or known, round(60.0 * options.minutes), options.seed,
                         options.jobs)
    failures = [f'{name}: {r.failure}' for name, r in results.items() if r.failure]
    emit('damaged input', ('parser', 'inputs', 'new paths', 'crash or hang'),
         [(name, r.inputs, r.paths, bool(r.failure)) for name, r in results.items()],
         {'failures': failures, **{name: r.inputs for name, r in results.items()}},
         options.json, failures)
    return 1 if failures else 0


if __name__ == '__main__':
    raise SystemExit(main())
