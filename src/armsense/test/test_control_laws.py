"""Control laws against the theory that they come from."""

import dataclasses
from pathlib import Path
import sys

import numpy as np
import pytest

from armsense.control import (
    ArmState,
    board_torque,
    DYNAMIC_LAWS,
    find_law,
    JOINT_SPACE_LAWS,
    LAWS,
    Reference,
)
from armsense.control.active_law import ActiveLaw
from armsense.control.config import ControllerConfig
from armsense.drive import FrictionModel, GravityOffset, StrainLink
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.trajectory import Limits, QuinticSpline

sys.path.insert(0, str(Path(__file__).parent))
from control_helpers import ElasticArm, RigidArm

LAAS4, BIOROB, TUDOR = (Arm.load(arm) for arm in ('laas4', 'biorob', 'tudor'))
HOME = np.array(LAAS4.config.home)
DT = 1e-3


def make(law, model=LAAS4, **changes):
    config = ControllerConfig.of(model)
    gains = dataclasses.replace(config.gains(law), **changes)
    return find_law(law)(model, gains)


def spline(start, seed=1, duration=2.0):
    rng = np.random.default_rng(seed)
    points = start + rng.uniform(-0.4, 0.4, size=(4, len(start)))
    points[0] = start
    return QuinticSpline(np.linspace(0.0, duration, 4), points)


# -- computed torque --------------------------------------------------------------------------

def test_computed_torque_gives_the_linear_error_dynamics():
    # dde + kd de + kp e = 0 (eq. 2.22): e(t) known in closed form from the initial error.
    kp, kd, dt = 100.0, 16.0, 2e-4
    law = make('computed_torque', kp=(kp,), kd=(kd,), friction=0.0)
    path, e0 = spline(HOME), np.array([0.05, -0.03, 0.1, -0.08])
    arm = RigidArm(LAAS4, HOME - e0)
    w = np.sqrt(kp - (kd / 2) ** 2)
    worst = 0.0
    for k in range(4000):
        t = k * dt
        e = path.sample(t).q - arm.state.q
        exact = e0 * np.exp(-kd / 2 * t) * (np.cos(w * t) + kd / (2 * w) * np.sin(w * t))
        worst = max(worst, np.abs(e - exact).max())
        arm.step(law.step(arm.state, path.sample(t), dt), dt)
    assert worst < 5e-4   # what holding the torque over a cycle costs; shrinks with dt


def test_computed_torque_feeds_friction_forward():
    with_friction, without = make('computed_torque'), make('computed_torque', friction=0.0)
    reference = Reference(HOME, np.array([0.5, -0.5, 0.01, 0.0]), np.zeros(4))
    state = ArmState.rigid(HOME, reference.dq)
    extra = with_friction.step(state, reference, DT).torque - without.step(
        state, reference, DT).torque
    expected = FrictionModel.from_config(LAAS4.config).torque(reference.dq)
    np.testing.assert_allclose(extra, expected, atol=1e-12)


# -- PD + gravity, impedance, float -----------------------------------------------------------

@pytest.mark.parametrize('law_name', ['pd_gravity', 'joint_impedance'])
def test_the_equilibrium_is_the_goal_with_the_torque_of_gravity(law_name):
    law = make(law_name)
    goal = HOME + np.array([0.3, -0.2, 0.2, 0.3])
    arm = RigidArm(LAAS4, HOME)
    for _ in range(3000):
        command = law.step(arm.state, Reference.at_rest(goal), DT)
        arm.step(command, DT)
    np.testing.assert_allclose(arm.state.q, goal, atol=1e-4)
    np.testing.assert_allclose(board_torque(command, arm.state), LAAS4.gravity_torque(goal),
                               atol=1e-2)


def test_impedance_yields_like_its_spring():
    law = make('joint_impedance', stiffness=(20.0,), friction=0.0)
    push = np.array([1.0, 0.5, 0.2, -0.3])
    arm = RigidArm(LAAS4, HOME)
    for _ in range(4000):
        arm.step(law.step(arm.state, Reference.at_rest(HOME), DT), DT, external=push)
    # gravity is compensated where the arm is, so only the spring resists
    np.testing.assert_allclose(arm.state.q - HOME, push / 20.0, atol=1e-4)


def test_float_stays_where_it_is_left_and_moves_when_pushed():
    law = make('float', friction=0.0)   # this arm has none to take off
    arm = RigidArm(LAAS4, HOME)
    for _ in range(500):
        arm.step(law.step(arm.state, Reference.at_rest(HOME + 1.0), DT), DT)
    np.testing.assert_allclose(arm.state.q, HOME, atol=1e-9)
    for _ in range(300):
        arm.step(law.step(arm.state, Reference.at_rest(HOME), DT), DT,
                 external=np.array([0.3, 0.0, 0.0, 0.0]))
    assert arm.state.q[0] - HOME[0] > 0.02


