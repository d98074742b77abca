"""Published tables: what is printed, how it is judged, and the simulations behind it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from armsense.errors import UnknownName
from armsense.model import Arm, ArmConfig
from armsense.sim import make_plant
from armsense.trajectory.reference import sample_grid
from bench.motions import fourier_test
from bench.papers import biorob_sides as sides
from bench.papers import paper_002, tables_command, thesis_000_actuator, thesis_004_model
from bench.papers.catalogue import makers, NAMES, wanted
from bench.papers.entry import larger, Row, smaller, Table
from bench.papers.simulated import changed_arm, drive_elastic, drive_rigid
from bench.papers.thesis_000_load import LINES
from bench.papers.thesis_004_friction import bench_test


def test_judgement_of_rows():
    assert smaller('a', 2.0, 1.0).better
    assert not larger('a', 2.0, 1.0).better


def test_table_is_better_only_if_every_judged_row_is():
    good = Table('t', '', (smaller('a', 2.0, 1.0), Row('b', 1.0, 5.0)), '')
    bad = Table('t', '', (smaller('a', 2.0, 1.0), smaller('b', 1.0, 5.0)), '')
    assert good.better
    assert not bad.better
    data = json.loads(json.dumps(bad.as_data()))
    assert data['printed'] == {'a': 2.0, 'b': 1.0}
    assert data['ours'] == {'a': 1.0, 'b': 5.0}
    assert data['better'] is False
    assert data['better_by_row'] == {'a': True, 'b': False}


def test_names():
    assert wanted([]) == NAMES
    assert wanted(['thesis-003']) == ('thesis-003-3.2', 'thesis-003-4.2', 'thesis-003-4.3')
    assert wanted(['thesis-004-A.1', 'thesis-004-A.1']) == ('thesis-004-A.1',)
    assert len(makers(['thesis-000-4.2', 'thesis-000-4.3'])) == 1     # one simulation for both
    for needed in ('4.2', '4.3', '4.4', '4.5', 'A.1', 'A.2', 'A.3'):
        assert f'thesis-000-{needed}' in NAMES
    with pytest.raises(UnknownName, match="'thesis-9'"):
        wanted(['thesis-9'])


def interrupt(chosen):
    raise KeyboardInterrupt


def test_command(monkeypatch, capsys):
    table = Table('thesis-003-3.2', 'title', (smaller('a [N]', 2.0, 1.0),), 'conditions',
                  ('one', 'two'))
    monkeypatch.setattr(tables_command, 'makers', lambda chosen: [lambda progress: [table]])
    assert tables_command.main(['thesis-003-3.2', '--json']) == 0
    out, err = capsys.readouterr()
    assert json.loads(out.splitlines()[-1])['thesis-003-3.2']['better'] is True
    assert 'a [N]' in err
    assert err.count('contradicts itself') == 2
    assert tables_command.main(['nothing']) == 1
    assert "'nothing'" in capsys.readouterr().err
    monkeypatch.setattr(tables_command, 'make', interrupt)
    assert tables_command.main([]) == 130              # Ctrl-C: a word, no traceback


def test_rigid_runs_obey_another_engine():
    """Torques that MuJoCo was given are those of Pinocchio for the motion that came out."""
    config = ArmConfig.load('crs_a465')
    model = Arm.load(config)
    motion = sample_grid(fourier_test(model, seed=1, frequency=0.5, harmonics=2, use=0.5), 1e-3)
    run = drive_rigid(make_plant(config), model, motion)
    assert np.abs(run.q - motion.q).max() < 0.02
    ddq = np.gradient(run.dq, 1e-3, axis=0)
    friction = [joint.friction for joint in config.joints.values()]
    expected = model.inverse_dynamics_batch(run.q, run.dq, ddq) + sum(
        np.outer(run.dq[:, k], np.eye(3)[k]) * f.viscous
        + np.outer(np.sign(run.dq[:, k]), np.eye(3)[k]) * f.coulomb
        for k, f in enumerate(friction))
    moving = np.abs(run.dq).min(axis=1) > 0.05
    error = np.abs(expected - run.tau)[moving]
    assert np.median(error) < 0.02
    assert np.quantile(error, 0.95) < 0.2


def test_elastic_runs_show_their_springs():
    model = Arm.load('biorob')
    motion = sample_grid(fourier_test(model, seed=1, frequency=0.5, harmonics=2, use=0.4), 1e-3)
    run = drive_elastic(make_plant(model.config), model, motion)
    found = sides.actuator_side(model, sides.signals(run, sides.ElasticJoint.from_config(
        model.config)))
    exact = sides.actuator_exact(model)
    np.testing.assert_allclose(found[:, 2], exact[:, 2], rtol=0.01)     # stiffness
    np.testing.assert_allclose(found[:, 3], exact[:, 3], rtol=0.1)      # dry friction


def test_lines_of_table_4_5_are_those_of_the_arm():
    model = Arm.load('biorob')
    values = sides.load_lines() @ np.concatenate([model.parameters, [0.5] * 4])
    np.testing.assert_allclose(values, [exact for _, exact, _, _ in LINES], atol=1e-9)


def test_printed_numbers_hang_together_where_they_should():
    exact = sides.actuator_exact(Arm.load('biorob'))
    gap = np.abs(thesis_000_actuator.ESTIMATED - exact)
    rounding = np.array([6e-4, 2e-6, 2e-3, 1.5e-4])       # of the printed digits, by term
    assert np.all(np.abs(gap - thesis_000_actuator.ERRORS) <= rounding)
    # Table 4.4 follows from table 4.5 without its three zeros and without the factor 1/16.
    values = np.array([value for _, value, _, _ in LINES])
    errors = np.array([error for *_, error in LINES])
    assert sides.relative_errors(values + errors, values) == pytest.approx((1.11, 6.48), abs=0.01)
    np.testing.assert_allclose(Arm.load('laas4').parameters, thesis_004_model.CAD.ravel(),
                               atol=1e-12)


def test_average_error_of_paper_002_is_not_what_it_prints():
    share = [abs((e - x) / e) for e, x, _ in paper_002.TABLE.values()]
    assert np.mean(share) > 10.0          # printed: 0.66
    assert max(share) > 100.0             # printed: 3.26


def test_annealed_links_cannot_exist():
    assert thesis_004_model._existing(thesis_004_model.CAD) == 4
    assert thesis_004_model._existing(thesis_004_model.ANNEALED) < 4


def test_changed_arm(tmp_path):
    config = ArmConfig.load('laas4')
    before = Arm.load(config).parameters.reshape(4, 10)
    changed = changed_arm(config, {'link3': {'mass': 1.5}, 'link2': {'xyz': '0.3 0 0'}}, tmp_path)
    after = Arm.load(changed).parameters.reshape(4, 10)
    np.testing.assert_allclose(after[2], 1.5 * before[2], atol=1e-12)
    np.testing.assert_allclose(after[1, :4], before[1, 0] * np.array([1.0, 0.3, 0.0, 0.0]),
                               atol=1e-12)


def test_friction_bench_finds_what_was_put_in():
    viscous, coulomb = bench_test(0, seed=1)
    assert coulomb == pytest.approx(0.247, rel=0.01)
    assert viscous == pytest.approx(6.45e-6, rel=0.05)
