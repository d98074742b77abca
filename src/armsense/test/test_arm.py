"""Arm against independent computations: finite differences, Newton-Euler, MuJoCo."""

from __future__ import annotations

import functools

import mujoco
import numpy as np
import pytest

from armsense import share
from armsense.errors import ArmsenseError, BadValue, UnknownName
from armsense.model import Arm

ARMS = ('biorob', 'crs_a255', 'crs_a465', 'laas4', 'seven', 'tudor', 'zeego')
MUJOCO = ('<mujoco><compiler discardvisual="true" balanceinertia="false" fusestatic="false" '
          'inertiafromgeom="false"/></mujoco>')


@functools.cache
def load(arm: str) -> Arm:
    return Arm.load(arm)


@pytest.fixture(params=ARMS)
def model(request) -> Arm:
    return load(request.param)


def states(model: Arm, count: int = 5, seed: int = 0):
    """Random positions within the limits, velocities and accelerations."""
    rng = np.random.default_rng(seed)
    low, high = model.position_limits
    for _ in range(count):
        yield (rng.uniform(low, high), rng.uniform(-1.5, 1.5, model.n),
               rng.uniform(-3.0, 3.0, model.n))


def close(actual, expected, relative: float) -> bool:
    """Near in units of the largest expected number (at least 1)."""
    scale = max(1.0, float(np.abs(expected).max()))
    return bool(np.abs(np.asarray(actual) - expected).max() <= relative * scale)


def test_every_arm_of_the_workspace_is_tested():
    assert tuple(share.arm_names()) == ARMS


# -- dynamics ----------------------------------------------------------------------------------


def test_regressor_times_parameters_is_inverse_dynamics(model):
    for q, dq, ddq in states(model):
        tau = model.torque_regressor(q, dq, ddq) @ model.parameters + model.armature * ddq
        assert close(tau, model.inverse_dynamics(q, dq, ddq), 1e-9)


def test_inverse_dynamics_is_mass_coriolis_gravity(model):
    for q, dq, ddq in states(model):
        tau = (model.mass_matrix(q) @ ddq + model.coriolis_matrix(q, dq) @ dq
               + model.gravity_torque(q))
        assert close(tau, model.inverse_dynamics(q, dq, ddq), 1e-9)
        assert close(model.bias_torque(q, dq), tau - model.mass_matrix(q) @ ddq, 1e-9)


def test_forward_dynamics_inverts_inverse_dynamics(model):
    for q, dq, ddq in states(model):
        tau = model.inverse_dynamics(q, dq, ddq)
        assert close(model.forward_dynamics(q, dq, tau), ddq, 1e-8)


def test_mass_matrix_rate_minus_twice_coriolis_is_skew(model):
    h = 1e-6
    for q, dq, _ in states(model):
        rate = (model.mass_matrix(q + h * dq) - model.mass_matrix(q - h * dq)) / (2 * h)
        skew = rate - 2 * model.coriolis_matrix(q, dq)
        assert np.abs(rate).max() > 1e-6
        assert np.abs(skew + skew.T).max() <= 1e-7 * np.abs(model.mass_matrix(q)).max()


def test_mass_matrix_is_positive_definite(model):
    for q, _, _ in states(model, 50):
        assert np.linalg.eigvalsh(model.mass_matrix(q)).min() > 0.0


def test_momentum_and_its_rate(model):
    for q, dq, _ in states(model):
        M, C, g = model.mass_matrix(q), model.coriolis_matrix(q, dq), model.gravity_torque(q)
        terms = tuple(np.empty((3, model.n)))
        model.momentum_terms(q, dq, terms)
        for term, expected in zip(terms, (M @ dq, C.T @ dq, g), strict=True):
            assert close(term, expected, 1e-12)
        assert close(model.momentum_rate(q, dq), C.T @ dq - g, 1e-12)


def test_power_of_the_torques_is_the_rate_of_energy(model):
    h = 1e-5
    for q, dq, ddq in states(model):
        after = model.energy(q + h * dq + 0.5 * h * h * ddq, dq + h * ddq)
        before = model.energy(q - h * dq + 0.5 * h * h * ddq, dq - h * ddq)
        power = dq @ model.inverse_dynamics(q, dq, ddq)
        assert (after - before) / (2 * h) == pytest.approx(power, rel=1e-5, abs=1e-5)


