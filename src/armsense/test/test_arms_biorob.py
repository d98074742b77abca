"""The biorob arm against fig. 3.4 and tables 4.2, 4.5 of thesis 000."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from armsense.identify.estimation.base_parameters import base_parameters
from armsense.model import Arm
from bench.base_estimate import arm_base_parameters

G = 9.81
L1, L2, L3, L4 = 0.25, 0.30, 0.30, 0.20   # assumed lengths, as in the URDF
LENGTHS = {2: L2, 3: L3, 4: L4}
NAMES = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')


@pytest.fixture(scope='module')
def model() -> Arm:
    return Arm.load('biorob')


def unit(link: int, name: str) -> np.ndarray:
    """Row that picks one parameter about the link frame (at the joint) out of pi, (40,)."""
    row = np.zeros(40)
    row[10 * (link - 1) + NAMES.index(name)] = 1.0
    return row


def end(link: int, name: str) -> np.ndarray:
    """Row for a parameter about the document's frame, which stands at the end of the link."""
    if link == 1:   # its y is our z
        return unit(1, {'Iyy': 'Izz'}[name])
    l = LENGTHS[link]
    if name == 'mx':
        return unit(link, 'mx') - l * unit(link, 'm')
    row = unit(link, name)
    if name in ('Iyy', 'Izz'):
        row = row - 2 * l * unit(link, 'mx') + l * l * unit(link, 'm')
    return row


# Table 4.5: combination of parameters and its exact value; the friction lines d_i are left out.
TABLE_45 = [
    (sum((end(k, 'Iyy') - end(k, 'Izz') for k in (2, 3, 4)), end(1, 'Iyy')), 0.0),
    (end(3, 'Izz') / L3**2 - end(2, 'Izz') / L2**2 + end(2, 'm'), -0.416),
    (end(2, 'Izz') / L2 + end(2, 'mx'), 0.160),
    (end(2, 'my'), 0.0),
    (end(2, 'Ixx') - end(2, 'Iyy') + end(2, 'Izz'), 0.00888),
    (end(2, 'Ixy'), 0.0),
    (end(4, 'Izz') / L4**2 - end(3, 'Izz') / L3**2 + end(3, 'm'), 0.208),
    (end(3, 'Izz') / L3 + end(3, 'mx'), 0.0103),
    (end(3, 'Ixx') - end(3, 'Iyy') + end(3, 'Izz'), 0.00320),
    (end(4, 'm') - end(4, 'Izz') / L4**2, 0.0292),
    (end(4, 'Izz') / L4 + end(4, 'mx'), 0.000601),
    (end(4, 'Ixx') - end(4, 'Iyy') + end(4, 'Izz'), 6.189e-5),
]


def regressor(model: Arm, samples: int = 100) -> tuple[np.ndarray, np.ndarray]:
    q, dq, ddq = np.random.default_rng(0).uniform(-2, 2, (3, samples, 4))
    return model.torque_regressor_batch(q, dq, ddq), dq


def test_inertias_give_table_4_5(model):
    for row, value in TABLE_45:
        assert row @ model.parameters == pytest.approx(value, abs=1e-9)


def test_lines_of_table_4_5_are_base_parameters(model):
    # With the zero offsets that the document assumes, its twelve lines say all that the torques
    # depend on: every other parameter vector with the same lines moves alike.
    W, _ = regressor(model)
    W = W[:, symmetric_columns()]
    lines = np.array([row for row, _ in TABLE_45])[:, symmetric_columns()]
    assert np.linalg.matrix_rank(lines) == 12
    assert np.linalg.matrix_rank(np.vstack([W, lines * np.abs(W).max()]), rtol=1e-10) == 12


def symmetric_columns() -> list[int]:
    """Columns left by the simplification of section 4.3.1."""
    kept = {1: ('m', 'mz', 'Ixx', 'Iyy', 'Izz'), 2: ('m', 'mx', 'my', 'Ixx', 'Iyy', 'Izz', 'Ixy'),
            3: ('m', 'mx', 'Ixx', 'Iyy', 'Izz'), 4: ('m', 'mx', 'Ixx', 'Iyy', 'Izz')}
    return [10 * (link - 1) + NAMES.index(name) for link, names in kept.items() for name in names]


