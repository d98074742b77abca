"""Long recordings: choices on excerpts, the last fit on everything, memory that does not grow."""

from pathlib import Path
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from armsense.identify.estimation import training
from armsense.identify.estimation.equations import Prepared
from armsense.identify.estimation.search import all_equations, Choice, State
from armsense.identify.estimation.training import excerpts, Training
from armsense.identify.identify import identify, Options
from armsense.identify.signals.recording import find_period, Recording

sys.path.insert(0, str(Path(__file__).parent))
from identify_truth import make_truth

DOWN = np.array([0.0, 0.0, -9.81])


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(training, 'LONGEST', 12.0)
    monkeypatch.setattr(training, 'WINDOW', 4.0)


def test_windows_are_spread_and_none_is_lost(short):
    run = make_truth().record(1, 40.0, 50.0)
    used, unused, words = excerpts([run])
    assert len(used) + len(unused) == 10
    assert sum(len(w.t) for w in (*used, *unused)) >= len(run.t) - 1
    starts = np.array([w.t[0] for w in used])
    assert sum(w.t[-1] - w.t[0] for w in used) <= 12.0
    np.testing.assert_allclose(starts, [4.0, 20.0, 32.0], atol=0.1)
    assert 'all 10' in words[0]


def periodic(period, seconds):
    """Two joints that repeat."""
    t = np.arange(0.0, seconds, 0.02)
    w = 2.0 * np.pi / period
    q = np.stack([np.sin(w * t) + 0.5 * np.cos(3.0 * w * t),
                  np.cos(2.0 * w * t) - 0.4 * np.sin(w * t)], axis=1)
    return Recording(t, q, q + 1.0, None, 'periodic')


@pytest.mark.parametrize('period', [1.5, 3.0, 5.0])
def test_periods_longer_than_half_a_window(short, monkeypatch, period):
    run = periodic(period, 31.0)
    used, unused, _ = excerpts([run], 'fourier')
    for window in (*used, *unused):
        assert find_period(window) == pytest.approx(period, rel=0.01)
    monkeypatch.setattr(training, 'without_shift', lambda even, model: (even, 0.0, []))
    data = Training.load([run], SimpleNamespace(n=2), Options(preprocess='average'))
    assert not data.unused
    mean, = data.even
    assert mean.t[-1] + 1.0 / mean.rate == pytest.approx(period, rel=0.01)


def test_products_of_windows_add_up_to_those_of_all_samples(short):
    truth = make_truth()
    run = truth.record(2, 40.0, 100.0)
    data = Training.load([run], truth.nominal, Options(cutoff=5.0))
    assert len(data.unused) == 7
    prepared = Prepared.make(data, 'position', 1.6)
    state = State(prepared, Options(), DOWN, np.full(4, 0.02),
                  np.concatenate([truth.arm.parameters, truth.viscous, truth.coulomb]),
                  ('viscous', 'coulomb'))
    told = []
    total = all_equations(state, told.append)
    assert len(told) == 7
    rows = 10 / 3 * sum(c.y.size for c in prepared.columns)
    power = total.yy.sum() / prepared.equations(1).yy.sum()
    assert power == pytest.approx(10 / 3, rel=0.1)
    # The true parameters leave the noise of all windows, and nothing else.
    T = total.selection(DOWN, prepared.drive.places(('viscous', 'coulomb')))
    squares = total.squares(T @ state.theta)
    rest = np.sqrt(squares.sum() / rows)
    assert rest < 1.2 * truth.noise
    assert Choice(('viscous',)).prior == 10.0


def test_a_long_recording_is_identified_better_than_its_excerpts(short):
    truth = make_truth()
    told = []
    found = identify([truth.record(3, 40.0, 100.0)], truth.nominal,
                     Options(gravity=DOWN, terms=('viscous', 'coulomb')),
                     progress=lambda share, step: told.append((step, share)))
    assert any('the last fit on all 10' in note for note in found.notes)
    assert found.feasible
    np.testing.assert_allclose(found.drive_coefficients()['coulomb'], truth.coulomb, atol=0.01)
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
