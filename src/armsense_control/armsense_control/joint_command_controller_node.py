"""`joint_command_controller`: lets ros2_control's controllers move the arm.

Their topic-based hardware reads `hardware/joint_states` and writes `hardware/joint_commands`; here
the positions become motor commands. A collision or a fault holds the arm until `~/resume`.
"""

from __future__ import annotations

from dataclasses import dataclass
import sys
from typing import Any

from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from armsense.control.command_follower import CommandFollower
from armsense.control.config import ControllerConfig
from armsense.errors import ArmsenseError
from armsense.schema import quantity
from armsense.types import ArmState, Command
from armsense_control.arm_stream import ArmStream, no_torque
from armsense_control.controller_parameters import ControllerParameters
from armsense_node.lifecycle import LoopNode
from armsense_node.loop import (
    DirectSubscription,
    ReactiveLoop,
    run_node,
    stream_qos,
)
from armsense_node.parameters import declare


@dataclass(frozen=True, kw_only=True)
class Settings(ControllerParameters):
    """Parameters."""

    law: str = quantity('', text='law that follows the positions; empty: that of the gains file')
    joint_states: str = quantity('hardware/joint_states',
                                 text='topic that the hardware plugin reads')
    joint_commands: str = quantity('hardware/joint_commands', text='topic that it writes')


class JointCommandControllerNode(LoopNode):
    """Shell around `CommandFollower`."""

    def __init__(self) -> None:
        super().__init__('joint_command_controller')
        self._settings = declare(self, Settings)
        self.create_service(Trigger, '~/resume', self._resume)
        if self._settings.autostart:
            self.autostart()

    def configure(self) -> None:
        settings = self._settings
        model = settings.load()
        config = ControllerConfig.of(model, settings.controllers or None)
        self._follower = CommandFollower(model, config.make(settings.law or config.law, model))
        self._arm = ArmStream(self, model, settings)
        self.answers = self._arm.commands
        self._names = list(model.joint_names)
        self._complaint = self._fault = self._lasting = ''
        self._joint_states = self.create_publisher(JointState, settings.joint_states, stream_qos())
        self._joint_commands = DirectSubscription(self, JointState, settings.joint_commands,
                                                  stream_qos())

    def make_loop(self) -> ReactiveLoop:
        return ReactiveLoop(self._arm.states, self._step)

    def _step(self, message: Any) -> None:
        state, _, collision, dt, self._lasting = self._arm.take(message)
        if collision is not None:
            self.get_logger().warning(f'collision at {collision.link}: held until ~/resume')
        for sent in self._joint_commands.drain():
            self._take(sent)
        if message.enabled:
            command = self._follower.step(state, collision is not None, dt)
            self._tell_fault()
        else:
            self._follower.rest()
            command = no_torque(state)
        self._publish(command, state, message)

    def _take(self, sent: JointState) -> None:
        complaint = ''
        try:
            self._follower.send(sent.name, sent.position)
        except ArmsenseError as error:
            complaint = str(error)
        if complaint and complaint != self._complaint:
            self.get_logger().error(complaint)
        self._complaint = complaint

    def _tell_fault(self) -> None:
        fault = self._follower.fault
        if fault and fault != self._fault:
            self.get_logger().error(f'{fault}: braked, then held until ~/resume')
        self._fault = fault

    def _publish(self, command: Command, state: ArmState, message: Any) -> None:
        self._arm.publish(command, message)
        joints = JointState(name=self._names, position=state.q.tolist(),
                            velocity=state.dq.tolist(), effort=state.tau.tolist())
        joints.header.stamp.sec, joints.header.stamp.nanosec = divmod(message.stamp_ns, 10**9)
        self._joint_states.publish(joints)

    def _resume(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._lasting:
            response.success, response.message = False, f'{self._lasting}: still held'
            return response
        self._follower.resume()
        response.success, response.message = True, 'following again'
        return response


def main() -> int:
    return run_node(JointCommandControllerNode)


if __name__ == '__main__':
    sys.exit(main())
