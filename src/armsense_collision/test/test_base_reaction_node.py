"""The node as a process, fed with a simulated arm and its cells over DDS."""

from __future__ import annotations

import re
import signal
import time
from types import SimpleNamespace

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from node_process import call, finish, own_node, PATIENCE, start
import numpy as np
import pytest
from sensor_msgs.msg import Imu
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import MarkerArray
import yaml

from armsense.base.cell_layout import CellLayout
from armsense.model import Arm
from armsense.model.base_motion import BaseMotion
from armsense.sim import make_plant
from armsense.sim.sensors import CellErrors, SimulatedCells
from armsense_collision.base_reaction_node import BaseReactionNode
from armsense_msgs.msg import BaseResidual, Collision, LoadCells, MotorStates, Residual
from armsense_node.health import Level
from armsense_node.loop import (
    DirectSubscription,
    event_qos,
    latched_qos,
    stream_qos,
    StreamPublisher,
    StreamSubscription,
)

NODE = 'armsense_collision.base_reaction_node'
DT = 1e-3


class SmallArm:
    """laas4 at its home pose, held by its motors, publishing states and cells in lock-step."""

    def __init__(self, node):
        self.model = Arm.load('laas4')
        self.plant = make_plant('laas4')
        self.home = np.array(self.model.config.home)
        self.plant.reset(self.home)
        self.hold = self.plant.holding_torque
        self.cells = SimulatedCells(self.model.config.load_cells, 3, CellErrors(base_mass=0.3))
        self.states = StreamPublisher(node, MotorStates, 'motor_states', 4,
                                      {'joint_position': 0, 'strain': 0})
        self.forces = StreamPublisher(node, LoadCells, 'load_cells', 4)
        self.answers = StreamSubscription(node, BaseResidual, 'base/residual', 6)
        self.collisions = DirectSubscription(node, Collision, 'collision', event_qos())
        self.valid = [True] * 4
        self.seq = 0
        self.time = 0.0

    def await_node(self):
        end = time.monotonic() + PATIENCE
        while not (self.states.subscriber_count() and self.forces.subscriber_count()
                   and self.answers.publisher_count()):
            assert time.monotonic() < end
            time.sleep(0.02)

    def run(self, cycles):
        """The last answer."""
        answer = None
        for _ in range(cycles):
            state = self.plant.state
            q, dq = state.joint_position, state.joint_velocity
            tau = self.hold + 60.0 * (self.home - q) - 3.0 * dq
            force = self.cells.step(self.plant.base_wrench, DT)
            self.plant.step(tau, DT)
            answer = self._exchange(q, dq, force) or answer
        return answer

    def _exchange(self, q, dq, force):
        self.seq += 1
        self.time += DT
        for out in (self.forces.message, self.states.message):
            out.seq, out.stamp_ns = self.seq, round(self.time * 1e9)
        self.forces.message.force, self.forces.message.valid = force, self.valid
        out = self.states.message
        out.position, out.velocity, out.enabled = q, dq, True
        self.forces.publish()
        time.sleep(2e-4)         # the cells first: the node takes what is there
        self.states.publish()
        return self.answers.wait_for(self.seq, 5.0)


@pytest.mark.parametrize(('lasting', 'level', 'text'), [
    ([False, False, False], Level.OK, 'watching, 2 collisions so far'),
    ([True, True, False], Level.WARN,
     'watching for more: contact lasts on Fz, Mx, for 3.2 s now')])
def test_health_says_that_a_contact_lasts(lasting, level, text):
    result = SimpleNamespace(problem='', lasting=np.array(lasting), lasts_for=3.2)
    monitor = SimpleNamespace(failed_cells=(), layout=SimpleNamespace(names=('Fz', 'Mx', 'My')))
    health, = BaseReactionNode.health(SimpleNamespace(
        _result=result, monitor=monitor, _count=2, _check=None))
    assert (health.level, health.message) == (level, text)


@pytest.fixture(scope='module')
def tester():
    with own_node() as node:
        yield node


def _eventually(happens):
    end = time.monotonic() + PATIENCE
    while not happens():
        if time.monotonic() > end:
            return False
    return True


