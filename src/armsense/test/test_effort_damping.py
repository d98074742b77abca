"""Damping by efforts at the pace of somebody else's robot: it brakes, and does not swing up."""

import numpy as np
import pytest

from armsense.boards.command_guard import guard_limits
from armsense.boards.effort_bridge import EffortBridge
from armsense.control.drivetrain import Drivetrain
from armsense.model import Arm
from armsense.sim.mujoco_plant import make_plant


class Robot:
    """An arm whose joint states come at a rate, and whose efforts act a state late."""

    def __init__(self, arm, rate, late=1, pauses=()):
        self.model, self.period = Arm.load(arm), round(1000 / rate)   # [ms]
        self.pauses = pauses or (self.period,)     # [ms] between states, again and again
        self.plant = make_plant(self.model.config, seed=1)
        self.plant.reset(self.model.config.home)
        self.now = 10**9                                                   # [ns]
        self.bridge = EffortBridge(self.model, guard_limits(self.model), clock=lambda: self.now)
        self.torque = [self.plant.holding_torque.tolist()] * (late + 1)
        self.speeds = []
        self.run(10, lambda reading: self.plant.holding_torque.tolist())
        assert self.bridge.enable().success
        self.bridge.emergency_stop()

    def run(self, states, answer=None):
        for k in range(states):
            state = self.plant.state
            reading = self.bridge.read(
                self.bridge.names, state.motor_position.tolist(), state.motor_velocity.tolist(),
                self.torque[0])
            self.torque = [*self.torque[1:], (answer or self.bridge.efforts)(reading)]
            for _ in range(self.pauses[k % len(self.pauses)]):
                self.plant.step(self.torque[0], 1e-3)
                self.now += 10**6
                self.speeds.append(np.abs(self.plant.state.joint_velocity).max())


@pytest.mark.parametrize(('arm', 'rate'), [('laas4', 30), ('crs_a465', 30), ('crs_a465', 100)])
def test_an_arm_that_is_damped_slowly_comes_to_rest(arm, rate):
    robot = Robot(arm, rate)
    robot.run(3 * rate)
    assert np.ptp(robot.speeds[-500:]) < 1.0       # [rad/s] it hangs, and perhaps swings a little
    assert max(robot.speeds[-500:]) < 1.5


@pytest.mark.parametrize('pauses', [(1, 30), (1, 1, 31), (5, 45), (1,) * 7 + (40,),
                                    (1,) * 19 + (40,)])
def test_states_that_come_in_bursts_do_not_swing_an_arm_up(pauses):
    robot = Robot('crs_a465', 100, pauses=pauses)
    robot.run(round(3000 * len(pauses) / sum(pauses)))
    assert max(robot.speeds) < 12.0
    assert max(robot.speeds[-500:]) < 3.0


@pytest.mark.parametrize('silence', [False, True])
def test_a_single_late_state_takes_little_damping_away(silence):
    robot = Robot('crs_a465', 100)
    robot.run(50)
    before = np.array(robot.bridge.stable_damping(robot.bridge.reading.position))
    robot.now += 45 * 10**6
    if silence:
        robot.bridge.silence()
        robot.now += 10**10
    robot.run(1)
    after = np.array(robot.bridge.stable_damping(robot.bridge.reading.position))
    assert (after > (0.95 if silence else 0.6) * before).all()


@pytest.mark.parametrize('rate', [30, 100, 500])
@pytest.mark.parametrize('arm', ['laas4', 'seven', 'crs_a465'])
def test_no_pose_swings_up_with_an_effort_that_is_a_state_late(arm, rate):
    """Eigenvalues of v(k+1) = v(k) - T M^-1 D v(k-1), friction left out."""
    robot = Robot(arm, rate)
    model, T = robot.model, 1e-3 * robot.period
    n, wanted = model.n, np.array(guard_limits(model).damping)
    lower, upper = model.position_limits
    rng = np.random.default_rng(1)
    for _ in range(50):
        q = rng.uniform(lower, upper)
        D = np.array(robot.bridge.stable_damping(q))
        M = model.mass_matrix(q) + np.diag(Drivetrain(model).rotor)
        loop = np.block([[np.eye(n), -T * np.linalg.solve(M, np.diag(D))],
                         [np.eye(n), np.zeros((n, n))]])
        modes = np.linalg.eigvals(loop)
        assert np.abs(modes).max() < 1.0
        swinging = np.abs(modes[np.abs(modes.imag) > 1e-9])
        assert swinging.max(initial=0.0) < 0.9
        assert (wanted >= D).all()
        assert (D > 0.0).all()
    if rate == 500:
        np.testing.assert_allclose(D, wanted)      # fast enough: nothing is taken away
