"""`import armsense`: what it offers, in any order of imports, sample by sample and at once."""

import subprocess
import sys
import types

import numpy as np
import pytest

import armsense
from armsense.errors import ArmsenseError, BadValue
from armsense.model import Arm

GAINS = (2.0, -3.0, 4.0)


@pytest.fixture(scope='module')
def robot() -> Arm:
    return armsense.load('crs_a465', rate=200.0)


def motion(robot: Arm, seconds: float = 20.0, push: float = 0.0) -> tuple:
    """Times, angles and torques of five harmonics; the last second is pushed."""
    rng = np.random.default_rng(3)
    t = np.arange(0.0, seconds, 0.005)
    omega = 2 * np.pi * np.array([0.1, 0.2, 0.3, 0.5])
    a, b = rng.uniform(-0.15, 0.15, (2, 4, robot.n))
    wave, slope = np.sin(np.outer(t, omega)), np.cos(np.outer(t, omega))
    q = np.mean(robot.position_limits, axis=0) + wave @ a + slope @ b
    dq, ddq = (slope * omega) @ a - (wave * omega) @ b, -(wave * omega**2) @ a - (
        slope * omega**2) @ b
    tau = robot.inverse_dynamics_batch(q, dq, ddq) + rng.normal(0.0, 0.02, q.shape)
    tau[t > seconds - 1.0, 1] -= push
    return t, q, tau


def test_every_name_is_there_with_a_docstring_and_loads_nothing_before():
    for name in armsense.__all__:
        assert (getattr(armsense, name).__doc__ or '').strip(), name
        assert name in dir(armsense)
    lines = ('import sys, armsense; heavy = {"numpy", "pinocchio", "scipy", "mujoco", '
             '"matplotlib"}; assert not heavy & set(sys.modules); armsense.load; '
             'assert "mujoco" not in sys.modules and "matplotlib" not in sys.modules')
    subprocess.run([sys.executable, '-c', lines], check=True, timeout=120)


@pytest.mark.parametrize('first', ['armsense.identify.payload', 'armsense.watch.tape',
                                   'armsense.excite.design'])
def test_functions_count_before_rooms_of_the_same_name(first):
    lines = (f'import {first}, armsense, types; from armsense import identify, watch; '
             'assert isinstance(identify, types.FunctionType), identify; '
             'assert isinstance(armsense.watch, types.FunctionType); '
             'from armsense.watch.collision_monitor import CollisionMonitor')
    subprocess.run([sys.executable, '-c', lines], check=True, timeout=120)


def test_a_name_that_is_not_there_names_those_that_are():
    with pytest.raises(AttributeError, match="no 'wtach'; known: Arm, .*watch"):
        _ = armsense.wtach


def test_a_missing_extra_is_named(monkeypatch):
    from armsense import extras
    monkeypatch.setattr(extras.metadata, 'requires', lambda name: [
        'numpy>=1.26', 'mujoco>=3.2; extra == "sim"', 'pillow>=9.0; extra == "sim"'])
    assert 'pip install "armsense[sim]"' in extras.lacking(ModuleNotFoundError(name='mujoco'))
    assert 'pip install "armsense[sim]"' in extras.lacking(ModuleNotFoundError(name='PIL.Image'))
    assert extras.lacking(ModuleNotFoundError(name='num')) == 'num is not installed'


@pytest.mark.parametrize('jitter', [0.0, 3e-4])   # [s] of the stamps: the short and the long way
def test_sample_by_sample_and_at_once_give_the_same_numbers(robot, jitter):
    t, q, tau = motion(robot, 6.0, push=60.0)
    t = t + np.random.default_rng(1).uniform(-jitter, jitter, len(t))
    recording = armsense.Recording.from_arrays(t, q, tau)
    watch = armsense.watch(robot, rate=float(f'{recording.rate:.6g}'))
    samples = [watch.step(*row) for row in recording]
    trace = armsense.residuals(recording, robot)
    assert np.array_equal(trace.residual, [sample.residual for sample in samples])
    assert np.array_equal(trace.valid, [sample.valid for sample in samples])
    hits = [sample.collision for sample in samples if sample]
    assert [(hit.joint, hit.link) for hit in hits] == [
        (event.joint, event.link) for event in trace.collisions]
    assert len(hits) == 1
    assert 0.0 < hits[0].time - 5.0 < 0.1
    # A first-order residual ends at the push, whatever it shows of friction before.
    free = armsense.residuals(armsense.Recording.from_arrays(t, q, motion(robot, 6.0)[2]), robot)
    assert (trace.residual - free.residual)[-1] == pytest.approx([0.0, 60.0, 0.0], abs=1e-6)


