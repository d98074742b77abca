"""Laws at the tool against what their equations promise, on an integrator of our own."""

from control_helpers import RigidArm
import numpy as np
import pytest

from armsense.control import find_law, Reference
from armsense.control.config import ControllerConfig
from armsense.control.goal import GoalRefused
from armsense.control.motion_controller import MotionController
from armsense.control.task_space import pressed_force
from armsense.model import Arm
from armsense.schema import load
from armsense.task import Pose, TaskGoal
from armsense.types import ArmState, Press
from armsense.watch.wanted_contact import explained_torque, FRICTION

MODEL = Arm.load('laas4')
HOME = np.array(MODEL.config.home)
PLAIN = MODEL.replace(armature=[j.reflected_inertia for j in MODEL.config.joints.values()])
DT = 1e-3


def make(law, model=PLAIN, **changes):
    gains = {**ControllerConfig.of(MODEL).laws[law], 'friction': 0.0, **changes}
    return find_law(law)(model, load(find_law(law).Gains, gains, law))


def tool(q):
    return MODEL.frame_pose(q)[:3, 3]


def settle(law, arm, seconds=2.0, external=lambda q: 0.0, reference=HOME, felt=None):
    goal = Reference.at_rest(np.array(reference))
    for _ in range(round(seconds / DT)):
        if felt is not None:
            law.feel(felt(arm.state.q))
        arm.step(law.step(arm.state, goal, DT), DT, external(arm.state.q))


@pytest.mark.parametrize('law', ['task_pd', 'cartesian_impedance', 'force'])
@pytest.mark.parametrize('axis', [0, 1, 2])
def test_the_hand_feels_the_stiffness_that_was_asked_for(law, axis):
    made, arm = make(law, stiffness=[400.0]), RigidArm(PLAIN, HOME)
    force = 4.0 * np.eye(3)[axis]
    settle(made, arm, external=lambda q: MODEL.jacobian(q)[:3].T @ force)
    np.testing.assert_allclose(tool(arm.state.q) - tool(HOME), force / 400.0, atol=2e-4)


@pytest.mark.parametrize('ratio', [0.5, 1.0])
def test_each_mode_of_the_tool_has_the_damping_ratio_asked_for(ratio):
    """s^2 Lambda + s D + K = 0: every pair of roots has this ratio."""
    law = make('cartesian_impedance', stiffness=[300.0, 500.0, 800.0], damping=[ratio])
    for q in (HOME, HOME + [0.4, -0.3, 0.5, 0.3]):
        J = MODEL.jacobian(q)[:3]
        D = law._damping(ArmState.rigid(q, np.zeros(4)), J)
        mobility = J @ np.linalg.solve(PLAIN.mass_matrix(q), J.T) + 1e-3 * np.eye(3)
        A = np.block([[np.zeros((3, 3)), np.eye(3)],
                      [-mobility @ np.diag([300.0, 500.0, 800.0]), -mobility @ D]])
        roots = np.linalg.eigvals(A)
        np.testing.assert_allclose(-roots.real / np.abs(roots), ratio, atol=1e-3)


def test_free_motion_is_led_without_moving_the_tool():
    law = make('task_pd')
    state = ArmState.rigid(HOME + [0.02, 0.01, 0.1, -0.05], np.zeros(4))
    J = MODEL.jacobian(state.q)[:3]
    free = law._free(state, Reference.at_rest(HOME), J)
    assert np.abs(free).max() > 1e-3
    # No force at the tool does the same.
    np.testing.assert_allclose(J @ free, 0.0, atol=1e-6)


def test_the_force_law_ends_with_the_force_asked_for_on_a_spring():
    """A wall above the tool, 5 mm away; the observer is ideal."""
    law, arm = make('force'), RigidArm(PLAIN, HOME)
    wall, k = tool(HOME)[2] + 0.005, 3000.0
    up = np.array([0.0, 0.0, 1.0])

    def external(q):
        return MODEL.jacobian(q)[:3].T @ (-up * max(0.0, k * (tool(q)[2] - wall)))
    goal = Reference.at_rest(HOME)._replace(press=Press(up, 5.0, 10.0))
    highest = 0.0
    for _ in range(2000):
        law.feel(external(arm.state.q))
        arm.step(law.step(arm.state, goal, DT), DT, external(arm.state.q))
        highest = max(highest, k * (tool(arm.state.q)[2] - wall))
    assert k * (tool(arm.state.q)[2] - wall) == pytest.approx(5.0, abs=0.05)
    assert law.force == pytest.approx(5.0, abs=0.05)
    assert highest < 7.0
    settle(law, arm, 3.0, external, felt=external)      # the goal is over: back to the reference
    np.testing.assert_allclose(tool(arm.state.q), tool(HOME), atol=1e-3)


