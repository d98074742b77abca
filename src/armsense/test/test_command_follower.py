"""Positions streamed by somebody else."""

from types import SimpleNamespace

from control_helpers import RigidArm
import numpy as np
import pytest

from armsense.control import ArmState, board_torque
from armsense.control.command_follower import CommandFollower, REACH
from armsense.control.config import ControllerConfig
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.sim.closed_loop import ClosedLoop
from armsense.trajectory import Limits
from armsense.watch.collision_monitor import CollisionMonitor

DT = 1e-3
START = np.array([0.0, 0.5, 0.0, -0.5])
NAMES = ['joint4', 'joint2', 'gripper', 'joint1', 'joint3']   # any order, and one that is not ours


@pytest.fixture
def model():
    return Arm.load('laas4')


@pytest.fixture
def follower(model):
    law = ControllerConfig.of(model).make('pd_gravity', model)
    return CommandFollower(model, law)


def send(follower, q):
    follower.send(NAMES, [q[3], q[1], 7.0, q[0], q[2]])


def run(follower, arm, seconds, target=None, collision=False):
    here = follower.held if follower.held is not None else arm.state.q
    for _ in range(round(seconds / DT)):
        if target is not None:
            here = here + np.clip(target - here, -DT, DT)      # 1 rad/s
            send(follower, here)
        arm.step(follower.step(arm.state, collision, DT), DT)


def test_the_arm_holds_until_somebody_sends_and_then_follows(model, follower):
    start = np.array([0.1, 0.5, 0.0, -0.5])
    arm = RigidArm(model, start)
    run(follower, arm, 0.2)
    assert np.abs(arm.state.q - start).max() < 1e-3
    target = start + [0.3, -0.2, 0.1, 0.2]
    run(follower, arm, 1.5, target)
    assert np.abs(arm.state.q - target).max() < 0.01


def test_the_target_of_before_a_pause_is_refused_with_a_way_out(model, follower):
    start = np.array([0.0, 0.5, 0.0, -0.5])
    arm = RigidArm(model, start)
    run(follower, arm, 1.0, start + [0.5, 0.0, 0.0, 0.0])
    old = follower.held
    follower.rest()                       # power lost: the arm is put back on its stand, at home
    arm = RigidArm(model, start)
    run(follower, arm, 0.1)
    for _ in range(100):                  # its sender has not heard of that
        with pytest.raises(ArmsenseError, match='joint1 is sent 0.50 rad away.*Deactivate and '
                                                'activate the trajectory controller'):
            send(follower, old)
        arm.step(follower.step(arm.state, False, DT), DT)
    assert np.abs(arm.state.q - start).max() < 1e-3
    run(follower, arm, 1.0, start + [0.3, 0.0, 0.0, 0.0])      # begun again where the arm is
    assert arm.state.q[0] == pytest.approx(0.3, abs=0.01)


def test_a_collision_holds_the_arm_until_resume(model, follower):
    start = np.array([0.0, 0.5, 0.0, -0.5])
    arm = RigidArm(model, start)
    run(follower, arm, 0.2, start + 0.5)
    run(follower, arm, DT, start + 0.5, collision=True)
    frozen = follower.held
    run(follower, arm, 0.5, start + 0.5)
    assert follower.frozen
    assert np.array_equal(follower.held, frozen)
    follower.resume()
    run(follower, arm, 1.0, start + 0.5)
    assert np.abs(arm.state.q - start - 0.5).max() < 0.02


def test_a_far_first_position_is_refused_and_nothing_moves(model, follower):
    start = np.array([0.0, 0.5, 0.0, -0.5])
    arm = RigidArm(model, start)
    run(follower, arm, 2 * DT)
    with pytest.raises(ArmsenseError, match=r'joint2 is sent 0.30 rad away at once'):
        send(follower, start + [0.0, REACH + 0.1, 0.0, 0.0])
    assert np.array_equal(follower.held, start)


