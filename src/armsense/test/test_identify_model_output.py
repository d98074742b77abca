"""The file that identification writes predicts, in every node, what was identified."""

from dataclasses import replace

import numpy as np
import pytest

from armsense.drive import DriveReading, FrictionModel, make_drive
from armsense.identify.friction_columns import DriveColumns, TERMS
from armsense.identify.identified_model import IdentifiedModel, Ripple
from armsense.identify.model_output import file_friction, file_torque, model_file
from armsense.identify.preprocess import Motion
from armsense.identify.ripple import Line, ripple_columns
from armsense.identify.validation import torque_error
from armsense.model import ArmModel
from armsense.model.model_file import ModelFile

ONES = np.ones((30, 4))
GEARS = {'joint1': 31.0, 'joint2': 27.0, 'joint3': 31.0, 'joint4': 27.0}


def identified(axes):
    """A made-up result with every term, another gravity and a ripple."""
    rng = np.random.default_rng(3)
    nominal = ArmModel.load('laas4').replace(armature=np.zeros(4))
    drive = DriveColumns(axes, TERMS, 0.02, 0.13)
    coefficients = rng.uniform(0.02, 0.3, drive.count)
    coefficients[drive.index('coulomb')] *= -0.1    # single terms may be negative
    arm = nominal.replace(parameters=nominal.parameters * 1.1, gravity=(0.3, 9.0, -3.9))
    error = torque_error(ONES + rng.standard_normal(ONES.shape), ONES)
    return nominal, IdentifiedModel(
        arm, drive, coefficients, cutoff=5.0, motion_cutoff=8.0, velocity='position',
        velocity_delay=0.001, torque_delay=0.004, train=error, unconstrained_percent=1.0,
        cross_validated_percent=1.0, intervals=np.zeros((40 + drive.count, 2)),
        nominal=nominal.parameters,
        ripples=(Ripple(Line(1, 2, 90.0, 1), rng.standard_normal(4)),))


def motion():
    rng = np.random.default_rng(4)
    return Motion(np.arange(30.0), *rng.uniform(-1.5, 1.5, (3, 30, 4)), 100.0)


@pytest.mark.parametrize('axes', [np.eye(4), np.vstack([np.eye(4), [[0.0, 0.0, 1.0, 1.0]]])],
                         ids=['own drives', 'coupled wrist'])
@pytest.mark.parametrize('gears', [None, GEARS], ids=['foreign robot', 'arm with gears'])
def test_the_file_predicts_the_identified_torques(axes, gears, tmp_path):
    nominal, model = identified(axes)
    arm = ArmModel.load('laas4') if gears else nominal
    arm.config = arm.config if gears else None
    path = tmp_path / 'model.yaml'
    model_file(model, [], {'train_percent': 1.0}, gears).write(path)
    moving = motion()
    expected = model.torque(moving)
    for ripple in model.ripples:
        expected[:, 1] += ripple_columns(moving.q, moving.dq, ripple.line) @ ripple.coefficients
    found = file_torque(ModelFile.read(path, 'laas4'), arm, moving.q, moving.dq, moving.ddq)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_the_file_names_the_estimator():
    _, model = identified(np.eye(4))
    assert model_file(model, [], {}).provenance.method == 'physically consistent least squares'
    other = model_file(replace(model, estimator='huber'), [], {}).provenance.method
    assert other == 'huber, then the nearest links that can exist'


def test_arm_and_drive_of_the_nodes_give_the_link_torque_back(tmp_path):
    _, model = identified(np.eye(4))
    model = replace(model, ripples=())
    path = tmp_path / 'model.yaml'
    model_file(model, [], {}, GEARS).write(path)
    arm = ArmModel.load('laas4', path)
    drive = make_drive(arm.config, model=arm)
    gain = np.array([joint.torque_per_ampere for joint in arm.config.joints.values()])
    moving = motion()
    for q, dq, ddq, tau in zip(moving.q, moving.dq, moving.ddq, model.torque(moving), strict=True):
        link = drive.link_torque(DriveReading(q, dq, tau / gain, q, dq))
        np.testing.assert_allclose(link, arm.inverse_dynamics(q, dq, ddq), atol=1e-9)
    np.testing.assert_allclose(arm.gravity, model.gravity)
    assert ModelFile.read(path).timing.torque_delay == 0.004


def test_a_coupled_shaft_gives_the_link_torque_back(tmp_path):
    _, model = identified(np.vstack([np.eye(4), [[0.0, 0.0, 1.0, 1.0]]]))
    friction = file_friction(model_file(model, [], {}), model.model.joint_names)
    assert isinstance(friction, FrictionModel)
    rng = np.random.default_rng(5)
    link, dq = 3.0 * rng.standard_normal((20, 4)), rng.uniform(-0.5, 0.5, (20, 4))
    motor = link + friction.torque(dq, link)
    np.testing.assert_allclose(friction.link_torque(motor, dq), link, atol=1e-6)
