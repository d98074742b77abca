"""Campaigns: seeded, against ground truth, resumable."""

import functools
import json
import os

import distributed
import numpy as np
import pytest

from armsense.cli import campaign_command
from armsense.detector import fixed_thresholds
from armsense.model import Arm
from armsense.parallel import run_tasks
from armsense.sim.campaign import tasks
from armsense.sim.campaign.campaign import Campaign
from armsense.sim.campaign.collision import BODIES, CaseMaker, record_collision
from armsense.sim.campaign.free_motion import record_free
from armsense.sim.campaign.individual import Individual, Variation
from armsense.sim.campaign.results import judge, pareto_front, summarise
from armsense.sim.campaign.setup import Known, Setup, worker
from armsense.sim.campaign.tasks import identify_arm, run_task, Task
from armsense.watch import watch
from armsense.watch.collision_monitor import CollisionMonitor, DetectionConfig

pytestmark = pytest.mark.slow

MODEL = Arm.load('laas4')
SETUP = Setup(arm='laas4', observers=('first_order',))
KEYS = {'arm', 'collisions', 'missed', 'unobservable', 'free_hours', 'false_alarms', 'delay_ms',
        'min_force_n', 'link_accuracy', 'force_error_n'}


def test_a_seed_gives_one_motion_and_another_a_different_one():
    one, same, other = (record_free(Individual(MODEL, Variation(), seed), 0.8, seed)
                        for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.torque, same.torque)
    assert not np.array_equal(one.torque, other.torque)
    assert one.enabled.all()


def test_cases_meet_the_link_in_the_direction_of_its_motion():
    maker = CaseMaker(MODEL)
    for seed in range(5):
        case = maker.draw(seed)
        now = case.motion.sample(case.time)
        assert case.body == BODIES[seed]
        T = MODEL.frame_pose(now.q, case.link)
        point = T[:3, :3] @ case.point + T[:3, 3]
        velocity = MODEL.point_jacobian(now.q, case.link, case.point)[:3] @ now.dq
        assert velocity @ (case.place - point) > 0.0
        assert case.speed >= 0.1


def test_a_push_has_the_truth_of_its_force():
    """The true joint torques come from the plant's contact; here from the case itself."""
    maker = CaseMaker(MODEL)
    seed = next(k for k, body in enumerate(BODIES) if body.name == 'push')
    individual = Individual(MODEL, Variation(mismatch=0.0, payload=0.0, friction=0.0), 5)
    tape, truth = record_collision(maker, individual, seed)
    case = maker.draw(seed)
    np.testing.assert_allclose(truth.force, case.force)
    assert truth.link == case.link
    expected = MODEL.point_jacobian(case.motion.sample(case.time).q, case.link,
                                    case.point).T @ case.force
    np.testing.assert_allclose(truth.torque, expected, rtol=0.4, atol=0.3)   # the arm moves on
    residual = watch(CollisionMonitor(MODEL, thresholds=fixed_thresholds([1e6] * 4)),
                     tape).filtered
    np.testing.assert_allclose(residual[truth.begin + 100], truth.torque, atol=0.3)


def record(delay, peak=50.0, lever=0.5, link='link4', **changes):
    truth = {'body': 'steel', 'link': 'link4', 'joint': 3, 'peak': peak, 'lever': lever,
             'hard': True, 'limit': 5.0, 'speed': 0.5, 'torque': [0.0, 0.0, 0.0, 5.0]}
    found = {'early': 0, 'delay': delay, 'link': None if delay is None else link, 'force': 20.0,
             'load': [0.0, 0.0, 0.0, 10.0], 'height': 0.0 if delay is None else 5.0,
             'link_observable': True,
             'force_error': 1.0, 'point_error': 0.01}
    return {'task': 'x', 'truth': truth | changes, 'observers': {'a': found}}


def test_figures_of_a_summary():
    free = {'task': 'f', 'seconds': 1800.0,
            'observers': {'a': {'alarms': 1, 'at_scale': [2] * len(tasks.SCALES)}}}
    records = [record(0.004), record(0.006), record(None), record(None, lever=0.01),
               record(None, peak=3.0), record(0.005, link='link2'), free]
    summary = summarise('laas4', 'a', records)
    assert summary.keys() >= KEYS
    assert summary['collisions'] == 6
    assert summary['missed'] == 1          # neither the weak one nor the one nobody can feel
    assert summary['unobservable'] == 1
    assert summary['delay_ms']['median'] == pytest.approx(5.0)
    assert summary['link_accuracy'] == pytest.approx(2.0 / 3.0, abs=1e-3)
    assert summary['false_alarms'] == 1
    assert summary['free_hours'] == 0.5
    # Poisson: one event in half an hour bounds the rate by 4.744 / 0.5 at 95 %.
    assert summary['false_alarms_per_hour_bound'] == pytest.approx(9.488, abs=1e-2)
    assert summary['roc'][0]['false_alarms_per_hour'] == pytest.approx(4.0)
    assert summary['roc'][0]['missed'] == pytest.approx(1.0 / 4.0)


def test_pareto_front():
    def summary(missed, alarms, delay):
        return {'missed': missed, 'false_alarms': alarms, 'delay_ms': {'median': delay}}
    found = pareto_front({'a': summary(0, 0, 5.0), 'b': summary(0, 0, 6.0),
                          'c': summary(1, 0, 4.0), 'd': summary(2, 2, None)})
    assert found == {'a', 'c'}


