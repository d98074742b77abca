"""Symbolic reduction against the numeric one, hand-made cases and random torques."""

from __future__ import annotations

import numpy as np
import pytest

from armsense.errors import ArmsenseError, UnknownName
from armsense.identify.estimation.base_parameters import base_parameters
from armsense.model import Arm
from bench.base_estimate import arm_base_parameters
from bench.papers.symbolic_base_parameters import (
    coefficient_matrix,
    in_words,
    symbolic_base_parameters,
)

ARMS = {'laas4': 22, 'biorob': 22, 'crs_a465': 15, 'tudor': 15, 'zeego': 36}
QUARTER = 1.5707963267948966
# Offset to the next joint [m] and its turn about x [quarter turns]: an arm as the Panda's.
CHAIN = (((0, 0, 0.333), 0), ((0, 0, 0), -1), ((0, -0.316, 0), 1), ((0.0825, 0, 0), 1),
         ((-0.0825, 0.384, 0), -1), ((0, 0, 0), 1), ((0.088, 0, 0), 1))


def seven_joints() -> Arm:
    parts = ['<robot name="seven"><link name="link0"/>']
    for k, (xyz, turn) in enumerate(CHAIN, start=1):
        offset = ' '.join(map(str, xyz))
        parts.append(
            f'<link name="link{k}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" '
            f'izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="j{k}" type="revolute"><parent link="link{k - 1}"/>'
            f'<child link="link{k}"/><origin xyz="{offset}" rpy="{turn * QUARTER} 0 0"/>'
            '<axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="9" velocity="2"/></joint>')
    return Arm(''.join([*parts, '</robot>']))


def pendulum(kind: str = 'revolute', gravity: tuple[float, ...] = (0, 0, -9.81)) -> Arm:
    return Arm(
        '<robot name="one"><link name="base"/><link name="a"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        f'<joint name="j" type="{kind}"><parent link="base"/><child link="a"/>'
        '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        '</robot>', gravity=gravity)


def check_same(model: Arm) -> None:
    symbolic, numeric = symbolic_base_parameters(model), arm_base_parameters(model)
    assert symbolic.independent == numeric.independent
    np.testing.assert_allclose(symbolic.combination, numeric.combination, atol=1e-7)


@pytest.mark.parametrize(('arm', 'count'), ARMS.items())
def test_same_set_as_the_numeric_reduction(arm, count):
    model = Arm.load(arm)
    assert len(symbolic_base_parameters(model)) == count
    check_same(model)


def test_same_set_for_seven_joints():
    model = seven_joints()
    assert len(symbolic_base_parameters(model)) == 43      # known for the Panda
    check_same(model)


def test_torques_of_any_parameters_are_kept():
    model = Arm.load('laas4')
    base = symbolic_base_parameters(model)
    rng = np.random.default_rng(0)
    W = model.torque_regressor_batch(*rng.uniform(-2, 2, (3, 20, 4)))
    pi = rng.normal(size=40)
    np.testing.assert_allclose(base.regressor(W) @ base.project(pi), W @ pi, atol=1e-9)


def test_pendulum_by_hand():
    # About y, gravity along z: only the moments about the axis act.
    assert symbolic_base_parameters(pendulum()).names == ('mx1', 'mz1', 'Iyy1')
    assert symbolic_base_parameters(pendulum(gravity=(0, 9.81, 0))).names == ('Iyy1',)


def test_rotors_group_with_the_links_and_friction_stands_alone():
    model = Arm.load('laas4')
    base = symbolic_base_parameters(model, ('inertia', 'viscous', 'coulomb'))
    names = {name.split()[0]: name for name in base.names}
    assert names['Izz1'].endswith('+ inertia1')
    assert names['viscous3'] == 'viscous3'
    assert names['coulomb4'] == 'coulomb4'
    rng = np.random.default_rng(1)
    q, dq, ddq = rng.uniform(-2, 2, (3, 60, 4))
    eye = np.eye(4)
    W = np.hstack([model.torque_regressor_batch(q, dq, ddq),
                   *((x[:, :, None] * eye).reshape(-1, 4) for x in (ddq, dq, np.sign(dq)))])
    assert len(base) == np.linalg.matrix_rank(W) == len(base_parameters(W, base.parameter_names))


def test_preference_leads():
    base = symbolic_base_parameters(Arm.load('crs_a465'), prefer=('Iyy1', 'mz3', 'Izz3'))
    leads = {base.parameter_names[k] for k in base.independent}
    assert {'Iyy1', 'mz3', 'Izz3'} <= leads


def test_matrix_has_the_rank_of_the_torques():
    model = Arm.load('biorob')
    assert np.linalg.matrix_rank(coefficient_matrix(model)) == 22


def test_words():
    base = symbolic_base_parameters(Arm.load('crs_a465'))
    number = [name.split()[0] for name in base.names].index('mx2')
    assert in_words(base, number) == 'first moment along x of link 2 + 0.305 mass of link 3'


def test_mistakes_are_named():
    with pytest.raises(UnknownName, match="'m9'"):
        symbolic_base_parameters(pendulum(), prefer=('m9',))
    with pytest.raises(UnknownName, match="'stiction'"):
        symbolic_base_parameters(pendulum(), terms=('stiction',))
    with pytest.raises(ArmsenseError, match='j slides'):
        symbolic_base_parameters(pendulum('prismatic'))
