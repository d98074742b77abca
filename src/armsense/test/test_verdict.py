"""The verdict on a model: no better than the worst that is known of it."""

from dataclasses import replace
import json
from types import SimpleNamespace

import numpy as np
import pytest

from armsense.cli import tasks
from armsense.identify.identify import identify
from armsense.jobs.identify_job import Identification, Setup, summary
from armsense.jobs.verdict import JointErrors, percent_words, verdict
from armsense.report import page
from armsense.report.content import content
from armsense.report.evidence import Evidence
from bench.synthetic import SyntheticArm

pytestmark = pytest.mark.slow

SOUND = JointErrors(('a', 'b'), (1.0, 2.0), (0.1, 0.1))


def told(train, left_out, validation=None, errors=SOUND, **others):
    result = {'train_percent': train, 'cross_validated_percent': left_out,
              'validation_percent': validation, 'feasible': True}
    return verdict(result, errors, **others)


@pytest.mark.parametrize(('train', 'left_out', 'validation', 'grade'), [
    (1.0, 2.0, None, 'good'), (1.0, 6.0, None, 'usable'), (1.0, 6.0, 2.0, 'good'),
    (1.0, 16.0, None, 'poor'), (6.5, 0.6, None, 'usable'), (6.5, 0.6, 2.0, 'usable'),
    (20.0, 0.6, None, 'usable'), (20.0, 16.0, None, 'poor')])
def test_grades(train, left_out, validation, grade):
    assert told(train, left_out, validation)['grade'] == grade


def test_the_sentence_tells_why_a_model_is_not_good():
    assert '6.5 % on the training' in told(6.5, 0.6)['sentence']
    assert 'training' not in told(1.0, 6.0)['sentence']


@pytest.mark.parametrize(('percent', 'rms', 'silent', 'grade', 'words'), [
    ((1.0, 20.0), (0.1, 0.1), (), 'good', 'Use it: the model misses 2 %'),
    ((1.0, 30.0), (0.2, 0.1), (), 'good', 'Use it: the model misses 2 %'),   # of a small torque
    ((1.0, 30.0), (0.1, 0.2), (), 'usable', 'Use it with wide thresholds: b misses 30 %'),
    ((1.0, 107.0), (0.2, 0.1), (), 'poor', 'Do not use it: b is not explained, 107 %'),
    ((1.0, 107.0), (0.1, 0.2), ('b',), 'good', 'Use it: the model misses 2 %')])
def test_the_worst_joint_decides(percent, rms, silent, grade, words):
    said = told(1.0, 2.0, errors=JointErrors(('a', 'b'), percent, rms, silent))
    assert said['grade'] == grade
    assert said['sentence'].startswith(words)


def test_noise_of_a_sensor_is_no_fault_of_the_model_but_a_torque_that_is_none_is():
    errors = JointErrors(('a', 'b'), (1.0, 30.0), (0.1, 0.2), noise=(0.0, 0.19))
    assert told(1.0, 2.0, errors=errors)['grade'] == 'good'
    errors = errors._replace(change=(2.0, 95.0))          # a mean, and noise about it
    said = told(1.0, 2.0, errors=errors)
    assert said['grade'] == 'poor'
    assert said['sentence'].startswith('Do not use it: b is not explained, 95 %')


def test_percentages_are_written_out():
    assert [percent_words(x) for x in (0.853, 3.24, 14.2, 121.0)] == [
        '0.85 %', '3.2 %', '14 %', '121 %']


def test_wrong_connections_are_told_first():
    said = told(1.0, 2.0, wiring=['a and b are exchanged'])
    assert said['grade'] == 'poor'
    assert said['sentence'].startswith('Do not use it: it seems that a and b are exchanged; the')


def test_result_and_report_say_the_same():
    arm = SyntheticArm.make('laas4', 0.2, 3)
    noisy = []
    for run in (arm.record(1), arm.record(101)):
        tau = run.tau.copy()
        tau[:, 3] = np.random.default_rng(1).normal(0.0, np.std(tau[:, 3]), len(tau))
        noisy.append(replace(run, tau=tau))
    model = identify(noisy[:1], arm.nominal)
    result = summary(model, noisy[1:], [], 1.0)
    assert result['validation_percent'] < 1.0
    assert result['grade'] == 'poor'
    job = Identification(Setup.of_arm('laas4'), model, (noisy[0],), (noisy[1],), (), (), result)
    facts = content(job, Evidence.of(job))
    assert facts['verdict']['grade'] == 'poor'
    assert facts['verdict']['sentence'].startswith('Do not use it: joint4 is not explained')
    assert json.loads(json.dumps(result))['verdict'] in facts['verdict']['sentence']


def test_the_action_says_the_same(tmp_path, monkeypatch):
    result = {'cross_validated_percent': 0.9, 'notes': ['one gap'], 'grade': 'poor',
              'verdict': 'Do not use it: joint4 is not explained'}
    monkeypatch.setattr(tasks, 'run', lambda *_, **__: SimpleNamespace(result=result))
    monkeypatch.setattr(page, 'write_all', lambda job, out: (out, 'report.html'))
    outcome = tasks.identify(('bag',), 'laas4', str(tmp_path / 'm.yaml'), 'sdp', lambda _: None)
    assert outcome.values['grade'] == 'poor'
    assert outcome.message == (
        'Do not use it: joint4 is not explained; report: report.html; one gap')


@pytest.mark.parametrize('spoil', [
    lambda q, tau: (np.degrees(q), tau), lambda q, tau: (q, 1000.0 * tau),
    lambda q, tau: (q, np.where(np.arange(len(q))[:, None] < len(q) // 5, 0.0, tau))],
    ids=['degrees', 'mNm', 'motors off for a fifth'])
def test_a_recording_that_is_not_what_it_should_be_gives_no_model_to_use(spoil):
    arm = SyntheticArm.make('laas4', 0.2, 3)
    spoiled = []
    for run in (arm.record(1, seconds=10.0), arm.record(101, seconds=10.0)):
        q, tau = spoil(run.q, run.tau)
        spoiled.append(replace(run, q=q, tau=tau, dq=None))
    result = summary(identify(spoiled[:1], arm.nominal), spoiled[1:], [], 1.0)
    assert result['grade'] == 'poor'
    assert result['verdict'].startswith('Do not use it: ')