# -- base wrench -------------------------------------------------------------------------------


def newton_euler_base_wrench(model: Arm, q, dq, ddq) -> np.ndarray:
    """Sum of m (a - g) and of the rates of spin over the links, as felt by the support."""
    h = 1e-5
    force, moment = np.zeros(3), np.zeros(3)
    for link, pi in zip(model.link_names, model.parameters.reshape(-1, 10), strict=True):
        J = model.jacobian(q, link)
        rate = (model.jacobian(q + h * dq, link) - model.jacobian(q - h * dq, link)) / (2 * h)
        spin, turn = J[3:] @ dq, (J @ ddq + rate @ dq)[3:]
        origin = (J @ ddq + rate @ dq)[:3]
        pose = model.frame_pose(q, link)
        R, p = pose[:3, :3], pose[:3, 3]
        m, c = pi[0], R @ pi[1:4] / pi[0]
        about_frame = pi[[4, 5, 7, 5, 6, 8, 7, 8, 9]].reshape(3, 3)
        local = pi[1:4] / m
        central = about_frame - m * (local @ local * np.eye(3) - np.outer(local, local))
        central = R @ central @ R.T
        acceleration = origin + np.cross(turn, c) + np.cross(spin, np.cross(spin, c))
        push = m * (acceleration - model.gravity)
        force += push
        moment += np.cross(p + c, push) + central @ turn + np.cross(spin, central @ spin)
    return -np.concatenate([force, moment])


def test_base_wrench_is_the_sum_of_link_wrenches(model):
    for q, dq, ddq in states(model):
        expected = newton_euler_base_wrench(model, q, dq, ddq)
        assert close(model.base_wrench(q, dq, ddq), expected, 1e-8)
        assert close(model.base_wrench_regressor(q, dq, ddq) @ model.parameters, expected, 1e-8)


def test_base_wrench_regressor_times_parameters(model):
    for q, dq, ddq in states(model):
        wrench = model.base_wrench_regressor(q, dq, ddq) @ model.parameters
        assert close(wrench, model.base_wrench(q, dq, ddq), 1e-9)


def test_resting_arm_weighs_on_its_support(model):
    zero = np.zeros(model.n)
    wrench = model.base_wrench(np.array(model.config.home), zero, zero)
    weight = 9.81 * model.masses.sum()
    np.testing.assert_allclose(wrench[:3], [0.0, 0.0, -weight], atol=1e-9 * weight)
    assert abs(wrench[5]) < 1e-9 * weight


def test_first_joint_turns_against_the_moment_of_the_base(model):
    # Joint 1 of every arm is the vertical axis through the base's origin.
    for q, dq, ddq in states(model):
        tau = model.inverse_dynamics(q, dq, ddq) - model.armature * ddq
        assert close(-model.base_wrench(q, dq, ddq)[5], tau[0], 1e-9)


# -- MuJoCo ------------------------------------------------------------------------------------