def test_a_campaign_runs_resumes_and_grows(tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, 'CHUNK', 2.0)
    monkeypatch.setattr('armsense.sim.campaign.campaign.CHUNK', 2.0)
    monkeypatch.setattr(tasks, 'SECONDS', 6.0)
    setup = Setup(arm='laas4', observers=('first_order', 'direct'), calibration_minutes=0.15,
                  arms=1)
    first = Campaign(setup, tmp_path).run(3, 2.0 / 3600.0)
    assert first.keys() >= KEYS
    assert set(first['observers']) == {'first_order', 'direct'}
    assert first['missed'] == 0
    lines = len(Campaign(setup, tmp_path).records)
    done = []
    again = Campaign(setup, tmp_path, progress=lambda what, k, n: done.append((what, n)))
    cache = again.cache
    cache.write_text(cache.read_text() + '{"task": "collision-9", "tru')   # cut off
    assert again.run(3, 2.0 / 3600.0) == first
    assert done == [('identification', 0), ('collisions and free motion', 0)]
    assert len(again.records) == lines


def test_another_setup_has_another_cache(tmp_path):
    one = Campaign(Setup(arm='laas4'), tmp_path).cache
    assert one != Campaign(Setup(arm='laas4', variation=Variation(mismatch=0.1)), tmp_path).cache
    assert one != Campaign(Setup(arm='laas4', seed=2), tmp_path).cache


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Campaign, '_models', lambda self: ())
    monkeypatch.setattr(Campaign, '_thresholds', lambda self: {
        (name, arm): fixed_thresholds([0.75, 0.95, 0.25, 0.22])
        for name in self.setup.observers for arm in range(self.setup.arms)})
    code = campaign_command.main(['--collisions', '2', '--free-hours', '0', '--jobs', '1',
                                  '--observers', 'first_order', '--out', str(tmp_path), '--json'])
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert code == 0
    assert report.keys() >= KEYS
    assert (tmp_path / 'laas4.png').stat().st_size > 5000


@pytest.mark.parametrize('arm', ['biorob', 'tudor'])
def test_elastic_arms_feel_a_hard_impact(arm):
    model = Arm.load(arm)
    observer = DetectionConfig.of(model).observer
    setup = Setup(arm=arm, observers=(observer,))
    known = Known(limits={(observer, 0): worker(setup).config.thresholds(model)})
    found = run_task(setup, known, Task('collision', 3))     # steel
    assert found['truth']['body'] == 'steel'
    assert found['observers'][observer]['delay'] < 0.04
    assert found['observers'][observer]['early'] == 0


def test_the_model_is_identified_and_better_than_the_files():
    """An arm 10 % off its files: its own model takes gravity's errors out of the residual."""
    individual = Individual(MODEL, Variation(mismatch=0.1, payload=0.0, friction=0.0), 4)
    found = identify_arm(individual, 4, seconds=12.0).apply(MODEL)
    tape = record_free(individual, 4.0, 9)

    def typical(model):
        monitor = CollisionMonitor(model, thresholds=fixed_thresholds([1e6] * 4))
        return np.sqrt(np.mean(watch(monitor, tape).filtered[300:] ** 2, axis=0))

    assert typical(found)[1] < 0.6 * typical(MODEL)[1]
    assert typical(found).sum() < 0.9 * typical(MODEL).sum()


def test_runs_of_one_arm_differ_in_payload_and_friction():
    individual = Individual(MODEL, Variation(payload=0.5, friction=0.2), 4)
    one, other, bare = (individual.loop(run=run) for run in (1, 2, None))
    loads = [loop.plant.holding_torque for loop in (one, other, bare)]
    assert np.abs(loads[0] - loads[1]).max() > 0.01
    assert np.abs(loads[0] - loads[2]).max() > 0.01
    frictions = [loop.config.joints['joint1'].friction.coulomb for loop in (one, other, bare)]
    assert len(set(frictions)) == 3


def test_a_goal_that_is_missed_says_by_how_much_and_why():
    summary = summarise('laas4', 'a', [record(0.004), record(0.02), record(None)])
    goals = {g['goal']: g for g in judge(summary, MODEL.config, worker(SETUP).config, 0.1)}
    assert not goals['missed']['met']
    assert '50.0 N' in goals['missed']['why']
    median = goals['median delay of hard impacts [ms]']
    assert (median['got'], median['wanted'], median['met']) == (12.0, '<= 5', False)
    assert 'memory' in median['why']
    assert goals['false alarms']['met']


def test_two_workers_of_a_cluster_do_what_one_process_does():
    known = Known(limits={('first_order', arm): fixed_thresholds([0.75, 0.95, 0.25, 0.22])
                          for arm in range(2)})
    work = [Task('collision', 3), Task('collision', 12)]
    do = functools.partial(run_task, SETUP, known)
    expected = {found['task']: found for found in run_tasks(do, work)}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True,
                                  dashboard_address=None) as cluster:
        found = list(run_tasks(do, work, scheduler=cluster.scheduler_address))
        workers = [w.pid for w in cluster.workers.values()]
    assert {r['task']: r for r in found} == expected
    assert len(workers) == 2
    assert not any(os.path.exists(f'/proc/{pid}') for pid in workers)
