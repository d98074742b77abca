"""The verdict on a model: no better than the worst that is known of it."""

from dataclasses import replace
import json

import numpy as np
import pytest

from armsense_core.identify.identify import identify
from armsense_core.identify.synthetic import SyntheticArm
from armsense_identification.identify_job import Identification, Subject
from armsense_identification.report.content import content
from armsense_identification.report.evidence import Evidence
from armsense_identification.summary import summary
from armsense_identification.verdict import JointErrors, verdict

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
    job = Identification(Subject.of_arm('laas4'), model, (noisy[0],), (noisy[1],), (), (), result)
    facts = content(job, Evidence.of(job))
    assert facts['verdict']['grade'] == 'poor'
    assert facts['verdict']['sentence'].startswith('Do not use it: joint4 is not explained')
    assert json.loads(json.dumps(result))['verdict'] in facts['verdict']['sentence']