def compile_urdf(urdf: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(urdf.replace('</robot>', MUJOCO + '</robot>'))


@functools.cache
def mujoco_model(arm: str) -> mujoco.MjModel:
    compiled = compile_urdf(load(arm).urdf)
    compiled.dof_armature[:] = load(arm).armature
    compiled.opt.gravity[:] = load(arm).gravity
    return compiled


def test_mujoco_agrees(model):
    engine = mujoco_model(model.name)
    engine.opt.disableflags |= (mujoco.mjtDisableBit.mjDSBL_CONTACT
                                | mujoco.mjtDisableBit.mjDSBL_LIMIT)
    data = mujoco.MjData(engine)
    assert [engine.joint(k).name for k in range(engine.njnt)] == list(model.joint_names)
    for q, dq, _ in states(model, 10):
        tau = model.bias_torque(q, dq) + 0.3 * model.effort_limits * np.sin(7 * q)
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, dq, tau
        mujoco.mj_forward(engine, data)
        M = np.zeros((model.n, model.n))
        mujoco.mj_fullM(engine, data, M)
        assert close(model.mass_matrix(q), M, 1e-6)
        assert close(model.bias_torque(q, dq), data.qfrc_bias, 1e-6)
        assert close(model.forward_dynamics(q, dq, tau), data.qacc, 1e-6)
        tool = data.xpos[engine.body('tool').id] if has_body(engine, 'tool') else None
        if tool is not None:
            assert close(model.frame_pose(q)[:3, 3], tool, 1e-9)


def has_body(engine: mujoco.MjModel, name: str) -> bool:
    return mujoco.mj_name2id(engine, mujoco.mjtObj.mjOBJ_BODY, name) >= 0


def test_home_pose_is_free_of_contact(model):
    engine = compile_urdf(model.urdf)
    data = mujoco.MjData(engine)
    data.qpos[:] = model.config.home
    mujoco.mj_forward(engine, data)
    touching = [[engine.body(engine.geom_bodyid[g]).name for g in data.contact[k].geom]
                for k in range(data.ncon)]
    assert touching == []


# -- batches -----------------------------------------------------------------------------------


def test_batch_is_single(model):
    q, dq, ddq = (np.array(rows) for rows in zip(*states(model, 7), strict=True))
    singles = [np.vstack([single(a, b, c) for a, b, c in zip(q, dq, ddq, strict=True)])
               for single in (model.inverse_dynamics, model.torque_regressor)]
    batches = [model.inverse_dynamics_batch(q, dq, ddq), model.torque_regressor_batch(q, dq, ddq)]
    for single, batch in zip(singles, batches, strict=True):
        np.testing.assert_array_equal(batch, single)


def test_results_are_own_arrays():
    model = load('laas4')
    q = np.zeros(4)
    first = model.torque_regressor_batch(*np.ones((3, 2, 4)))
    copy = first.copy()
    model.torque_regressor(q, q, q)
    model.torque_regressor_batch(*np.zeros((3, 2, 4)))
    np.testing.assert_array_equal(first, copy)


def test_empty_batch():
    model = load('laas4')
    assert model.torque_regressor_batch(*np.empty((3, 0, 4))).shape == (0, 40)


@pytest.mark.parametrize('shapes', [((3, 4), (3, 4), (2, 4)), ((3, 5),) * 3, ((4,),) * 3])
def test_batch_of_wrong_shape(shapes):
    with pytest.raises(BadValue, match=r'shape of a batch is .*\(N, 4\)'):
        load('laas4').torque_regressor_batch(*(np.zeros(s) for s in shapes))


# -- kinematics --------------------------------------------------------------------------------


def rotation_rate(before: np.ndarray, after: np.ndarray, h: float) -> np.ndarray:
    W = (after - before)[:3, :3] / (2 * h) @ ((after + before) / 2)[:3, :3].T
    return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2


def test_jacobian_by_finite_differences(model):
    h = 1e-6
    for q, _, _ in states(model, 2):
        for frame in (*model.link_names, 'tool'):
            J = model.jacobian(q, frame)
            for k in range(model.n):
                step = h * np.eye(model.n)[k]
                after = model.frame_pose(q + step, frame)
                before = model.frame_pose(q - step, frame)
                np.testing.assert_allclose(J[:3, k], (after - before)[:3, 3] / (2 * h), atol=1e-8)
                np.testing.assert_allclose(J[3:, k], rotation_rate(before, after, h), atol=1e-8)


def test_point_jacobian_by_finite_differences(model):
    h, point = 1e-6, np.array([0.1, -0.2, 0.05, 1.0])
    link = model.link_names[-1]
    for q, dq, _ in states(model, 3):
        after = model.frame_pose(q + h * dq, link) @ point
        before = model.frame_pose(q - h * dq, link) @ point
        velocity = (after - before)[:3] / (2 * h)
        np.testing.assert_allclose(model.point_jacobian(q, link, point[:3]) @ dq, velocity,
                                   atol=1e-8)


def test_moving_joint(model):
    assert [model.moving_joint(link) for link in model.link_names] == list(range(model.n))
    assert model.moving_joint('tool') == model.n - 1
    assert model.moving_joint('base_link') == -1


# -- payload, other parameters -------------------------------------------------------------------


def test_payload_adds_its_inertia(model):
    mass, center = 0.4, np.array([0.02, -0.01, 0.05])
    inertia = np.array([[3e-3, 1e-4, 2e-4], [1e-4, 4e-3, -3e-4], [2e-4, -3e-4, 5e-3]])
    loaded = model.with_payload(mass, center, inertia)
    for q, _, _ in states(model, 3):
        R = model.frame_pose(q)[:3, :3]
        J, turning = model.point_jacobian(q, 'tool', center), model.jacobian(q)[3:]
        added = mass * J.T @ J + turning.T @ R @ inertia @ R.T @ turning
        assert close(loaded.mass_matrix(q) - model.mass_matrix(q), added, 1e-9)
        weight = loaded.gravity_torque(q) - model.gravity_torque(q)
        assert close(weight, -mass * J.T @ model.gravity, 1e-9)
    assert loaded.masses.sum() == pytest.approx(model.masses.sum() + mass)
    assert loaded.with_payload(0.0).masses.sum() == pytest.approx(loaded.masses.sum())


def test_payload_reaches_the_base_wrench(model):
    zero = np.zeros(model.n)
    loaded = model.with_payload(2.0)
    change = loaded.base_wrench(zero, zero, zero) - model.base_wrench(zero, zero, zero)
    p = model.frame_pose(zero)[:3, 3]
    weight = 2.0 * np.array(model.gravity)
    np.testing.assert_allclose(change, [*weight, *np.cross(p, weight)], atol=1e-8)


@pytest.mark.parametrize(('arguments', 'text'), [
    ((-0.1,), 'payload mass is -0.1; it must be >= 0 kg'),
    ((float('nan'),), 'payload mass is nan; it must be >= 0 kg'),
    ((1.0, (0, 0)), r'shape of payload center is \(2,\); it must be \(3,\)'),
    ((1.0, (0, 0, float('inf'))), 'payload center is .*inf.*; it must be finite'),
    ((1.0, (0, 0, 0), np.eye(2)), r'payload inertia is .*; it must be finite numbers, \(3, 3\)'),
])
def test_bad_payload(arguments, text):
    with pytest.raises(BadValue, match=text):
        load('laas4').with_payload(*arguments)


def test_replace_leaves_the_original(model):
    pi = model.parameters
    other = model.replace(parameters=1.1 * pi, armature=np.full(model.n, 0.5), gravity=(0, 0, 1))
    np.testing.assert_allclose(other.parameters, 1.1 * pi, atol=1e-12 * np.abs(pi).max())
    np.testing.assert_array_equal(other.armature, np.full(model.n, 0.5))
    np.testing.assert_array_equal(other.gravity, [0, 0, 1])
    np.testing.assert_array_equal(model.parameters, pi)
    q, dq, ddq = next(states(model))
    assert close(other.torque_regressor(q, dq, ddq) @ (1.1 * pi) + 0.5 * ddq,
                 other.inverse_dynamics(q, dq, ddq), 1e-9)
    assert close(other.base_wrench_regressor(q, dq, ddq) @ (1.1 * pi),
                 other.base_wrench(q, dq, ddq), 1e-9)


@pytest.mark.parametrize(('change', 'text'), [
    ({'parameters': np.full(40, -1.0)}, 'laas4: mass of link 1 is -1.0; it must be > 0 kg'),
    ({'parameters': np.zeros(39)}, r'shape of parameters is \(39,\); it must be \(40,\)'),
    ({'parameters': np.full(40, np.nan)}, 'parameters is .*nan.*; it must be finite'),
    ({'armature': np.full(4, np.inf)}, 'armature is .*inf.*; it must be finite'),
    ({'gravity': (0, 0)}, r'shape of gravity is \(2,\); it must be \(3,\)'),
])
def test_bad_replacement(change, text):
    with pytest.raises(BadValue, match=text):
        load('laas4').replace(**change)


# -- bad input -----------------------------------------------------------------------------------

LINK = ('<link name="{0}"><inertial><mass value="{1}"/><inertia ixx="{2}" iyy="1" izz="1" '
        'ixy="0" ixz="0" iyz="0"/></inertial></link>')
JOINT = ('<joint name="joint1" type="{0}"><parent link="base"/><child link="link1"/>'
         '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>')
ARM = ('arm: own\ntitle: t\nurdf: own.urdf\ntool_frame: link1\njoints:\n  {joint}: '
       '{{drive: rigid, gear_ratio: 1, kv: 1, current_limit: 1}}\n')


def own_arm(folder, urdf: str, joint: str = 'joint1'):
    (folder / 'own.yaml').write_text(ARM.format(joint=joint))
    (folder / 'own.urdf').write_text(urdf)
    return folder / 'own.yaml'


def urdf(mass='1', ixx='1', kind='revolute') -> str:
    return (f'<robot name="own"><link name="base"/>{LINK.format("link1", mass, ixx)}'
            f'{JOINT.format(kind)}</robot>')


def test_arm_of_ones_own(tmp_path):
    model = Arm.load(own_arm(tmp_path, urdf()))
    assert model.name == 'own'
    np.testing.assert_allclose(model.mass_matrix(np.zeros(1)), [[1.0]])


@pytest.mark.parametrize(('description', 'joint', 'text'), [
    (urdf(), 'elbow', "unknown joint 'elbow'; known: joint1"),
    (urdf(mass='-2'), 'joint1', "own.urdf: link 'link1': mass is -2.0; it must be >= 0 kg"),
    (urdf(mass='0'), 'joint1', "own.urdf: link 'link1': mass is 0.0; it must be > 0 kg"),
    (urdf(mass='nan'), 'joint1', "mass value is 'nan'; it must be a finite number"),
    (urdf(ixx='inf'), 'joint1', "inertia ixx is 'inf'; it must be a finite number"),
    (urdf(ixx='big'), 'joint1', "inertia ixx is 'big'; it must be a finite number"),
    ('<robot name="own"/>', 'joint1', 'the URDF cannot be read'),
    ('<robot', 'joint1', 'own.urdf is not valid XML'),
])
def test_bad_description(tmp_path, description, joint, text):
    with pytest.raises(ArmsenseError) as error:
        Arm.load(own_arm(tmp_path, description, joint))
    assert text in str(error.value)
    assert '\n' not in str(error.value)


def test_missing_description(tmp_path):
    path = own_arm(tmp_path, '')
    (tmp_path / 'own.urdf').unlink()
    with pytest.raises(ArmsenseError, match="description 'own.urdf' was not found; looked at"):
        Arm.load(path)


def test_description_that_is_not_text(tmp_path):
    path = own_arm(tmp_path, '')
    (tmp_path / 'own.urdf').write_bytes(b'\xff\xfe\x00')
    with pytest.raises(ArmsenseError, match='own.urdf is not text'):
        Arm.load(path)


def test_unknown_arm():
    known = ', '.join(ARMS)
    with pytest.raises(UnknownName, match=rf"'lass4' \(did you mean 'laas4'\?\); known: {known}"):
        Arm.load('lass4')


def test_unknown_frame():
    with pytest.raises(UnknownName, match="unknown frame 'gripper'.*known: .*tool"):
        load('laas4').frame_pose(np.zeros(4), 'gripper')


def test_joints_out_of_order():
    model = load('laas4')
    with pytest.raises(BadValue, match='order of the joints'):
        Arm(model.urdf, ['joint2', 'joint1', 'joint3', 'joint4'])


def test_locked_joint_moves_its_mass_to_the_link_before():
    model = load('laas4')
    locked = Arm(model.urdf, ['joint1', 'joint2', 'joint3'])
    assert locked.masses.sum() == pytest.approx(model.masses.sum())
    q = np.array([0.3, -0.4, 0.5])
    np.testing.assert_allclose(locked.gravity_torque(q), model.gravity_torque(np.append(q, 0))[:3],
                               atol=1e-12)
