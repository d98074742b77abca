"""A controller with a simple arm behind it, for tests of goals and reactions."""

from dataclasses import replace

from control_helpers import RigidArm
import numpy as np

from armsense.control import ArmState, board_torque
from armsense.control.config import ControllerConfig
from armsense.control.motion_controller import MotionController
from armsense.model import Arm
from armsense.trajectory import Limits, QuinticSpline
from armsense.types import Collision

MODEL = Arm.load('laas4')


LIMITS = Limits.of(MODEL)


HOME = np.array(MODEL.config.home)


GOAL = HOME + np.array([0.5, 0.3, -0.4, 0.3])


HIT = Collision('joint1', 'link3')


DT = 1e-3


NONE = np.zeros(4)


PUSH = np.array([-2.0, 0.0, 0.0, 0.0])


class Loop:
    """Controller and arm, cycle by cycle."""

    def __init__(self, law='computed_torque', q=HOME):
        self.controller = MotionController(MODEL, law=law)
        self.arm = RigidArm(MODEL, np.array(q, float))
        self.torques = []
        self.run(DT)

    def run(self, seconds, residual=NONE, hit=None, until=lambda: False, external=0.0, dt=DT):
        for _ in range(max(1, round(seconds / dt))):
            command = self.controller.step(self.arm.state, residual, hit, dt)
            hit = None
            self.torques.append(board_torque(command, self.arm.state))
            self.arm.step(command, dt, external)
            if until():
                break
        return self.controller.status

    @property
    def q(self):
        return self.arm.state.q


class IdealLoop:
    """Controller of an arm that is always where it is led, in cycles of 5 ms."""

    def __init__(self, law='computed_torque', **options):
        config = ControllerConfig.of(MODEL)
        self.controller = MotionController(MODEL, replace(
            config, reaction=replace(config.reaction, **options)), law)
        self.q, self.log, self.command = HOME, [], None
        self.run(0.0)

    def run(self, seconds, residual=NONE, hit=None, until=lambda: False, led=False, lasting=''):
        for _ in range(max(1, round(seconds / 5e-3))):
            self.command = self.controller.step(ArmState.rigid(self.q, NONE), residual, hit, 5e-3,
                                                lasting)
            hit = None
            if not led:
                self.q = self.controller.reference.q
            self.log.append(self.q)
            if until():
                break
        return self.controller.status

    def run_to(self, *phases, residual=NONE):
        self.run(20.0, residual, until=lambda: self.controller.phase in phases)
        assert self.controller.phase in phases

    def speeds(self):
        """Of the arm over the logged cycles [rad/s], (N, n)."""
        return np.abs(np.diff(self.log, axis=0)) / 5e-3


def path(duration=1.2, goal=GOAL):
    return QuinticSpline([0.0, duration], [HOME, goal], np.zeros((2, 4)), np.zeros((2, 4)))


LASTS = 'contact lasts on joint2, for 3.2 s now'