def test_without_a_measured_force_the_tool_stays():
    law, arm = make('force'), RigidArm(PLAIN, HOME)
    goal = Reference.at_rest(HOME)._replace(press=Press(np.array([0.0, 0.0, 1.0]), 5.0, 10.0))
    for _ in range(500):
        law.feel(None)
        arm.step(law.step(arm.state, goal, DT), DT)
    np.testing.assert_allclose(tool(arm.state.q), tool(HOME), atol=1e-4)


def test_a_pressed_force_is_that_on_the_tool():
    J, direction = MODEL.jacobian(HOME)[:3], np.array([0.6, 0.0, 0.8])
    assert pressed_force(MODEL, HOME, J.T @ (-7.0 * direction), direction) == pytest.approx(7.0)


def test_only_what_pressing_explains_is_taken_off():
    direction = np.array([0.0, 0.0, 1.0])
    press, scale = Press(direction, 5.0, 10.0), np.array([0.75, 0.95, 0.25, 0.22])
    J = MODEL.jacobian(HOME)[:3]

    def left(force):
        residual = J.T @ np.asarray(force, float)
        return np.abs(residual - explained_torque(MODEL, HOME, residual, press, scale)) / scale
    assert left([0.0, 0.0, -5.0]).max() < 1e-6                     # as asked
    assert left([0.0, FRICTION * 4.9, -5.0]).max() < 1e-6          # dragged along
    assert left([0.0, 0.0, -25.0]).max() > 1.0                     # too hard
    assert left([0.0, 0.0, 15.0]).max() > 1.0                      # pulled
    assert left([0.0, 25.0, -5.0]).max() > 1.0                     # held
    elsewhere = MODEL.point_jacobian(HOME, 'link2', [0.2, 0.0, 0.0]).T @ [0.0, 20.0, 0.0]
    residual = elsewhere + J.T @ [0.0, 0.0, -5.0]
    explained = explained_torque(MODEL, HOME, residual, press, scale)
    assert (np.abs(residual - explained) / scale).max() > 1.0


def test_the_disturbance_observer_learns_a_load_that_nobody_told():
    heavy = PLAIN.with_payload(0.3)
    rests = {}
    for name in ('disturbance_observer', 'computed_torque'):
        law, arm = make(name), RigidArm(heavy, HOME)
        law.reset(arm.state)
        settle(law, arm, 1.0)
        rests[name] = np.abs(arm.state.q - HOME).max()
    assert rests['computed_torque'] > 0.01
    assert rests['disturbance_observer'] < 1e-4
    expected = PLAIN.gravity_torque(HOME) - heavy.gravity_torque(HOME)
    law, arm = make('disturbance_observer'), RigidArm(heavy, HOME)
    law.reset(arm.state)
    settle(law, arm, 1.0)
    np.testing.assert_allclose(law._disturbance, expected, atol=0.02)
    before = law._disturbance.copy()
    law.halt(arm.state)                                             # it carries the arm
    settle(law, arm, 0.1)
    np.testing.assert_allclose(law._disturbance, before, atol=0.05)


def test_the_disturbance_is_bounded():
    law, arm = make('disturbance_observer', most=0.1), RigidArm(PLAIN, HOME)
    law.reset(arm.state)
    settle(law, arm, 0.5, external=lambda q: np.array([5.0, 0.0, 0.0, 0.0]))
    assert abs(law._disturbance[0]) <= 0.1 * 16.7 + 0.1


def test_pressing_needs_the_law_for_it():
    controller = MotionController(MODEL)
    controller.step(ArmState.rigid(HOME, np.zeros(4)), None, None, DT)
    with pytest.raises(GoalRefused, match='needs the law force'):
        controller.follow_task_path(TaskGoal(poses=[Pose.of(tool(HOME))]),
                                    press=Press(np.array([0.0, 0.0, 1.0]), 5.0, 10.0))
