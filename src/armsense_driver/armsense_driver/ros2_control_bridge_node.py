"""`ros2_control_bridge`: the arm's topics on top of a robot that ros2_control runs.

Reads `joint_states` with efforts, publishes `motor_states`; takes `motor_commands`, publishes
efforts for a forwarding controller. Controllers and observers cannot tell it from `motor_board`.
Passive, it only reads: the robot moves by its own driver, and the observer watches.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from armsense_core.errors import ArmsenseError
from armsense_core.model import ArmModel
from armsense_driver.arm_driver import Mode
from armsense_driver.arm_limits import guard_limits
from armsense_driver.effort_bridge import EffortBridge, NO_STATES
from armsense_driver.faults import Fault, FaultKind
from armsense_driver.joint_map import JointCommand, Reading
from armsense_driver.lifecycle import LoopNode
from armsense_driver.loop import (
    DirectSubscription,
    event_qos,
    latched_qos,
    ReactiveLoop,
    run_node,
    stream_qos,
    StreamPublisher,
    StreamSubscription,
)
from armsense_driver.parameters import declare, Parameter
from armsense_msgs.msg import Collision, DriverMode, MotorCommands, MotorStates

LAST_WORDS = Duration(seconds=0.5)   # longest wait until they are heard

PARAMETERS = (
    Parameter('arm', 'laas4', 'arm by name or path of its yaml file'),
    Parameter('model', '', 'identified model.yaml; empty: the arm file alone'),
    Parameter('hardware', 'ros2_control', 'who runs the robot',
              choices=('ros2_control', 'gazebo')),
    Parameter('joint_states', 'joint_states', 'topic with position, velocity and effort'),
    Parameter('efforts', 'effort_controller/commands',
              'topic of the effort forwarding controller'),
    Parameter('passive', False, 'only watch: no effort is ever sent'),
    Parameter('autostart', True, 'configure and activate at once'),
    Parameter('enable_on_start', False, 'enable once joint states arrive'),
    Parameter('silence', 0.05, '[s] without joint states before the safe state', low=0.005,
              high=1.0),
)


class Ros2ControlBridgeNode(LoopNode):
    """Shell around `EffortBridge`."""

    def __init__(self) -> None:
        super().__init__('ros2_control_bridge')
        self._settings = declare(self, PARAMETERS)
        for name in ('enable', 'disable', 'clear_fault', 'emergency_stop'):
            self.create_service(Trigger, f'~/{name}', self._service(name))
        self._mode = self.create_publisher(DriverMode, '~/mode', latched_qos())
        if self._settings.autostart:
            self.autostart()

    def configure(self) -> None:
        settings = self._settings
        model = ArmModel.load(settings.arm, settings.model or None)
        assert model.config is not None
        self._bridge = EffortBridge(model.config, guard_limits(model))
        self._published: Any = None
        self._wants_enable = settings.enable_on_start
        self._reported = ''
        self._heard = 0.0          # [s] monotonic, when the robot last told of all its joints
        self._limp = True          # what was sent last is zero, or nothing was
        n = model.n
        self._states = StreamPublisher(self, MotorStates, 'motor_states', n,
                                       {'joint_position': 0, 'strain': 0}, 'base_link')
        self._commands = StreamSubscription(self, MotorCommands, 'motor_commands', n)
        self._collisions = DirectSubscription(self, Collision, 'collision', event_qos())
        self._joint_states = DirectSubscription(self, JointState, settings.joint_states,
                                                stream_qos())
        self._passive = settings.passive
        if not self._passive:
            self._efforts = self.create_publisher(Float64MultiArray, settings.efforts, 1)

    def make_loop(self) -> ReactiveLoop:
        return ReactiveLoop(self._joint_states, self._step, timeout=self._settings.silence,
                            on_silence=self._silence)

    def close(self) -> None:
        if self.loop is not None:
            self.deactivate()

    def deactivate(self) -> None:
        """Last words: a forwarding controller keeps the last effort for ever."""
        if self._passive:
            return
        self._bridge.disable()
        self._let_go()
        self._publish_mode(0)
        for publisher in (self._efforts, self._mode):
            publisher.wait_for_all_acked(LAST_WORDS)

    def _step(self, message: JointState) -> None:
        bridge = self._bridge
        for collision in self._collisions.drain():
            bridge.report_collision(collision.seq)
        command = self._commands.take_latest()
        if command is not None:
            bridge.give(JointCommand(command.position, command.velocity, command.torque,
                                     command.kp, command.kd, command.ki),
                        command.seq, command.collision_seq)
        take = bridge.watch if self._passive else bridge.read
        try:
            reading = take(message.name, message.position, message.velocity, message.effort)
        except ArmsenseError as error:
            self._complain(str(error))
            return
        self._heard = time.monotonic()
        if self._wants_enable and bridge.mode == Mode.DISABLED:
            self._wants_enable = False
            bridge.enable()
        if self._commands.publishers_take_turns and bridge.mode == Mode.ENABLED:
            bridge.fail(Fault(FaultKind.TWO_CONTROLLERS))
        stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        self._publish(reading, stamp)

    def _complain(self, lack: str) -> None:
        """Joint states of others, such as a gripper's, do not end the silence of the robot."""
        if lack != self._reported:
            self._reported = lack
            self.get_logger().error(lack)
        if time.monotonic() - self._heard > self._settings.silence:
            self._silence(lack)

    def _silence(self, lack: str = NO_STATES) -> None:
        self._bridge.silence(lack)
        if not self._passive:
            self._let_go()
            self._publish_mode(0)

    def _let_go(self) -> None:
        """Zero efforts, unless that is what the robot has."""
        if self._limp:
            return
        self._limp = True
        self._efforts.publish(Float64MultiArray(data=[0.0] * len(self._bridge.names)))
        self.get_logger().warning(
            'zero efforts sent: without gravity compensation or brakes of its own the robot sinks')

    def _publish(self, reading: Reading, stamp_ns: int) -> None:
        message = self._states.message
        message.seq, message.stamp_ns = self._bridge.seq, stamp_ns
        message.position, message.velocity = reading.position, reading.velocity
        message.current, message.torque = reading.current, reading.torque
        message.power = reading.power
        message.enabled = self._passive or self._bridge.mode == Mode.ENABLED
        self._states.publish()
        if not self._passive:
            efforts = self._bridge.efforts(reading)
            self._limp = not any(efforts)
            self._efforts.publish(Float64MultiArray(data=efforts))
            self._publish_mode(stamp_ns)

    def _publish_mode(self, stamp_ns: int) -> None:
        now = (self._bridge.mode, self._bridge.fault)
        if now == self._published:
            return
        self._published = now
        fault = self._bridge.fault
        message = DriverMode(mode=int(self._bridge.mode), fault=fault.name if fault else '',
                             explanation=fault.explanation if fault else '')
        message.stamp.sec, message.stamp.nanosec = divmod(stamp_ns, 10**9)
        self._mode.publish(message)
        if fault is not None:
            self.get_logger().error(f'{self._bridge.mode.name}: {fault.name}: {fault.explanation}')
        else:
            self.get_logger().info(self._bridge.mode.name)

    def _service(self, name: str) -> Any:
        def serve(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            if self._passive:
                response.message = 'this bridge only watches; the robot has a driver of its own'
            else:
                response.success, response.message = getattr(self._bridge, name)()
            return response
        return serve


def main() -> int:
    return run_node(Ros2ControlBridgeNode)


if __name__ == '__main__':
    sys.exit(main())