def test_rest_push_and_lost_cells(tester, tmp_path):
    file = tmp_path / 'thresholds.yaml'
    file.write_text('constant: [1.5, 0.6, 0.6]\n')
    process = start(NODE, 'realtime:=false', f'thresholds:={file}', 'rate_per_hour:=60.0',
                    'cell_timeout:=0.02')
    arm = SmallArm(tester)
    try:
        arm.await_node()
        quiet = arm.run(700)
        assert quiet.valid
        assert list(quiet.observed) == [False, False, True, True, True, False]
        assert np.abs(quiet.residual).max() < 0.3
        assert list(quiet.threshold[2:5]) == [1.5, 0.6, 0.6]
        weight = arm.model.masses.sum() * 9.81 + 0.3 * 9.81
        assert quiet.measured[2] == pytest.approx(-weight, abs=0.2)
        answer = call(tester, Trigger, 'base_reaction/detectable_force', Trigger.Request())
        assert answer.message.startswith('at the tool: ')
        # A push on the hand.
        arm.plant.apply_force('link4', [0.05, 0, 0], [0.0, 0.0, -5.0])
        pushed = arm.run(120)
        assert pushed.residual[2] == pytest.approx(-5.0, abs=0.6)
        collision = arm.collisions.wait(5.0)
        assert collision is not None
        assert (collision.source, collision.id) == ('base', 1)
        assert collision.joint in ('Fz', 'Mx', 'My')
        assert abs(collision.residual) > collision.threshold
        assert pushed.lasting[2]                    # and somebody still pushes
        assert 0.0 < pushed.lasts_for < 0.12
        assert not any(pushed.lasting[[0, 1, 5]])   # what is not felt does not last either
        arm.plant.release()
        released = arm.run(400)
        assert np.abs(released.residual).max() < 0.3
        assert (any(released.lasting), released.lasts_for) == (False, 0.0)
        # One cell less is enough; two less are not.
        arm.valid[2] = False
        assert arm.run(50).valid
        arm.valid[1] = False
        assert not arm.run(5).valid
        arm.valid = [True] * 4
        assert arm.run(1200).valid                 # until the push has swung out
        # The driver says that positions are wrong, and that they are right again.
        driver = tester.create_publisher(String, 'motor_board/lost_zero', latched_qos())
        driver.publish(String(data='a position reading jumped'))
        assert _eventually(lambda: not arm.run(5).valid)
        health = DirectSubscription(tester, DiagnosticArray, 'diagnostics', event_qos())
        assert _eventually(lambda: (told := health.wait(1.0)) is not None and any(
            'is not known: a position reading jumped' in status.message
            for status in told.status))
        health.destroy()
        driver.publish(String(data=''))
        assert _eventually(lambda: arm.run(5).valid)
        assert arm.run(400).valid                  # a rest that the cells can be zeroed in
        answer = call(tester, SetBool, 'base_reaction/learn_thresholds',
                      SetBool.Request(data=False))
        assert not answer.success
        assert '10 s of residuals' in answer.message
        answer = call(tester, Trigger, 'base_reaction/zero', Trigger.Request())
        assert answer.success, answer.message
    finally:
        _, errors, code = finish(process, signal.SIGINT)
    assert code == 0
    assert 'load cells 2, 3 are missing: Fz, Mx, My cannot be told' in errors
    assert 'Traceback' not in errors
    assert yaml.safe_load(file.read_text()) == {'constant': [1.5, 0.6, 0.6]}


def test_fusion_reads_the_file_of_the_collision_observer():
    _, errors, code = finish(start(NODE, 'fusion:=true', 'detection:=nowhere.yaml'))
    assert code != 0
    assert 'cannot read nowhere.yaml' in errors