# -- decentralised and kinematic laws ---------------------------------------------------------

def test_pi_velocity_is_the_board_law_of_equation_4_5():
    law = make('pi_velocity')
    gains = law.gains
    rng = np.random.default_rng(2)
    q, dq, qd, dqd = rng.normal(size=(4, 4))
    command = law.step(ArmState.rigid(q, dq), Reference(qd, dqd, np.zeros(4)), DT)
    expected = np.array(gains.proportional) * (dqd - dq) + np.array(gains.integral) * (qd - q)
    np.testing.assert_allclose(board_torque(command, ArmState.rigid(q, dq)), expected)


def test_pid_integral_runs_on_the_host_unless_the_boards_integrate():
    config = LAAS4.config
    boards = dataclasses.replace(config.boards, protocol='laas_inhouse')
    inhouse = Arm.load(dataclasses.replace(config, boards=boards))
    state, goal = ArmState.rigid(HOME, np.zeros(4)), Reference.at_rest(HOME + 0.01)
    on_board, on_host = make('pid_position', inhouse), make('pid_position')
    assert on_board.step(state, goal, DT).ki.all()
    for _ in range(100):
        command = on_host.step(state, goal, DT)
    assert not command.ki.any()
    expected = np.array(on_host.gains.ki) * 0.01 * 0.1
    np.testing.assert_allclose(command.torque, expected, rtol=1e-9)
    for _ in range(100_000):
        command = on_host.step(state, Reference.at_rest(HOME + 1.0), 0.01)
        if (command.torque >= 0.5 * LAAS4.effort_limits).all():
            break
    assert (command.torque <= 0.5 * LAAS4.effort_limits + 1e-12).all()   # does not wind up


def test_kinematic_joint_error_decays_with_its_gain():
    # The boards as a perfect velocity source: the error must follow exp(-K t).
    law = make('kinematic_joint', position=(8.0,))
    path, e0 = spline(HOME), np.array([0.02, -0.01, 0.02, 0.01])
    q = HOME - e0
    law.reset(ArmState.rigid(q, np.zeros(4)))
    for k in range(500):
        command = law.step(ArmState.rigid(q, np.zeros(4)), path.sample(k * DT), DT)
        q = q + command.velocity * DT
    np.testing.assert_allclose(path.sample(0.5).q - q, e0 * np.exp(-8.0 * 0.5), atol=5e-4)


def test_kinematic_cartesian_error_decays_and_null_space_does_not_disturb_it():
    law = make('kinematic_cartesian', position=10.0, null_space=1.0)
    start = LAAS4.frame_pose(HOME)[:3, 3]
    goal, rest = start + [0.0, 0.03, 0.0], np.zeros(3)
    middle = np.mean(LAAS4.position_limits, axis=0)
    q = HOME.copy()
    for k in range(800):
        error = np.linalg.norm(LAAS4.frame_pose(q)[:3, 3] - goal)
        assert error == pytest.approx(0.03 * np.exp(-10.0 * k * DT), abs=1.5e-3)
        q = q + law.velocity(q, goal, rest, middle - q) * DT
    J = LAAS4.jacobian(HOME)[:3]
    pull_only = law.velocity(HOME, start, rest, middle - HOME)
    np.testing.assert_allclose(J @ pull_only, 0.0, atol=1e-6)
    assert np.abs(pull_only).max() > 0.0


def test_kinematic_cartesian_stays_bounded_at_a_singularity():
    law = make('kinematic_cartesian', null_space=0.0)
    stretched = np.zeros(4)
    for q4 in (0.0, 1e-6, 1e-3, 0.02):
        stretched[3] = q4
        out = LAAS4.frame_pose(stretched)[:3, 3] + 0.1
        bound = law.gains.position * 0.1 * np.sqrt(3) / min(law.gains.threshold, law.gains.damping)
        assert np.abs(law.velocity(stretched, out, np.zeros(3), np.zeros(4))).max() <= bound


# -- elastic joints ---------------------------------------------------------------------------

def undamped(model):
    """The same arm without spring damping, which the inverse dynamics leaves out."""
    joints = {name: dataclasses.replace(
        joint, elastic=dataclasses.replace(joint.elastic, damping=0.0),
        friction=dataclasses.replace(joint.friction, coulomb=0.0, viscous=0.0))
        for name, joint in model.config.joints.items()}
    return Arm.load(dataclasses.replace(model.config, joints=joints))


