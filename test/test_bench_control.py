"""The control bench: its figures where they are quick, and the form of its output."""

import json

import pytest

from armsense.model import Arm
from bench import bench_control
from bench.bench_control import fast_fourier, laws_of, track, Tracking, wrong_model
from bench.control_collisions import spread, tudor_jobs
from bench.control_cost import CALLS, step_costs


def test_computed_torque_tracks_five_times_better_than_decentralised_pi():
    model = Arm.load('laas4')
    path = fast_fourier(model)
    pi, computed = (track(model, model, law, path, 1.5)
                    for law in ('pi_velocity', 'computed_torque'))
    assert 5.0 * computed.rms <= pi.rms
    assert computed.peak < 0.01


def test_the_wrong_model_is_wrong_by_a_fifth_in_mass_and_friction():
    model = Arm.load('laas4')
    wrong = wrong_model(model)
    assert wrong.masses == pytest.approx(1.2 * model.masses)
    for name, joint in model.config.joints.items():
        assert wrong.config.joints[name].friction.coulomb == pytest.approx(
            1.2 * joint.friction.coulomb)


@pytest.mark.parametrize('size', [0.3, -0.3])
def test_joint_2_of_biorob_settles_within_a_second(size):
    overshoot, settled = bench_control.step_response(size)
    assert overshoot <= 0.10
    assert settled <= 1.0


def test_strain_feedback_damps_five_times_faster():
    ratio, damped = bench_control.damping_ratio(3.0)
    assert ratio >= 5.0
    assert damped < 0.6


def test_every_law_has_a_cost():
    costs = step_costs('tudor', laws_of('tudor'), 2)
    assert list(costs) == laws_of('tudor')
    for law, cost in costs.items():
        assert cost.step > 0.0
        assert cost.ratio > 0.0
        assert bool(cost.calls) == (law in CALLS)
    assert costs['joint_impedance'].calls == '1 rnea, 1 crba'


def test_variations_differ_and_missing_figures_are_told():
    jobs = tudor_jobs()
    assert len({(job.setup.speed, job.setup.position, job.seed) for job in jobs}) == len(jobs)
    assert spread([1.0, 2.0, 4.0]) == 'median 2, 1 to 4'
    assert spread([1.0, float('nan')]) == 'median 1, 1 to 1, missing in 1 of 2'


def test_the_object_on_the_last_line(monkeypatch, capsys):
    seeds = {'biorob_dissipation_s': 0.1, 'tudor_halt_ms': 7.0, 'tudor_residual_force_n': 0.0,
             'tudor_damping_ratio': 6.0}
    monkeypatch.setattr(bench_control, 'seed_tests', lambda quick: (seeds, []))
    monkeypatch.setattr(bench_control, 'track_all', lambda arms, quick: {
        (arm, law, kind): Tracking(0.01, 0.02) for arm in arms for law in laws_of(arm)
        for kind in ('exact', 'wrong', 'pick')})
    bench_control.main(['--arms', 'laas4', '--quick', '--json'])
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(result) == {'laas4', 'seeds'}
    assert result['seeds'] == seeds
    assert set(result['laas4']) == set(laws_of('laas4'))
    for row in result['laas4'].values():
        assert set(row) == {'rms_rad', 'peak_rad', 'rms_rad_model_error', 'step_us', 'step_ratio'}
