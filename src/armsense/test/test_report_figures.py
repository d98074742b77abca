"""Figures of a report, of recordings as short as they may be."""

from types import SimpleNamespace

import numpy as np
import pytest

from armsense.report.figures import whiteness_figure


@pytest.mark.parametrize('samples', [30, 61, 500])
def test_correlation_of_few_errors(samples):
    model = SimpleNamespace(cutoff=20.0, model=SimpleNamespace(joint_names=('a', 'b')))
    residual = np.random.default_rng(1).standard_normal((samples, 2))
    evidence = SimpleNamespace(rate=100.0, residual=residual)
    assert whiteness_figure(model, evidence).startswith('<svg')
