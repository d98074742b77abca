"""The verdict of a report: no better than the worst that is known of the model."""

from types import SimpleNamespace

import pytest

from armsense_identification.report.words import verdict


def told(train, left_out, validation=None):
    result = {'train_percent': train, 'cross_validated_percent': left_out,
              'validation_percent': validation, 'feasible': True}
    return verdict(SimpleNamespace(result=result), {'warnings': []})


@pytest.mark.parametrize(('train', 'left_out', 'validation', 'grade'), [
    (1.0, 2.0, None, 'good'), (1.0, 6.0, None, 'usable'), (1.0, 6.0, 2.0, 'good'),
    (1.0, 16.0, None, 'poor'), (6.5, 0.6, None, 'usable'), (6.5, 0.6, 2.0, 'usable'),
    (20.0, 0.6, None, 'usable'), (20.0, 16.0, None, 'poor')])
def test_grades(train, left_out, validation, grade):
    assert told(train, left_out, validation)['grade'] == grade


def test_the_sentence_tells_why_a_model_is_not_good():
    assert '6.5 % on the training' in told(6.5, 0.6)['sentence']
    assert 'training' not in told(1.0, 6.0)['sentence']
