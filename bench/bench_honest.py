"""Identification cannot fool its user: planted mistakes named, sound recordings passed, coverage.

    python -m bench.bench_honest [--planted 60] [--sound 60] [--pairs 60] [--seed 3000] [--json]

Recordings are bags of arms that MuJoCo moves (`bench/planted.py`), read and identified as by
`./armsense identify`. A mistake counts as named where the error, a note or the verdict has its
words, and the joints that it spoils. A sound recording passes where the grade is good and no such
words are there. Coverage: share of true payloads, and of true base parameters, in their 95 %
intervals. Rules were settled with seeds 1000 and 2000; figures are those of seed 3000.
"""

from __future__ import annotations

import argparse
from pathlib import Path
import re
import sys
import tempfile
from typing import Any, NamedTuple

import numpy as np

from armsense.errors import ArmsenseError
from armsense.identify.identify import identify, Options
from armsense.identify.payload import identify_payload
from armsense.identify.signals.recording import Recording
from armsense.jobs.identify_job import run, Setup
from armsense.parallel import run_tasks
from bench.bench_simulated import true_base
from bench.planted import ALL_WORDS, MISTAKES, PlantedArm, Run
from bench.report import emit

ARMS = ('laas4', 'crs_a465', 'laas4', 'seven')
PAYLOAD = 0.2, 1.0     # of the last link's mass


class Said(NamedTuple):
    """What identification said to a recording."""

    kind: str
    right: bool
    words: str


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    for name in ('planted', 'sound', 'pairs'):
        parser.add_argument(f'--{name}', type=int, default=60)
    parser.add_argument('--seed', type=int, default=3000)
    parser.add_argument('--jobs', type=int, default=1)
    parser.add_argument('--verbose', action='store_true', help='print what was said wrongly')
    parser.add_argument('--json', action='store_true')
    a = parser.parse_args()
    kinds = list(MISTAKES)
    tasks = [*((kinds[k % len(kinds)], a.seed + k) for k in range(a.planted)),
             *(('sound', a.seed + 500 + k) for k in range(a.sound))]
    said = list(run_tasks(_judge, tasks, a.jobs))
    pairs = list(run_tasks(_cover, [a.seed + 250 + k for k in range(a.pairs)], a.jobs))
    planted = [s for s in said if s.kind != 'sound']
    sound = [s for s in said if s.kind == 'sound']
    inside = np.concatenate([p[1] for p in pairs]) if pairs else np.zeros(0)
    result = {'planted': len(planted), 'named': sum(s.right for s in planted),
              'sound': len(sound), 'passed': sum(s.right for s in sound),
              'coverage': {'payload': _share([p[0] for p in pairs]),
                           'parameters': _share(inside)}, 'seed': a.seed}
    rows: list[tuple[Any, ...]] = [
        (kind, sum(s.right for s in planted if s.kind == kind),
         sum(s.kind == kind for s in planted)) for kind in kinds]
    rows += [('sound, passed', result['passed'], result['sound']),
             ('true payloads in their intervals', result['coverage']['payload'], len(pairs)),
             ('true parameters in their intervals', result['coverage']['parameters'],
              len(inside))]
    wrong = [f'{s.kind}: {s.words}' for s in said if not s.right] if a.verbose else []
    emit('Honest identification', ('', 'right', 'of'), rows, result, a.json, wrong)
    return 0


def _share(inside: Any) -> float | None:
    return round(float(np.mean(inside)), 3) if len(inside) else None


def _judge(task: tuple[str, int]) -> Said:
    """One recording, with a mistake of some kind or sound, by its seed."""
    kind, seed = task
    rng = np.random.default_rng([seed, 3])
    arm = PlantedArm(ARMS[seed // len(MISTAKES) % len(ARMS)], seed)     # every kind on every arm
    second: Run | None = None
    joints: list[str] = []
    if kind == 'sound':
        recording = arm.run(seed)
    else:
        recording, joints, second = MISTAKES[kind].spoil(arm, seed, rng)
    with tempfile.TemporaryDirectory() as folder:
        train = recording.write(Path(folder) / 'train')
        unseen = [second.write(Path(folder) / 'validate')] if second is not None else []
        try:
            result = run(Setup.of_arm(arm.nominal.name), [train], unseen).result
            grade, words = result['grade'], '; '.join([result['verdict'], *result['notes']])
        except ArmsenseError as error:
            grade, words = 'refused', str(error)
    if kind == 'sound':
        return Said(kind, grade == 'good' and not re.search(ALL_WORDS, words), words)
    named = re.search(MISTAKES[kind].words, words) and all(joint in words for joint in joints)
    return Said(kind, bool(named), f'{arm.nominal.name} {seed}: {words}')


def _recording(made: Run) -> Recording:
    return Recording(made.t, made.q, made.tau)


def _cover(seed: int) -> tuple[bool, Any]:
    """Whether the true payload, and which true base parameters, lie in their intervals."""
    rng = np.random.default_rng([seed, 4])
    arm = PlantedArm(ARMS[seed % len(ARMS)], seed)
    mass = rng.uniform(*PAYLOAD) * float(arm.nominal.masses[-1])
    center = rng.uniform(-0.08, 0.08, 3)
    empty = _recording(arm.run(seed))
    loaded = _recording(arm.run(seed + 10**6, payload=mass, center=center))
    model = identify([empty], arm.nominal.replace(armature=np.zeros(arm.nominal.n)),
                     Options(gravity=arm.nominal.gravity))
    low, high = identify_payload(model, loaded, empty).interval
    assert model.base is not None
    links = np.array(model.base.base.independent) < len(model.parameters)
    true = true_base(model, arm.rigid_torque)
    bounds = model.base.intervals().T
    return low <= mass <= high, ((true >= bounds[0]) & (true <= bounds[1]))[links]


if __name__ == '__main__':
    sys.exit(main())
