"""Switching laws and changing payloads on simulated arms."""

import dataclasses
import itertools

import numpy as np
import pytest

from armsense.control import ArmState, board_torque
from armsense.control.config import ControllerConfig
from armsense.control.goal import GoalRefused
from armsense.control.motion_controller import MotionController
from armsense.model import Arm
from armsense.sim import make_plant
from armsense.sim.closed_loop import ClosedLoop
from armsense.trajectory import Limits, point_to_point

pytestmark = pytest.mark.slow

DT = 1e-3


def pairs_in_a_row(names):
    """A walk through the names in which every ordered pair follows each other (Hierholzer)."""
    left = {a: [b for b in names if b != a] for a in names}
    stack, walk = [names[0]], []
    while stack:
        if left[stack[-1]]:
            stack.append(left[stack[-1]].pop())
        else:
            walk.append(stack.pop())
    return walk[::-1]


def test_the_walk_has_every_pair():
    walk = pairs_in_a_row(list('abcd'))
    assert sorted(itertools.pairwise(walk)) == sorted(itertools.permutations('abcd', 2))


def smooth(config):
    """The arm without what makes torque jump by itself: backlash and dry friction."""
    joints = {name: dataclasses.replace(joint, backlash=0.0, friction=dataclasses.replace(
        joint.friction, coulomb=0.0)) for name, joint in config.joints.items()}
    return dataclasses.replace(config, joints=joints)


def state_of(plant):
    s = plant.state
    return ArmState(s.joint_position.copy(), s.joint_velocity.copy(), s.motor_position.copy(),
                    s.motor_velocity.copy(), np.zeros(len(s.strain)), s.strain.copy())


class Bench:
    """A controller on a plant whose state it sees exactly, and the torque steps that it makes."""

    def __init__(self, arm, law):
        model = Arm.load(smooth(Arm.load(arm).config))
        self.limits, self.plant = Limits.of(model), make_plant(model.config)
        config = dataclasses.replace(ControllerConfig.of(model), floor=None,
                                     path_tolerance=(0.0,))
        self.controller = MotionController(model, config, law)
        self.last = None
        self.run(1)
        home = np.array(model.config.home)
        self.controller.follow(point_to_point(home, home + 0.5, self.limits, model, 0.2))

    def run(self, cycles):
        """Largest change of a torque from one cycle to the next, per torque limit."""
        worst = 0.0
        for _ in range(cycles):
            state = state_of(self.plant)
            command = self.controller.step(state, None, None, DT)
            torque = board_torque(command, state)
            if self.last is not None:
                worst = max(worst, float(np.max(np.abs(torque - self.last) / self.limits.torque)))
            self.last = torque
            for _ in range(2):   # boards are faster than the host
                self.plant.step(board_torque(command, state_of(self.plant)), DT / 2)
        return worst


@pytest.mark.parametrize(('arm', 'cycles'), [('laas4', 25), ('biorob', 25), ('tudor', 60)])
def test_switching_between_any_two_laws_in_motion_makes_no_torque_step(arm, cycles):
    laws = [law for law in ControllerConfig.of(Arm.load(arm)).laws if law != 'float']
    walk, worst = pairs_in_a_row(laws), {}
    bench = Bench(arm, walk[0])
    bench.run(100)
    for first, second in itertools.pairwise(walk):   # faster than a fade: fades overlap
        bench.controller.switch(second)
        worst[first, second] = bench.run(cycles)
    assert bench.controller.law_name == walk[-1]
    assert {pair: step for pair, step in worst.items() if step > 0.05} == {}


@pytest.mark.parametrize('arm', ['laas4', 'biorob', 'tudor'])
def test_a_moving_arm_starts_and_ends_floating_without_a_torque_step(arm):
    worst = {}
    for law in ControllerConfig.of(Arm.load(arm)).laws:
        if law != 'float':
            bench = Bench(arm, law)
            bench.run(250)
            bench.controller.switch('float')
            worst[law, 'float'] = bench.run(60)
            bench.controller.switch(law)
            worst['float', law] = bench.run(60)
    assert {pair: step for pair, step in worst.items() if step > 0.05} == {}


def test_a_payload_is_taken_over_without_a_jump_and_carried():
    model = Arm.load('laas4')
    limits = Limits.of(model)
    loop = ClosedLoop(model, controller=MotionController(model, law='pd_gravity'))
    loop.run(0.5)
    loop.plant.set_payload(0.3)
    loop.run(1.0)
    goal = loop.controller.reference.q
    sagged = np.abs(loop.plant.state.joint_position - goal).max()
    torques = []

    def note(cycle):
        torques.append(board_torque(cycle.command, cycle.state))
    loop.run(0.05, note)
    loop.controller.set_payload(0.3)
    loop.run(1.5, note)
    assert (np.abs(np.diff(torques, axis=0)) <= 0.05 * limits.torque).all()
    lifted = np.abs(loop.plant.state.joint_position - goal).max()
    assert sagged > 3e-3
    assert lifted < 0.6 * sagged   # dry friction keeps a part


def test_a_hand_leads_the_floating_arm_and_the_next_law_stays_there():
    model = Arm.load('laas4')
    loop = ClosedLoop(model)
    loop.run(0.3)
    loop.controller.switch('float')
    loop.run(0.5)
    rested = loop.plant.state.joint_position.copy()
    np.testing.assert_allclose(rested, model.config.home, atol=0.01)   # carries itself
    loop.plant.apply_force(model.link_names[-1], [0.0, 0.0, 0.0], [0.0, 4.0, 0.0], 0.4)
    loop.run(0.8)
    led = loop.plant.state.joint_position.copy()
    assert np.abs(led - rested).max() > 0.1
    with pytest.raises(GoalRefused, match='hand'):
        loop.controller.home()
    loop.controller.switch('computed_torque')
    loop.run(0.8)
    np.testing.assert_allclose(loop.plant.state.joint_position, led, atol=0.1)
    assert loop.driver.fault is None
