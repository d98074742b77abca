"""The drift monitor on real topics: residuals in, a warning in the diagnostics out."""

import time
from types import SimpleNamespace

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState

from armsense.model import Arm
from armsense_identification.identification_server_node import DriftWatch
from armsense_msgs.msg import Residual
from armsense_node.qos import stream_qos

SETTINGS = SimpleNamespace(model='', drift_window=0.1, drift_factor=2.0)
STEP = 0.02   # [s] of the arm's clock per message
PATIENCE = 60.0


class SmallArm:
    """Publishes residuals of a moving arm and hears what is said about the model."""

    def __init__(self, context):
        self.node = rclpy.create_node('arm', context=context)
        self.residuals = self.node.create_publisher(Residual, 'residual', stream_qos())
        self.joints = self.node.create_publisher(JointState, 'joint_states', 1)
        self.told: list = []
        self.node.create_subscription(DiagnosticArray, 'diagnostics',
                                      lambda m: self.told.extend(m.status), 10)
        self.size, self.t = 0.05, 1.0
        self.rng = np.random.default_rng(1)
        self.node.create_timer(0.02, self.step)

    def step(self):
        self.t += STEP
        self.joints.publish(JointState(velocity=[1.0] * 4))
        message = Residual(filtered=(self.size * self.rng.standard_normal(4)).tolist(),
                           valid=True)
        message.header.stamp.sec = int(self.t)
        message.header.stamp.nanosec = round((self.t - int(self.t)) * 1e9)
        self.residuals.publish(message)

    def heard(self, text):
        return any(text in status.message for status in self.told)


def test_a_changed_arm_is_told_in_the_diagnostics():
    context = rclpy.Context()
    rclpy.init(context=context)
    arm = SmallArm(context)
    server = rclpy.create_node('identification_server', context=context)
    DriftWatch(server, Arm.load('laas4'), SETTINGS)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(arm.node)
    executor.add_node(server)

    def wait(text):
        deadline = time.monotonic() + PATIENCE
        while not arm.heard(text) and time.monotonic() < deadline:
            executor.spin_once(0.1)
        assert arm.heard(text), [status.message for status in arm.told]

    try:
        wait('watching the model')          # the first windows gave the baseline
        assert not arm.heard('no longer fits')
        arm.size = 1.0
        wait('the model no longer fits')
        status = next(s for s in arm.told if 'no longer fits' in s.message)
        assert status.level == b'\x01'
        assert status.name == 'identification_server: model fit'
    finally:
        executor.shutdown()
        context.try_shutdown()
