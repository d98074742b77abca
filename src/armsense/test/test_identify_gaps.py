"""Holes in recordings: nothing is fitted, filtered or averaged across them."""

import numpy as np
import pytest

from armsense.errors import ArmsenseError
from armsense.identify.estimation.training import Options, Training
from armsense.identify.identify import identify
from armsense.identify.signals.recording import Recording, split_at_gaps
from bench.synthetic import SyntheticArm

pytestmark = pytest.mark.slow


@pytest.fixture(scope='module')
def arm():
    return SyntheticArm.make('laas4', 0.2, 3)


@pytest.fixture(scope='module')
def run(arm):
    return arm.record(1)


def holed(run, *holes):
    """The recording without the samples of some stretches [s]."""
    keep = np.ones(len(run.t), bool)
    for begin, end in holes:
        keep &= (run.t < begin) | (run.t >= end)
    return Recording(run.t[keep], run.q[keep], run.tau[keep],
                     None if run.dq is None else run.dq[keep], 'holed')


def test_a_recording_is_taken_apart_where_samples_are_missing(run):
    parts = split_at_gaps(holed(run, (8.0, 11.0), (11.5, 12.0)))
    assert [(p.t[0], round(p.t[-1], 3)) for p in parts.recordings] == [
        (0.0, 7.999), (12.0, run.t[-1])]
    assert parts.lost == pytest.approx(4.0, abs=2e-3)    # 0.5 s between two holes is too short
    assert '4.00 s of' in parts.notes[0]
    assert '2 gaps of up to 3 s' in parts.notes[0]


def test_jitter_is_no_gap(run):
    late = np.random.default_rng(1).uniform(0.0, 0.03, len(run.t))
    jittery = Recording(np.sort(run.t + late), run.q, run.tau, None, 'late')
    assert len(split_at_gaps(jittery).recordings) == 1
    slow = Recording(run.t[::33][:400], run.q[::33][:400], run.tau[::33][:400], None, 'slow')
    assert split_at_gaps(holed(slow, (2.0, 2.05))).notes == ()      # of three periods


def test_nothing_but_holes_is_an_error(run):
    with pytest.raises(ArmsenseError, match='holed: 19 gaps of up to 0.3 s leave no stretch'):
        split_at_gaps(holed(run, *((k + 0.7, k + 1.0) for k in range(19))))


@pytest.mark.parametrize('holes', [
    [(8.0, 11.0)], [(1.0 + 1.8 * k, 1.3 + 1.8 * k) for k in range(10)]])
def test_holes_cost_samples_not_truth(arm, run, holes):
    model = identify([holed(run, *holes)], arm.nominal)
    assert model.validate(arm.record(101)).percent < 0.2       # 0.08 % without a hole
    assert model.train.percent < 0.2
    assert model.lost == pytest.approx(sum(e - b for b, e in holes) + (len(holes) > 1), abs=0.02)
    assert '10 parts' in model.notes[0] or '2 parts' in model.notes[0]


def test_holes_are_left_out_when_a_model_is_judged(arm, run):
    model = identify([run], arm.nominal)
    unseen = arm.record(101)
    there = model.predict(holed(unseen, (5.0, 8.0)))
    assert there.lost == pytest.approx(3.0, abs=2e-3)
    assert there.filtered(model.cutoff).percent < 0.1
    assert there.raw().percent == pytest.approx(model.predict(unseen).raw().percent, rel=0.05)
    times = there.band_times(model.cutoff)
    assert len(times) == len(there.band(model.cutoff)[0])
    assert not np.any((times > 5.0) & (times < 8.0))


def test_periods_are_averaged_between_holes(arm):
    run = arm.record(1, seconds=4.0, periods=4)
    data = Training.load([holed(run, (9.0, 9.5), (12.0, 12.3))], arm.nominal,
                         Options(preprocess='average'))
    assert [round(part.t[-1] + 1e-3, 2) for part in data.even] == [4.0]
    assert any('2 of 3 parts between gaps do not hold two periods' in n for n in data.notes)
