"""The fuzzer finds what it looks for, and every parser has a sample that it accepts."""

import os

import pytest

from armsense_core.errors import ArmsenseError
from bench import bench_fuzz
from bench.fuzz_targets import Target, targets

SECONDS = 0.2


def test_every_sample_is_accepted(tmp_path):
    for target in targets(tmp_path):
        target.parse(target.sample)


@pytest.mark.parametrize('error', [ArmsenseError, KeyError])
def test_only_foreign_errors_count(error):
    def parse(data: bytes) -> None:
        if data != b'sample':
            raise error('damaged')
    outcome = bench_fuzz.attack(Target('x', b'sample', parse), SECONDS, seed=1)
    assert outcome.inputs > outcome.accepted
    assert len(outcome.failures) == (5 if error is KeyError else 0)


def test_same_seed_same_damage():
    seen: list[list[bytes]] = [[], []]
    for run in seen:
        bench_fuzz.attack(Target('x', b'sample', run.append), SECONDS, seed=3)
    shorter = min(map(len, seen))
    assert seen[0][:shorter] == seen[1][:shorter]
    assert len(set(seen[0])) > 100


def _die(*_: object) -> None:
    os._exit(3)


def test_parser_that_kills_its_process(monkeypatch):
    monkeypatch.setattr(bench_fuzz, 'attack_by_name', _die)
    assert bench_fuzz.isolated('x', 0.0, 1).failures == ['the process died']
