"""Damaged input for every parser: each answers with an error of ours, none crashes, none hangs.

    ./armsense bench fuzz [--minutes 10] [--jobs 2] [--json]

Valid frames, lines and files are damaged at random (seeded): bits flipped, pieces cut, doubled,
moved and replaced by what often goes wrong. Minutes are of processor time, so that a busy machine
does not shorten them.
"""

from __future__ import annotations

import argparse
from concurrent.futures import as_completed, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
import multiprocessing
import os
from pathlib import Path
import signal
import tempfile
import time
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import Progress

from bench.fuzz_targets import OURS, Target, targets
from bench.report import emit

HANG = 10            # [s] for one input
TRICKS = (b'\x00', b'\xff' * 4, b'nan', b'1e999', b'-1', b'{', b']', b'<', b'&', b'\n', b'\t: ',
          b'..', b'&a *a', b'!!python/object:os.system x', b'9' * 40, '\u00e9'.encode())


class Hang(Exception):
    """A parser took too long."""


class Outcome(NamedTuple):
    inputs: int
    accepted: int
    failures: list[str]


def damage(data: bytes, rng: np.random.Generator) -> bytes:
    """One to four injuries."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        place = int(rng.integers(0, len(out) + 1))
        length = int(rng.integers(1, 32))
        kind = int(rng.integers(0, 6))
        if kind == 0 and out:
            out[min(place, len(out) - 1)] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del out[place:place + length]
        elif kind == 2:
            out[place:place] = out[place:place + length]
        elif kind == 3:
            out[place:place] = TRICKS[int(rng.integers(len(TRICKS)))]
        elif kind == 4:
            out[place:place + length] = rng.bytes(length)
        elif rng.uniform() < 0.1:
            del out[place:]
    return bytes(out)


def attack(target: Target, seconds: float, seed: int) -> Outcome:
    """Damaged inputs for so long [s of processor time]."""
    rng = np.random.default_rng(seed)
    end = time.process_time() + seconds
    inputs = accepted = 0
    failures: list[str] = []
    while time.process_time() < end and len(failures) < 5:
        data = damage(target.sample, rng)
        inputs += 1
        signal.alarm(HANG)
        try:
            target.parse(data)
            accepted += 1
        except OURS:
            pass
        except Exception as error:   # that is what we look for
            failures.append(f'{type(error).__name__}: {error} for {data[:60]!r}')
        finally:
            signal.alarm(0)
    return Outcome(inputs, accepted, failures)


def attack_by_name(name: str, seconds: float, seed: int) -> Outcome:
    """The same in a process of its own."""
    def hang(*_: object) -> None:
        raise Hang(f'longer than {HANG} s')
    signal.signal(signal.SIGALRM, hang)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)   # libraries write there what they think of it
    with tempfile.TemporaryDirectory() as folder:
        target = next(t for t in targets(Path(folder)) if t.name == name)
        return attack(target, seconds, seed)


def isolated(name: str, seconds: float, seed: int) -> Outcome:
    """A parser that takes its process down is a failure of that parser alone."""
    with ProcessPoolExecutor(1, multiprocessing.get_context('spawn')) as pool:
        try:
            return pool.submit(attack_by_name, name, seconds, seed).result()
        except BrokenProcessPool:
            return Outcome(0, 0, ['the process died'])


def attack_all(names: list[str], seconds: float, seed: int, jobs: int) -> dict[str, Outcome]:
    """All parsers, `jobs` of them at a time."""
    with ThreadPoolExecutor(jobs) as threads, Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task('parsers', total=len(names))
        running = {threads.submit(isolated, name, seconds, seed): name for name in names}
        results = {}
        for done in as_completed(running):
            results[running[done]] = done.result()
            bar.advance(task)
    return {name: results[name] for name in names}


def main() -> int:
    parser = argparse.ArgumentParser(prog='armsense bench fuzz', description=__doc__)
    parser.add_argument('--minutes', type=float, default=0.05, help='for each parser')
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='parsers at a time')
    parser.add_argument('--only', metavar='NAME', nargs='+', help='only these parsers')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--json', action='store_true')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        known = [target.name for target in targets(Path(folder))]
    if unknown := set(options.only or ()) - set(known):
        parser.error(f'unknown parser {sorted(unknown)}; known: {known}')
    results = attack_all(options.only or known, 60.0 * options.minutes, options.seed,
                         options.jobs)
    failures = [f'{name}: {text}' for name, result in results.items() for text in result.failures]
    emit('damaged input', ('parser', 'inputs', 'accepted', 'crashes or hangs'),
         [(name, r.inputs, r.accepted, len(r.failures)) for name, r in results.items()],
         {'failures': failures, **{name: r.inputs for name, r in results.items()}},
         options.json, failures)
    return 1 if failures else 0


if __name__ == '__main__':
    raise SystemExit(main())
