"""The file that identification writes predicts, in every node, what was identified."""

from dataclasses import replace

import numpy as np
import pytest

from armsense.drive import FrictionModel, make_drive
from armsense.identify.friction.columns import DriveColumns, TERMS
from armsense.identify.identify import identify, Options
from armsense.identify.model import IdentifiedModel, model_file
from armsense.identify.signals.filters import decimate, low_pass, Motion, settled, torque_error
from armsense.identify.signals.filters import motion as smooth
from armsense.jobs.identify_job import summary
from armsense.model import Arm
from armsense.model.model_file import ModelFile
from armsense.types import ArmState
from bench.synthetic import fourier_motion, SyntheticArm

ONES = np.ones((30, 4))
GEARS = {'joint1': 31.0, 'joint2': 27.0, 'joint3': 31.0, 'joint4': 27.0}


def identified(axes):
    """A made-up result with every term and another gravity."""
    rng = np.random.default_rng(3)
    nominal = Arm.load('laas4').replace(armature=np.zeros(4))
    drive = DriveColumns(axes, TERMS, 0.02, 0.13)
    coefficients = rng.uniform(0.02, 0.3, drive.count)
    coefficients[drive.index('coulomb')] *= -0.1    # single terms may be negative
    arm = nominal.replace(parameters=nominal.parameters * 1.1, gravity=(0.3, 9.0, -3.9))
    error = torque_error(ONES + rng.standard_normal(ONES.shape), ONES)
    return nominal, IdentifiedModel(
        arm, drive, coefficients, cutoff=5.0, motion_cutoff=8.0, velocity='position',
        velocity_delay=0.001, torque_delay=0.004, clock_shift=0.0, train=error,
        unconstrained_percent=1.0, cross_validated_percent=1.0,
        intervals=np.zeros((40 + drive.count, 2)),
        nominal=nominal.parameters)


def friction_of_nodes(file, names):
    """Friction of a model file, with its coupled shafts."""
    blocks = [file.friction[name] for name in names]
    axes = np.vstack([np.eye(len(blocks)), *([c.ratios] for c in file.couplings)])
    return FrictionModel.from_joints([*blocks, *(c.friction for c in file.couplings)], axes)


def torque_of_nodes(file, arm, moving):
    """What observers and laws compute with a model file: its arm and its friction alone."""
    link = file.apply(arm).inverse_dynamics_batch(moving.q, moving.dq, moving.ddq)
    return link + friction_of_nodes(file, arm.joint_names).torque(moving.dq, link)


def motion():
    rng = np.random.default_rng(4)
    return Motion(np.arange(30.0), *rng.uniform(-1.5, 1.5, (3, 30, 4)), 100.0)


@pytest.mark.parametrize('axes', [np.eye(4), np.vstack([np.eye(4), [[0.0, 0.0, 1.0, 1.0]]])],
                         ids=['own drives', 'coupled wrist'])
@pytest.mark.parametrize('gears', [None, GEARS], ids=['foreign robot', 'arm with gears'])
def test_the_file_predicts_the_identified_torques(axes, gears, tmp_path):
    nominal, model = identified(axes)
    arm = Arm.load('laas4') if gears else Arm(nominal.urdf, nominal.joint_names,
                                                        tool_frame='tool', name='laas4')
    path = tmp_path / 'model.yaml'
    model_file(model, [], {'train_percent': 1.0}, gears).write(path)
    moving = motion()
    found = torque_of_nodes(ModelFile.read(path, 'laas4'), arm, moving)
    np.testing.assert_allclose(found, model.torque(moving), rtol=1e-9, atol=1e-9)


def test_the_file_names_the_estimator():
    _, model = identified(np.eye(4))
    assert model_file(model, [], {}).provenance.method == 'physically consistent least squares'
    other = model_file(replace(model, estimator='huber'), [], {}).provenance.method
    assert other == 'huber, then the nearest links that can exist'


def test_arm_and_drive_of_the_nodes_give_the_link_torque_back(tmp_path):
    _, model = identified(np.eye(4))
    path = tmp_path / 'model.yaml'
    model_file(model, [], {}, GEARS).write(path)
    arm = Arm.load('laas4', path)
    drive = make_drive(arm.config, model=arm)
    moving = motion()
    for q, dq, ddq, tau in zip(moving.q, moving.dq, moving.ddq, model.torque(moving), strict=True):
        link = drive.link_torque(ArmState.rigid(q, dq, tau))
        np.testing.assert_allclose(link, arm.inverse_dynamics(q, dq, ddq), atol=1e-9)
    np.testing.assert_allclose(arm.gravity, model.gravity)
    assert ModelFile.read(path).timing.torque_delay == 0.004


def test_a_coupled_shaft_gives_the_link_torque_back(tmp_path):
    _, model = identified(np.vstack([np.eye(4), [[0.0, 0.0, 1.0, 1.0]]]))
    friction = friction_of_nodes(model_file(model, [], {}), model.model.joint_names)
    assert isinstance(friction, FrictionModel)
    rng = np.random.default_rng(5)
    link, dq = 3.0 * rng.standard_normal((20, 4)), rng.uniform(-0.5, 0.5, (20, 4))
    motor = link + friction.torque(dq, link)
    np.testing.assert_allclose(friction.link_torque(motor, dq), link, atol=1e-6)


@pytest.mark.parametrize('coupled', [False, True])
def test_printed_errors_are_of_the_model_that_the_nodes_run(coupled):
    """Late torques and shafts with inertia: the fit knows them, no node does."""
    arm = SyntheticArm.make('laas4')
    late = 0.008   # [s]

    def record(seed):
        run = arm.record(seed, rate=250.0)
        tau = run.tau
        if coupled:
            ddq = fourier_motion(arm.nominal, run.t, seed, 20.0)[2]
            tau = tau + np.outer(0.05 * ddq[:, 2:].sum(axis=1), [0.0, 0.0, 1.0, 1.0])
        return replace(run, tau=np.stack([np.interp(run.t - late, run.t, column)
                                          for column in tau.T], axis=1))

    axes = np.vstack([np.eye(4), [[0.0, 0.0, 1.0, 1.0]]]) if coupled else None
    train, unseen = record(1), record(2)
    found = identify([train], arm.nominal, Options(gravity=arm.nominal.gravity, axes=axes))
    assert found.torque_delay == pytest.approx(late, abs=1e-3)
    printed = summary(found, [unseen], [], 0.0)
    file = model_file(found, [], printed, GEARS)
    for run, name in ((train, 'train_percent'), (unseen, 'validation_percent')):
        moving = smooth(decimate(run, 20.0 * found.cutoff), found.motion_cutoff, found.velocity)
        torque = torque_of_nodes(file, arm.nominal, moving)
        predicted = np.stack([np.interp(run.t, moving.t, column) for column in torque.T], axis=1)
        inside = settled(len(run.t), found.cutoff, run.rate)
        measured, predicted = (low_pass(x, found.cutoff, run.rate)[inside]
                               for x in (run.tau, predicted))
        error = torque_error(measured, predicted).percent
        assert printed[name] == pytest.approx(error, rel=1e-4)
    assert printed['cross_validated_percent'] > printed['train_percent']