def test_bad_commands_leave_the_old_reference(model, follower):
    arm = RigidArm(model, np.array([0.0, 0.5, 0.0, -0.5]))
    run(follower, arm, 2 * DT)
    held = follower.held
    with pytest.raises(ArmsenseError, match='missing: joint2, joint4'):
        follower.send(['joint1', 'joint3'], [0.0, 0.0])
    with pytest.raises(ArmsenseError, match='finite'):
        send(follower, np.array([np.nan, 0.5, 0.0, -0.5]))
    with pytest.raises(ArmsenseError, match='some positions'):
        follower.send(NAMES, [])
    assert np.array_equal(follower.held, held)


def test_after_a_pause_it_begins_where_the_arm_is(model, follower):
    arm = RigidArm(model, np.array([0.0, 0.5, 0.0, -0.5]))
    run(follower, arm, 0.1, np.array([0.1, 0.5, 0.0, -0.5]))
    follower.rest()
    moved = RigidArm(model, np.array([0.8, 0.9, 0.1, -0.2]))
    follower.step(moved.state, False, DT)
    assert np.array_equal(follower.held, moved.state.q)


def test_a_later_jump_is_refused_too(model, follower):
    arm = RigidArm(model, START)
    run(follower, arm, 0.1, START + 0.05)
    held = follower.held
    with pytest.raises(ArmsenseError, match=r'joint1 is sent 2.00 rad away at once'):
        send(follower, held + [2.0, 0.0, 0.0, 0.0])
    run(follower, arm, 0.5)
    assert np.abs(follower.held - START).max() <= 0.05 + 1e-9    # where it was sent before


def test_positions_and_velocities_are_kept_within_the_limits(model, follower):
    limits = Limits.of(model)
    at_limit = ArmState.rigid(limits.upper - 0.05, np.zeros(4))
    follower.step(at_limit, False, DT)
    follower.send(model.joint_names, limits.upper + 0.1)
    places = [follower.held]
    for _ in range(1000):
        command = follower.step(at_limit, False, DT)
        places.append(follower.held)
        assert (command.position <= limits.upper).all()
    np.testing.assert_allclose(places[-1], limits.upper, atol=1e-9)
    velocities = np.diff(places, axis=0) / DT
    assert (np.abs(velocities) <= limits.velocity).all()
    assert (np.abs(np.diff(velocities, axis=0)) <= limits.acceleration * DT).all()
    np.testing.assert_allclose(command.velocity, 0.0, atol=1e-9)   # there is nowhere to go


@pytest.mark.parametrize('name', sorted(ControllerConfig.of(Arm.load('laas4')).laws))
def test_no_finite_input_gives_more_torque_than_there_is(model, name):
    limit = Limits.of(model).torque * (1 + 1e-6)
    follower = CommandFollower(model, ControllerConfig.of(model).make(name, model))
    rng = np.random.default_rng(5)
    for k in range(200):
        size = 10.0 ** rng.uniform(-3, 6, size=4)
        state = ArmState.rigid(START + size[0] * rng.normal(size=4), size[1] * rng.normal(size=4))
        command = follower.step(state, k % 20 == 10, rng.uniform(0.0, 0.05))
        assert all(np.isfinite(values).all() for values in command)
        assert (np.abs(board_torque(command, state)) <= limit).all()
        follower.resume()
        if follower.held is not None:
            follower.send(model.joint_names, follower.held + REACH * rng.uniform(-1, 1, size=4))


@pytest.mark.parametrize('dt', [DT, float('nan'), -DT])
def test_a_state_or_time_that_is_no_number_brakes_and_then_holds_until_resume(
        model, follower, dt):
    arm = RigidArm(model, START)
    run(follower, arm, 0.1, START + 0.3)
    state = arm.state
    if dt == DT:
        state = state._replace(q=np.array([np.nan, 0.0, 0.0, 0.0]))
    command = follower.step(state, False, dt)
    assert all(np.isfinite(values).all() for values in command)
    assert not command.kp.any()
    assert not command.torque.any()
    assert command.kd.all()
    assert 'no number' in follower.fault
    here = arm.state.q
    run(follower, arm, 0.1, START + 0.3)
    assert follower.frozen
    np.testing.assert_array_equal(follower.held, here)
    follower.resume()
    assert not follower.fault
    run(follower, arm, 0.1, START + 0.3)
    assert (follower.held > here).all()