def test_efforts_become_torques_by_the_gains_of_the_robot():
    robot = armsense.load('crs_a465', gains=GAINS)
    t, q, tau = motion(robot, 2.0)
    recording = armsense.Recording.from_arrays(t, q, tau / GAINS, robot=robot)
    assert np.allclose(recording.tau, tau)
    plain = armsense.watch(armsense.load('crs_a465')).step(0.0, q[0], tau[0])
    scaled = armsense.watch(robot).step(0.0, q[0], tau[0] / GAINS)
    assert np.allclose(plain.residual, scaled.residual)


def test_identified_masses_explain_what_the_urdf_does_not(robot, tmp_path):
    truth = robot.replace(parameters=1.15 * robot.parameters, armature=np.zeros(robot.n))
    t, q, tau = motion(truth)
    fit = armsense.identify(armsense.Recording.from_arrays(t, q, tau), robot)
    pose = q[100]
    assert fit.robot.gravity_torque(pose) == pytest.approx(truth.gravity_torque(pose), rel=0.01)
    assert fit.grade == 'good'
    assert fit.percent < 2.0
    assert all(joint in str(fit) for joint in robot.joint_names)
    again = armsense.load('crs_a465', fit.save(tmp_path / 'model.yaml'))
    assert np.allclose(again.parameters, fit.robot.parameters)
    assert '<html' in fit.report(tmp_path / 'report.html').read_text()


def test_columns_of_a_table_and_of_a_data_frame(robot, tmp_path, monkeypatch):
    t, q, tau = motion(robot, 2.0)
    table = np.column_stack([1e3 * t, np.degrees(q), tau])
    path = tmp_path / 'run.csv'
    np.savetxt(path, table, delimiter=',', comments='', header='ms,q1,q2,q3,u1,u2,u3')
    read = armsense.Recording.from_csv(path, robot, time='ms', position='q1-q3', effort='u1-u3',
                                       units={'time': 'ms', 'position': 'deg'})
    assert np.allclose(read.t, t)
    assert np.allclose(read.q, q)
    assert np.allclose(read.tau, tau)

    class Frame(dict):      # as much of pandas as is asked for
        columns = property(lambda self: list(self))
        index = t

    monkeypatch.setitem(sys.modules, 'pandas', types.SimpleNamespace(DataFrame=Frame))
    frame = armsense.Recording.from_arrays(t, q, tau).to_dataframe()
    back = armsense.Recording.from_dataframe(frame, position='q1-q3',
                                             effort=['tau1', 'tau2', 'tau3'])
    assert np.array_equal(back.q, q)
    assert np.array_equal(back.tau, tau)
    with pytest.raises(ArmsenseError, match="unknown column 'q4'"):
        armsense.Recording.from_dataframe(frame, position='q1-q4', effort='tau1-tau3')
    assert armsense.residuals(back, robot).to_dataframe().columns[:2] == ['t', 'residual_joint1']


def test_mistakes_are_named(robot):
    watch = armsense.watch(robot)
    watch.step(1.0, [0.0] * 3, [0.0] * 3)
    with pytest.raises(BadValue, match='time is 0.5'):
        watch.step(0.5, [0.0] * 3, [0.0] * 3)
    with pytest.raises(BadValue, match=r'shape of the angles is \(2,\)'):
        watch.step(2.0, [0.0] * 2, [0.0] * 3)
    with pytest.raises(ArmsenseError, match="did you mean 'laas4'"):
        armsense.load('lass4')
    with pytest.raises(ArmsenseError, match='springs or strain gauges'):
        armsense.identify([], armsense.load('biorob'))
    with pytest.raises(ArmsenseError, match='only arms with motor boards'):
        armsense.simulate(armsense.load('biorob'), 1.0)


def test_reprs_are_one_line(robot):
    t, q, tau = motion(robot, 2.0)
    recording = armsense.Recording.from_arrays(t, q, tau)
    watch = armsense.watch(robot)
    for thing in (robot, recording, watch, watch.step(t[0], q[0], tau[0]),
                  armsense.residuals(recording, robot)):
        assert repr(thing).startswith('<')
        assert '\n' not in repr(thing)
        assert len(repr(thing)) < 160