def test_elastic_feed_forward_alone_drives_the_links_along_the_motion():
    model = undamped(BIOROB)
    home = np.array(model.config.home)
    # One segment: at a waypoint the jerk jumps, and with it the motor velocity that is asked for.
    path = QuinticSpline([0.0, 1.5], [home, home + [0.4, -0.3, 0.5, -0.4]], np.zeros((2, 4)))
    law = make('elastic_inverse_dynamics', model, joint_position=(0.0,), joint_velocity=(0.0,),
               joint_integral=(0.0,))
    arm = ElasticArm(model, home, damping=False)
    dt, worst = 5e-4, 0.0
    zero = np.zeros(4)
    for k in range(1600):
        reference = path.sample(k * dt)
        worst = max(worst, np.abs(arm.state.q - reference.q).max())
        arm.step(law.step(arm.state, reference, dt)._replace(kp=zero, kd=zero), dt)
    assert worst < 3e-3   # open loop over 0.8 s
    wanted = law.step(arm.state, path.sample(0.8), dt)
    np.testing.assert_allclose(arm.state.theta, wanted.position, atol=3e-3)
    np.testing.assert_allclose(arm.state.dtheta, wanted.velocity, atol=3e-2)


def test_elastic_state_motor_position_is_equation_3_28_with_the_cable():
    law = make('elastic_state', BIOROB)
    q = np.array([0.1, 1.0, -0.8, 0.3])
    command = law.step(ArmState(q, np.zeros(4), q, np.zeros(4), np.zeros(4)),
                       Reference.at_rest(q), DT)
    K = np.array([17.5, 10.0, 6.0, 6.0])
    g = BIOROB.gravity_torque(q)
    spring = g.copy()
    spring[2] += g[3]   # the cable of joint 4 loads joint 3 with ratio -1
    expected = q + spring / K
    expected[3] += -1.0 * q[2]
    np.testing.assert_allclose(command.position, expected, atol=1e-9)


@pytest.mark.parametrize('step', [0.3, -0.3])
def test_elastic_state_damps_the_step_response_of_joint_2(step):
    law = make('elastic_state', BIOROB)
    home = np.array(BIOROB.config.home)
    arm = ElasticArm(BIOROB, home)
    law.reset(arm.state)
    goal = home + np.array([0.0, step, 0.0, 0.0])
    response = []
    for _ in range(1500):
        arm.step(law.step(arm.state, Reference.at_rest(goal), DT), DT)
        response.append((arm.state.q[1] - home[1]) / step)
    assert max(response) <= 1.10
    assert np.abs(np.array(response[1000:]) - 1.0).max() <= 0.02
    np.testing.assert_allclose(arm.state.q, goal, atol=0.01)


def test_elastic_laws_need_springs():
    with pytest.raises(ArmsenseError, match='laas4'):
        find_law('elastic_state')(LAAS4, ControllerConfig.of(BIOROB).gains('elastic_state'))


# -- elastic links ----------------------------------------------------------------------------

def test_strain_feedback_adds_the_predicted_damping():
    # Link on a joint that follows velocities exactly: ddw + 2 z w0 dw + w0^2 w = -ddtheta, strain
    # = -c w. With dtheta = -k strain the damping term grows by k c.
    law = make('oscillation_damping', TUDOR, position=(0.0,), strain=(1000.0,), mean_time=1e6)
    w0, z, c, dt = 2 * np.pi * 4.0, 0.01, 4e-3, 1e-4
    state = ArmState.rigid(np.zeros(3), np.zeros(3), strain=np.zeros(3))
    law.reset(state)
    law.yielding(state, np.zeros(3), 0.0)
    w, dw, last, peaks = 0.05, 0.0, 0.0, []
    for k in range(12000):
        strain = np.array([0.0, -c * w, 0.0])
        v = -law.yielding(state._replace(strain=strain), np.zeros(3), dt)[1]
        ddtheta = (v - last) / dt if k else 0.0
        last = v
        dw += dt * (-2 * z * w0 * dw - w0**2 * w - ddtheta)
        w += dt * dw
        peaks.append(abs(w))
    peaks = np.array(peaks)
    rate = np.log(peaks[:3000].max() / peaks[8000:11000].max()) / (8000 * dt)
    assert rate == pytest.approx(z * w0 + 1000.0 * c / 2, rel=0.15)


def test_mean_free_strain_forgets_a_constant_load():
    law = make('oscillation_damping', TUDOR, mean_time=0.2, strain=(1000.0,))
    state = ArmState.rigid(np.zeros(3), np.zeros(3), strain=np.array([np.nan, 0.0, 0.0]))
    law.reset(state)
    law.yielding(state, np.zeros(3), DT)
    loaded = state._replace(strain=np.array([np.nan, 1e-3, 0.0]))
    first = law.yielding(loaded, np.zeros(3), DT)
    assert first[1] == pytest.approx(1.0, rel=0.01)
    for _ in range(2000):
        last = law.yielding(loaded, np.zeros(3), DT)
    assert abs(last[1]) < 1e-3
    assert last[0] == 0.0   # joint 1 has no gauge, its entry is ignored