@pytest.mark.parametrize('name', ['computed_torque', 'kinematic_joint', 'pid_position',
                                  'pi_velocity', 'joint_impedance'])
@pytest.mark.parametrize('period', [0.01, 0.04])
def test_who_falls_silent_in_motion_leaves_the_arm_at_the_last_position(model, name, period):
    follower = CommandFollower(model, ControllerConfig.of(model).make(name, model))
    arm, q, speed = RigidArm(model, START), START.copy(), np.array([1.0, 0.0, 0.0, 0.0])
    run(follower, arm, 1.0)                          # until the law carries the arm
    for _ in range(round(0.8 / period)):
        q = q + speed * period
        follower.send(model.joint_names, q.tolist())
        run(follower, arm, period)
    assert follower._reference.dq[0] == pytest.approx(1.0, rel=0.05)   # not while they come
    velocities = []
    for _ in range(500):
        run(follower, arm, DT)
        velocities.append(follower._reference.dq)
    steps = np.abs(np.diff(velocities, axis=0))
    assert (steps <= Limits.of(model).acceleration * DT * (1 + 1e-9)).all()
    np.testing.assert_allclose(velocities[-1], 0.0, atol=1e-6)
    run(follower, arm, 1.5)
    assert abs(arm.state.q[0] - q[0]) < 0.01
    assert np.abs(arm.state.dq).max() < 0.02


class Streamed:
    """A controller for `ClosedLoop`: 0.5 rad/s, of which somebody sends positions when he can."""

    def __init__(self, model, pauses):
        config = ControllerConfig.of(model)
        self.follower = CommandFollower(model, config.make(config.law, model))
        self.home, self.way = np.array(model.config.home), np.array(model.config.home) * 0.0
        self.way[:2] = 0.5, -0.2
        self.names, self.pauses = model.joint_names, iter(pauses)
        self.time, self.due = 0.0, 0.3
        self.motion = []                              # what the arm was led along
        self.reaction = SimpleNamespace(agree_with=lambda level: None)
        self.press = None

    def rest(self):
        self.follower.rest()

    def step(self, state, residual, collision, dt, lasting):
        self.time += dt
        if self.time >= self.due:
            self.due += next(self.pauses)
            self.follower.send(self.names, self.home + np.clip(self.time - 0.3, 0, 1) * self.way)
        command = self.follower.step(state, collision is not None, dt)
        self.motion.append(self.follower._reference)
        return command


def uneven(longest, seed=1):
    """Pauses of a sender that is late now and then."""
    rng = np.random.default_rng(seed)
    while True:
        yield longest * rng.choice([0.1, 0.1, 0.1, 1.0])


def even(pause):
    while True:
        yield pause


@pytest.mark.parametrize('name', ['laas4', 'seven', 'tudor'])
@pytest.mark.parametrize('pauses', [(even, 0.001), (even, 0.05), (uneven, 0.01), (uneven, 0.15)],
                         ids=['each state', '20 Hz', 'bursts of 10 ms', 'bursts of 150 ms'])
def test_however_positions_come_the_arm_feels_no_contact_of_its_own_making(name, pauses):
    model = Arm.load(name)
    limits, streamed = Limits.of(model), Streamed(model, pauses[0](pauses[1]))
    arm = ClosedLoop(model, controller=streamed, monitor=CollisionMonitor(model))
    felt = []
    arm.run(2.5, lambda cycle: felt.append(cycle.result.detection))
    assert not any(felt)
    assert not streamed.follower.frozen
    dq = np.array([reference.dq for reference in streamed.motion])
    assert (np.abs(dq) <= limits.velocity).all()
    assert (np.abs(np.diff(dq, axis=0)) <= limits.acceleration * arm.dt * (1 + 1e-9)).all()
    assert np.abs(streamed.follower.held - streamed.home - streamed.way).max() < 1e-3
    beyond = max(reference.q[0] for reference in streamed.motion) - streamed.home[0] - 0.5
    assert beyond <= 0.5**2 / limits.acceleration[0]  # its sender stops at once, the arm cannot