def test_number_of_base_parameters(model):
    """22 without the simplification; 12 with it, and the 16 lines of table 4.5 are these plus d_i.

    The document's 22 counts no friction (with it there would be 26), its 16 counts four.
    """
    assert len(arm_base_parameters(model)) == 22
    W, dq = regressor(model)
    columns = symmetric_columns()
    names = [model.parameter_names[k] for k in columns]
    assert len(base_parameters(W[:, columns], names)) == 12
    friction = (dq[:, :, None] * np.eye(4)).reshape(-1, 4)
    both = base_parameters(np.hstack([W[:, columns], friction]), [*names, 'd1', 'd2', 'd3', 'd4'])
    assert len(both) == 16
    everything = np.hstack([W, friction])
    assert np.linalg.matrix_rank(everything) == 26


def test_frames_are_fig_3_4(model):
    table = [(0, L1, np.pi / 2), (L2, 0, 0), (L3, 0, 0), (L4, 0, 0)]   # a, d, alpha
    for q in np.random.default_rng(1).uniform(-2, 2, (10, 4)):
        pose = np.eye(4)
        for k, ((a, d, alpha), theta) in enumerate(zip(table, q, strict=True)):
            ct, st, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
            pose = pose @ np.array([[ct, -st * ca, st * sa, a * ct],
                                    [st, ct * ca, -ct * sa, a * st], [0, sa, ca, d], [0, 0, 0, 1]])
            # Frame k stands where joint k + 1 is; the tool is frame 4.
            frame = 'tool' if k == 3 else f'link{k + 2}'
            np.testing.assert_allclose(model.frame_pose(q, frame)[:3, 3], pose[:3, 3], atol=1e-12)
        np.testing.assert_allclose(model.frame_pose(q), pose, atol=1e-12)


def test_dead_weight_is_4_kg(model):
    masses = ElementTree.fromstring(model.urdf).findall('link/inertial/mass')
    assert sum(float(mass.get('value')) for mass in masses) == pytest.approx(4.0)


def test_gravity_torques_from_table_4_5(model):
    # First moments about the joints follow from the table alone: l A + B.
    A4 = 0.0292
    A3 = A4 + 0.208
    A2 = A3 - 0.416
    moments = np.array([L2 * A2 + 0.160, L3 * A3 + 0.0103, L4 * A4 + 0.000601])
    for q in np.random.default_rng(2).uniform(-2, 2, (5, 4)):
        level = G * moments * np.cos(np.cumsum(q[1:]))
        expected = [0.0, level.sum(), level[1:].sum(), level[2]]
        np.testing.assert_allclose(model.gravity_torque(q), expected, atol=1e-12)


def test_actuators_are_table_4_2(model):
    joints = list(model.config.joints.values())
    assert all(joint.drive == 'elastic_joint' for joint in joints)
    assert [j.elastic.damping for j in joints] == [0.20, 0.20, 0.10, 0.10]
    assert [j.elastic.stiffness for j in joints] == [17.5, 10.0, 6.0, 6.0]
    assert [j.friction.coulomb for j in joints] == [0.016, 0.0209, 0.0104, 0.011]
    # Joint 2 is printed as 3.630e-3, which its own estimate and error contradict.
    exact = [j.friction.viscous for j in joints]
    assert exact == [3.072e-4, 3.630e-4, 2.041e-4, 2.315e-4]
    estimate = np.array([6.901e-4, 9.634e-4, -7.538e-5, 2.759e-4])
    np.testing.assert_allclose(np.abs(estimate - exact), [3.83e-4, 6.00e-4, 2.80e-4, 4.44e-5],
                               rtol=0.01)
    assert [j.elastic.link_damping for j in joints] == [0.5] * 4   # d_i of table 4.5


def test_sensors_and_coupling(model):
    joints = model.config.joints
    for joint in joints.values():
        assert joint.current_sensor.bits == 14
        assert joint.current_sensor.unsigned
        assert joint.joint_encoder is not None
    assert [j.elastic.coupled_to for j in joints.values()] == [None, None, None, 'joint3']
    assert joints['joint4'].elastic.coupling_ratio < 0
    np.testing.assert_array_equal(model.armature, np.zeros(4))   # rotors sit behind the springs
