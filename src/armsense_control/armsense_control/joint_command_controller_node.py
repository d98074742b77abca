"""`joint_command_controller`: lets ros2_control's controllers move the arm.

Their topic-based hardware reads `hardware/joint_states` and writes `hardware/joint_commands`; here
the positions become motor commands. A collision holds the arm until `~/resume`.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from armsense_control.collision_inbox import CollisionInbox
from armsense_control.command_stream import CommandStream
from armsense_core.control.command_follower import CommandFollower
from armsense_core.control.config import ControllerConfig
from armsense_core.control.types import ArmState, Command
from armsense_core.errors import ArmsenseError
from armsense_core.model import ArmModel
from armsense_core.state_estimator import StateEstimator
from armsense_driver.lifecycle import LoopNode
from armsense_driver.lockstep import lockstep_qos
from armsense_driver.loop import (
    DirectSubscription,
    ReactiveLoop,
    run_node,
    stream_qos,
    StreamSubscription,
)
from armsense_driver.parameters import declare, Parameter
from armsense_msgs.msg import MotorStates

PARAMETERS = (
    Parameter('arm', 'laas4', 'arm by name or path of its yaml file'),
    Parameter('model', '', 'identified model.yaml; empty: the arm file alone'),
    Parameter('controllers', '', 'yaml file of gains; empty: config/controllers.yaml'),
    Parameter('law', '', 'law that follows the positions; empty: that of the gains file'),
    Parameter('joint_states', 'hardware/joint_states', 'topic that the hardware plugin reads'),
    Parameter('joint_commands', 'hardware/joint_commands', 'topic that it writes'),
    Parameter('autostart', True, 'configure and activate at once'),
    Parameter('lockstep', False, 'virtual time: answer every state with the residual before it'),
    Parameter('await_residual', False, 'lock-step: a collision observer runs'),
    Parameter('await_base', False, 'lock-step: base_reaction runs'),
)


class JointCommandControllerNode(LoopNode):
    """Shell around `CommandFollower`."""

    def __init__(self) -> None:
        super().__init__('joint_command_controller')
        self._settings = declare(self, PARAMETERS)
        self.create_service(Trigger, '~/resume', self._resume)
        if self._settings.autostart:
            self.autostart()

    def configure(self) -> None:
        settings = self._settings
        model = ArmModel.load(settings.arm, settings.model or None)
        assert model.config is not None
        config = ControllerConfig.of(model, settings.controllers or None)
        self._follower = CommandFollower(config.make(settings.law or config.law, model),
                                         model.joint_names)
        self._estimator = StateEstimator(model.config)
        self._names = list(model.joint_names)
        self._last_seq = self._last_stamp = self._collision_seq = 0
        self._complaint = ''
        qos = lockstep_qos() if settings.lockstep else stream_qos()
        self._states = StreamSubscription(self, MotorStates, 'motor_states', model.n,
                                          optional=('joint_position', 'strain'), qos=qos)
        self._motor_commands = CommandStream(self, model.n, qos)
        self._inbox = CollisionInbox(self, model.n, settings.lockstep and settings.await_residual,
                                     settings.lockstep and settings.await_base)
        self._joint_states = self.create_publisher(JointState, settings.joint_states, stream_qos())
        self._joint_commands = DirectSubscription(self, JointState, settings.joint_commands,
                                                  stream_qos())

    def make_loop(self) -> ReactiveLoop:
        return ReactiveLoop(self._states, self._step)

    def _step(self, message: Any) -> None:
        first = not self._last_seq
        dt = 0.001 if first else (message.stamp_ns - self._last_stamp) * 1e-9
        self._last_seq, self._last_stamp = message.seq, message.stamp_ns
        state = self._estimator.step(message.position, message.torque, message.joint_position,
                                     message.strain, dt).arm
        _, collision = self._inbox.take(0 if first else message.seq - 1)
        if collision is not None:
            self._collision_seq = collision.seq
            self.get_logger().warning(f'collision at {collision.link}: held until ~/resume')
        for sent in self._joint_commands.drain():
            self._take(sent)
        if message.enabled:
            command = self._follower.step(state, collision is not None, dt)
        else:
            self._follower.rest()
            zero = np.zeros(len(self._names))
            command = Command(state.theta, zero, zero, zero, zero, zero)
        self._publish(command, state, message)

    def _take(self, sent: JointState) -> None:
        complaint = ''
        try:
            self._follower.send(sent.name, sent.position, sent.velocity)
        except ArmsenseError as error:
            complaint = str(error)
        if complaint and complaint != self._complaint:
            self.get_logger().error(complaint)
        self._complaint = complaint

    def _publish(self, command: Command, state: ArmState, message: Any) -> None:
        self._motor_commands.publish(command, message, self._collision_seq)
        joints = JointState(name=self._names, position=state.q.tolist(),
                            velocity=state.dq.tolist(), effort=state.tau.tolist())
        joints.header.stamp.sec, joints.header.stamp.nanosec = divmod(message.stamp_ns, 10**9)
        self._joint_states.publish(joints)

    def _resume(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._follower.resume()
        response.success, response.message = True, 'following again'
        return response


def main() -> int:
    return run_node(JointCommandControllerNode)


if __name__ == '__main__':
    sys.exit(main())
