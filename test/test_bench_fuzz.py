"""The fuzzer finds what it looks for, and every parser has a sample that it accepts."""

import platform
import sys

import pytest

from bench import bench_fuzz
from bench.fuzz_targets import targets

SECONDS = 20

has_wheel = pytest.mark.skipif(
    platform.machine() != 'x86_64' or sys.version_info < (3, 11), reason='atheris has no wheel')


def test_every_sample_is_accepted(tmp_path):
    for target in targets(tmp_path):
        target.parse(target.sample)


@has_wheel
@pytest.mark.parametrize(('name', 'seconds', 'failure'), [
    ('sound', 2, ''), ('crash', SECONDS, "KeyError: 'nan'"), ('hang', SECONDS, 'longer than 1 s'),
    ('death', SECONDS, 'the process ended with code 3')])
def test_failures_are_found_and_their_inputs_kept(name, seconds, failure, tmp_path, monkeypatch):
    monkeypatch.setattr(bench_fuzz, 'HANG', 1)
    monkeypatch.setenv('PYTHONPATH', ':'.join(sys.path))
    found = bench_fuzz.attack(name, seconds, 1, bench_fuzz.install(), tmp_path,
                              'fuzz_stand_ins')
    if not failure:
        assert found.failure == ''
        assert found.inputs > 100
    assert failure in found.failure
    assert len(list(tmp_path.glob(f'{name}_*'))) == (name in ('crash', 'hang'))