def test_fused_contact_wrong_drive_and_markers(tester):
    """The tester is the joint observer: residuals of a push, then of a wrong drive."""
    arm = SmallArm(tester)
    residuals = StreamPublisher(tester, Residual, 'residual', 4)
    contacts = DirectSubscription(tester, Collision, 'contact', event_qos())
    health = DirectSubscription(tester, DiagnosticArray, 'diagnostics', event_qos())
    markers = DirectSubscription(tester, MarkerArray, 'markers', stream_qos())
    process = start(NODE, 'realtime:=false', 'fusion:=true')
    inside, force = np.array([0.05, 0.0, 0.0]), np.array([0.0, 6.0, -8.0])

    def run(cycles, tau, collision_seq):
        for _ in range(cycles):
            out = residuals.message
            out.seq, out.stamp_ns = arm.seq + 1, round((arm.time + DT) * 1e9)
            out.filtered, out.threshold, out.valid = tau, np.full(4, 0.5), True
            out.collision_seq = collision_seq
            residuals.publish()
            arm.run(1)
    try:
        arm.await_node()
        run(700, np.zeros(4), 0)
        arm.plant.apply_force('link4', inside, force)
        tau = arm.model.point_jacobian(arm.home, 'link4', inside).T @ force
        run(300, tau, arm.seq)
        contact = contacts.wait(5.0)
        assert (contact.source, contact.link, contact.id) == ('fusion', 'link4', 1)
        assert contact.force_observable
        np.testing.assert_allclose([contact.force.x, contact.force.y, contact.force.z], force,
                                   atol=1.5)
        arm.plant.release()
        run(600, np.zeros(4), arm.seq - 300)
        run(250, np.array([0.0, 3.0, 0.0, 0.0]), arm.seq)
        drawn = {marker.ns for marker in markers.wait(5.0).markers}
        assert drawn == {'load_cells', 'base_force', 'base_moment', 'detectable_force'}
        end, told = time.monotonic() + PATIENCE, ''
        while 'torque of joint2' not in told and time.monotonic() < end:
            message = health.wait(1.0)
            told += '' if message is None else ' '.join(s.message for s in message.status)
        assert re.search(r'the torque of joint2 is wrong by (2\.9|3) Nm: the base does not', told)
    finally:
        _, errors, code = finish(process, signal.SIGINT)
        for topic in (contacts, health, markers):
            topic.destroy()
    assert code == 0
    assert 'Traceback' not in errors


def test_moving_base_is_no_collision_and_its_wrench_is_told(tester):
    """A carrier that accelerates upwards and turns, as its inertial unit reports."""
    arm = SmallArm(tester)
    imu = tester.create_publisher(Imu, 'imu', stream_qos())
    wrenches = DirectSubscription(tester, WrenchStamped, 'base/predicted_wrench', stream_qos())
    zero, answer = np.zeros(4), None
    layout = CellLayout.of_config(arm.model.config.load_cells)
    process = start(NODE, 'realtime:=false', 'imu:=true')
    try:
        arm.await_node()
        end = time.monotonic() + PATIENCE
        while not imu.get_subscription_count() and time.monotonic() < end:
            time.sleep(0.02)
        for k in range(900):
            lift = 2.0 * np.sin(0.004 * k) if k > 500 else 0.0       # [m/s^2]
            motion = BaseMotion(np.array([0.0, 0.0, 9.81 + lift]), np.array([0.0, 0.0, 0.5]),
                                np.zeros(3))
            message = Imu()
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(
                round(arm.time * 1e9), 10**9)
            message.linear_acceleration.z = float(motion.specific_force[2])
            message.angular_velocity.z = 0.5
            imu.publish(message)
            wrench = arm.model.base_wrench(arm.home, zero, zero, motion)
            force = layout.spread @ layout.felt(wrench)
            answer = arm._exchange(arm.home, zero, force) or answer
            if k == 450:
                assert answer.valid
        assert np.abs(answer.residual).max() < 0.3
        told = wrenches.wait(5.0)
        assert told.wrench.force.z == pytest.approx(wrench[2], abs=0.1)
        assert abs(wrench[2] + 9.81 * arm.model.masses.sum()) > 1.0
        assert not list(arm.collisions.drain())
    finally:
        _, errors, code = finish(process, signal.SIGINT)
        wrenches.destroy()
    assert code == 0
    assert 'Traceback' not in errors