def test_strain_that_the_model_expects_is_not_yielded_to():
    law = make('oscillation_damping', TUDOR, mean_time=1e6)
    gauges = StrainLink.from_config(TUDOR.config, TUDOR)
    for k, angle in enumerate((0.0, 0.8, 1.5)):     # gravity while the arm swings
        q = np.array([0.0, angle, -0.3])
        load = TUDOR.gravity_torque(q)
        state = ArmState.rigid(q, np.zeros(3), strain=gauges.strain(load, q))
        if not k:
            law.reset(state)
        assert law.yielding(state, load, DT)[1] == pytest.approx(0.0, abs=1e-9)


def test_after_a_collision_the_elastic_links_are_braked_first_and_damped_later():
    law = make('oscillation_damping', TUDOR, brake_time=0.005, brake_gain=2.0)
    rest = ArmState.rigid(np.zeros(3), np.zeros(3), strain=np.zeros(3))
    law.reset(rest)
    law.step(rest, Reference.at_rest(np.zeros(3)), DT)
    hit = rest._replace(strain=np.array([0.0, -1e-3, 0.0]))
    law.halt(hit)
    strain = TUDOR.config.joints['joint2'].strain
    for k in range(8):
        command = law.step(hit, Reference.at_rest(np.zeros(3)), DT)
        braking = k < 5
        assert (command.velocity[1] == 0.0) == braking
        assert command.kd[1] == law.gains.proportional[1] * (2.0 if braking else 1.0)
        if braking:   # the load that the gauge measures is carried by the motor
            assert command.torque[1] == pytest.approx(
                -1e-3 * strain.bending_stiffness / strain.surface_distance
                + GravityOffset(TUDOR, TUDOR.config)(np.zeros(3))[1])
    assert command.velocity[1] > 0.0                # yields to the contact
    law.halt(hit)
    law.relax(hit)                                  # what it presses against is let go of at once
    assert law.step(hit, Reference.at_rest(np.zeros(3)), DT).kd[1] == law.gains.proportional[1]


# -- the law that answers now -----------------------------------------------------------------

def test_a_law_that_is_found_while_the_model_changes_gets_the_new_one_too():
    laws = ActiveLaw(ControllerConfig.of(LAAS4), LAAS4, Limits.of(LAAS4), 'pd_gravity')
    names, plain = iter(('computed_torque', 'joint_impedance')), laws.law.set_model

    def set_model(model):
        laws.find(next(names))                       # as the other thread may at any time
        plain(model)
    laws.law.set_model = set_model
    heavy = LAAS4.with_payload(1.0)
    laws.set_model(heavy, ArmState.rigid(HOME, np.zeros(4)), Reference.at_rest(HOME))
    for name in ('pd_gravity', 'computed_torque', 'joint_impedance'):
        assert laws.find(name).model is heavy


# -- the table and the yaml -------------------------------------------------------------------

def test_every_law_is_offered_by_exactly_one_node():
    assert sorted(JOINT_SPACE_LAWS + DYNAMIC_LAWS) == sorted(LAWS)


@pytest.mark.parametrize('arm', ['laas4', 'biorob', 'tudor', 'crs_a465', 'zeego'])
def test_every_configured_law_can_be_made_and_steps(arm):
    model = Arm.load(arm)
    config = ControllerConfig.of(model)
    q = np.array(model.config.home or np.zeros(model.n))
    state = ArmState.rigid(q, np.zeros(model.n), strain=np.zeros(model.n))
    for name in config.laws:
        law = config.make(name, model)
        law.reset(state)
        command = law.step(state, Reference.at_rest(q), DT)
        assert all(np.isfinite(values).all() and values.shape == (model.n,)
                   for values in command), name


def test_config_errors_name_the_place(tmp_path):
    file = tmp_path / 'controllers.yaml'
    file.write_text('laas4: {law: pd_gravity, laws: {pd_gravity: {kp: [-1.0], kd: [1.0]}}}')
    with pytest.raises(ArmsenseError, match='pd_gravity.kp'):
        ControllerConfig.of(LAAS4, file)
    file.write_text('laas4: {law: pd_gravity, laws: {}}')
    with pytest.raises(ArmsenseError, match='pd_gravity'):
        ControllerConfig.of(LAAS4, file)
    with pytest.raises(ArmsenseError, match='list of 4'):
        make('pd_gravity', kp=(1.0, 2.0))
    with pytest.raises(ArmsenseError, match='computed_torqe'):
        find_law('computed_torqe')


