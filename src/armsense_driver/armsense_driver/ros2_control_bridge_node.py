"""`ros2_control_bridge`: the arm's topics on top of a robot that ros2_control runs.

Reads `joint_states` with efforts, publishes `motor_states`; takes `motor_commands`, publishes
efforts for a forwarding controller. Controllers and observers cannot tell it from `motor_board`.
Passive, it only reads: the robot moves by its own driver, and the observer watches.
"""

from __future__ import annotations

from dataclasses import dataclass
import sys
import time

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from armsense.boards.arbiter import Answer, ArbiterSettings
from armsense.boards.command_guard import guard_limits
from armsense.boards.effort_bridge import EffortBridge, NO_STATES
from armsense.boards.mode import Mode
from armsense.errors import ArmsenseError
from armsense.schema import part, quantity
from armsense_driver.driver_node import DriverNode, DriverParameters, LAST_WORDS
from armsense_node.health import Health
from armsense_node.loop import DirectSubscription, ReactiveLoop, run_node, stream_qos


@dataclass(frozen=True, kw_only=True)
class Settings(DriverParameters):
    """Parameters."""

    hardware: str = quantity('ros2_control', choices=('ros2_control', 'gazebo', 'dart'),
                             text='who runs the robot')
    joint_states: str = quantity('joint_states', text='topic with position, velocity and effort')
    efforts: str = quantity('effort_controller/commands',
                            text='topic of the effort forwarding controller')
    passive: bool = quantity(False, text='only watch: no effort is ever sent')
    silence: float = quantity(0.05, unit='s', low=0.005, high=1,
                              text='without joint states before the safe state')


class Ros2ControlBridgeNode(DriverNode[EffortBridge]):
    """Shell around `EffortBridge`."""

    _settings: Settings

    def __init__(self) -> None:
        super().__init__('ros2_control_bridge', Settings)

    def configure(self) -> None:
        settings = self._settings
        model = settings.load()
        driver = EffortBridge(model, guard_limits(model), part(
            ArbiterSettings, settings, period=1.0 / model.config.rate), clock=time.monotonic_ns,
            trust_efforts=settings.passive or settings.hardware == 'ros2_control')
        self._reported = ''
        self._stamp = 0            # [ns] of the newest joint states
        self._heard = 0.0          # [s] monotonic, when the robot last told of all its joints
        self._limp = True          # what was sent last is zero, or nothing was
        self._passive = settings.passive
        self._take_charge(driver, model.n, {'joint_position': 0, 'strain': 0}, stream_qos())
        self._joint_states = DirectSubscription(self, JointState, settings.joint_states,
                                                stream_qos())
        if not self._passive:
            self._efforts = self.create_publisher(Float64MultiArray, settings.efforts, 1)

    def make_loop(self) -> ReactiveLoop:
        self._take_up()
        return ReactiveLoop(self._joint_states, self._step, timeout=self._settings.silence,
                            on_silence=self._silence,
                            may_end=None if self._passive else self._may_end)

    # -- the end -----------------------------------------------------------------------------

    def deactivate(self) -> None:
        if not self._passive:
            super().deactivate()

    def _last_words(self) -> None:
        """A forwarding controller keeps the last effort for ever."""
        self._let_go()
        self._efforts.wait_for_all_acked(LAST_WORDS)

    # -- the other nodes of its process ------------------------------------------------------

    def stand_in(self, name: str, seconds: float) -> None:
        """Without new joint states there is no braking: as where the robot falls silent."""
        super().stand_in(name, seconds)
        if not self._passive:
            with self._lock:
                self._let_go()

    # -- the loop ----------------------------------------------------------------------------

    def _step(self, message: JointState) -> None:
        driver = self.driver
        self._stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        with self._lock:
            self._take_newest_command()
            self._take_requests()
            take = driver.watch if self._passive else driver.read
            try:
                reading = take(message.name, message.position, message.velocity, message.effort,
                               self._stamp)
            except ArmsenseError as error:
                self._complain(str(error))
                return
            self._heard = time.monotonic()
            self._publish_state(reading, self._passive or driver.mode == Mode.ENABLED)
            if not self._passive:
                efforts = driver.efforts(reading)
                self._limp = not any(efforts)
                self._efforts.publish(Float64MultiArray(data=efforts))
                self._publish_mode()

    def _complain(self, lack: str) -> None:
        """Joint states of others, such as a gripper's, do not end the silence of the robot."""
        if lack != self._reported:
            self._reported = lack
            self.get_logger().error(lack)
        if time.monotonic() - self._heard > self._settings.silence:
            self._fall_silent(lack)

    def _silence(self) -> None:
        with self._lock:
            self._fall_silent(NO_STATES)

    def _fall_silent(self, lack: str) -> None:
        self.driver.silence(lack)
        if not self._passive:
            self._let_go()
            self._publish_mode()

    def _let_go(self) -> None:
        """Zero efforts, unless that is what the robot has."""
        if self._limp:
            return
        self._limp = True
        self.driver.sent = [0.0] * len(self.driver.names)
        self._efforts.publish(Float64MultiArray(data=self.driver.sent))
        self.get_logger().warning(
            'zero efforts sent: without gravity compensation or brakes of its own the robot sinks')

    def _stamp_ns(self) -> int:
        return self._stamp or time.time_ns()

    # -- services and health -------------------------------------------------------------------

    def _request(self, name: str) -> Answer:
        if self._driver is not None and self._passive:
            return Answer(False, 'this bridge only watches; the robot has a driver of its own')
        return super()._request(name)

    def health(self) -> list[Health]:
        return [] if self._passive else super().health()


def main() -> int:
    return run_node(Ros2ControlBridgeNode)


if __name__ == '__main__':
    sys.exit(main())
