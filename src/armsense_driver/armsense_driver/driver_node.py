"""What every node that drives an arm has: requests, mode, health, commands and collisions, an end.

`motor_board` and `ros2_control_bridge` add how states come and how decisions go out. Everything
that decides is in `Arbiter`, and every call of it is under one lock: services run in the
executor's thread, cycles in the loop's.
"""

from __future__ import annotations

from dataclasses import dataclass
import threading
import time
from typing import Any, Generic, TypeVar

from rclpy.duration import Duration
from rclpy.qos import QoSProfile
from std_msgs.msg import String
from std_srvs.srv import Trigger

from armsense.boards.arbiter import Answer, Arbiter, ArbiterSettings
from armsense.boards.joint_map import Reading
from armsense.boards.mode import Fault, FaultKind, Mode
from armsense.schema import quantity, same_as
from armsense.types import Command
from armsense_msgs.msg import Collision, DriverMode, MotorCommands, MotorStates
from armsense_node.health import Health, Level
from armsense_node.lifecycle import LoopNode
from armsense_node.loop import (
    DirectSubscription,
    event_qos,
    latched_qos,
    StreamPublisher,
    StreamSubscription,
)
from armsense_node.parameters import declare, LifecycleParameters, ModelParameters

LAST_WORDS = Duration(seconds=0.5)   # longest wait until they are heard
HANG = 1.0                           # [s] beyond brake_time, for boards that do not answer
LEVELS = {Mode.DAMPING: Level.ERROR, Mode.DISCONNECTED: Level.WARN}   # all others are well


@dataclass(frozen=True, kw_only=True)
class DriverParameters(LifecycleParameters, ModelParameters):
    """Of both drivers."""

    command_timeout: float = same_as(ArbiterSettings, 'command_timeout')
    command_age: float = same_as(ArbiterSettings, 'command_age')
    collision_answer: float = same_as(ArbiterSettings, 'collision_answer')
    brake_time: float = same_as(ArbiterSettings, 'brake_time')
    enable_on_start: bool = quantity(
        False, text='enable the motors once their states arrive, a controller speaks and those '
        'awaited are there, unless somebody stops or disables them before')


Driver = TypeVar('Driver', bound=Arbiter)


class DriverNode(LoopNode, Generic[Driver]):
    """Shell around an arbiter; subclasses make it in `configure` and step it in their loop."""

    _settings: DriverParameters

    def __init__(self, name: str, parameters: type[DriverParameters]) -> None:
        super().__init__(name)
        self._settings = declare(self, parameters)
        self._lock = threading.Lock()          # services against the loop
        self._driver: Driver | None = None
        self._end_by = 0.0                     # [s] monotonic, once the loop shall end
        self._mode_publisher = self.create_publisher(DriverMode, '~/mode', latched_qos())
        self._lost_zero = self.create_publisher(String, '~/lost_zero', latched_qos())
        for request in ('enable', 'disable', 'clear_fault', 'emergency_stop'):
            self.create_service(Trigger, f'~/{request}', self._service(request))
        if self._settings.autostart:
            self.autostart()

    @property
    def driver(self) -> Driver:
        """The arbiter of a configured node."""
        assert self._driver is not None
        return self._driver

    def _take_charge(self, driver: Driver, n: int, lengths: dict[str, int],
                     qos: QoSProfile) -> None:
        """Make the topics around an arbiter of `n` joints."""
        self._driver = driver
        driver.wants_enable = self._settings.enable_on_start
        self._published_mode: tuple[Mode, Fault | None, str] | None = None
        self._published_zero: str | None = None     # why positions are wrong
        self._states = StreamPublisher(self, MotorStates, 'motor_states', n, lengths, 'base_link',
                                       qos)
        self._commands = StreamSubscription(self, MotorCommands, 'motor_commands', n, qos=qos)
        self._collisions = DirectSubscription(self, Collision, 'collision', event_qos())

    # -- the end -----------------------------------------------------------------------------

    def _may_end(self) -> bool:
        """Asked by the loop, once it shall end: it goes on until the arm rests and is let go.

        So there is no pause in which the boards' watchdog would drop the arm.
        """
        with self._lock:
            self.driver.release()
            self._end_by = self._end_by or time.monotonic() + self._settings.brake_time + HANG
            return self.driver.released or time.monotonic() > self._end_by

    def close(self) -> None:
        if self._driver is not None:
            try:
                if self.loop is not None and not self._driver.released:
                    self.loop.finish()     # it has failed
            finally:
                self.deactivate()

    def deactivate(self) -> None:
        """After the loop, which has braked the arm: let the motors go."""
        with self._lock:
            self.driver.let_go()
            self._last_words()
            self._publish_mode()
        self._mode_publisher.wait_for_all_acked(LAST_WORDS)

    def _take_up(self) -> None:
        """Before the first cycle of a loop."""
        self._end_by = 0.0
        self.driver.take_up()

    def _last_words(self) -> None:
        """The motors carry no current any more."""

    # -- the other nodes of its process (`turns`) ------------------------------------------------

    @property
    def step_limit(self) -> float:
        """Longest step that another node may take [s]: as long as a command may be missing."""
        return self._settings.command_timeout

    @property
    def period(self) -> float:
        """Between two cycles [s]."""
        return self.driver.rules.period

    def blame_failure(self, name: str, error: Exception) -> None:
        """Brake: a node has failed."""
        self._blame(Fault(FaultKind.NODE_FAILED, f'{name}: {error}'))

    def blame_overrun(self, name: str, seconds: float) -> None:
        """Brake: a node takes too long."""
        if self.driver.mode in (Mode.STARTING, Mode.ENABLED):
            self._blame(Fault(FaultKind.NODE_OVERRUN, f'{name}: {1e3 * seconds:.0f} ms'))

    def _blame(self, fault: Fault) -> None:
        if self._driver is not None:
            with self._lock:
                self._driver.fail(fault)
                self._publish_mode()

    def stand_in(self, name: str, seconds: float) -> None:
        """In place of a cycle, which a step of that node prevents since so long."""
        self.blame_overrun(name, seconds)

    # -- the loop ----------------------------------------------------------------------------

    def _take_requests(self) -> None:
        """What others have said since the last cycle; under the lock, before the next one."""
        driver = self.driver
        for collision in self._collisions.drain():
            driver.report_collision(collision.seq)
        if driver.wants_enable and driver.mode == Mode.DISABLED and self._attended():
            driver.enable()
        if self._commands.publishers_take_turns and driver.mode in (Mode.STARTING, Mode.ENABLED):
            driver.fail(Fault(FaultKind.TWO_CONTROLLERS))

    def _attended(self) -> bool:
        """A controller speaks; only then a wish to enable is granted."""
        return self.driver.commanded

    def _take_newest_command(self) -> None:
        command = self._commands.take_latest()
        if command is not None:
            self._take_command(command)

    def _take_command(self, message: Any) -> None:
        self.driver.give(Command(message.position, message.velocity, message.torque, message.kp,
                                 message.kd, message.ki), message.seq, message.collision_seq)

    def _stamp_ns(self) -> int:
        """Of the newest state, for people [ns]; subclasses may have a better one."""
        return time.time_ns()

    def _publish_state(self, reading: Reading, enabled: bool) -> None:
        message = self._states.message
        message.seq, message.time_ns = self.driver.seq, self.driver.time_ns
        message.stamp_ns = self._stamp_ns()
        message.position, message.velocity = reading.position, reading.velocity
        message.current, message.torque = reading.current, reading.torque
        message.joint_position, message.strain = reading.joint_position, reading.strain
        message.power = reading.power
        message.enabled = enabled
        self._states.publish()

    # -- mode, services and health -------------------------------------------------------------

    def _publish_mode(self) -> None:
        """Publish mode, fault and whether positions are wrong if they have changed."""
        driver = self.driver
        if driver.lost_zero != self._published_zero:
            self._published_zero = driver.lost_zero
            self._lost_zero.publish(String(data=self._published_zero))
        fault = driver.fault
        why = driver.why_not_enabled() if fault or driver.mode == Mode.DAMPING else ''
        if (driver.mode, fault, why) == self._published_mode:
            return
        self._published_mode = (driver.mode, fault, why)
        message = DriverMode(mode=int(driver.mode), fault=fault.name if fault else '',
                             explanation=why)
        message.stamp.sec, message.stamp.nanosec = divmod(self._stamp_ns(), 10**9)
        self._mode_publisher.publish(message)
        log = self.get_logger()
        if fault is not None and driver.mode == Mode.DAMPING:
            log.error(f'{driver.mode.name}: {fault.name}: {why}')
        else:
            log.info(': '.join(filter(None, (driver.mode.name, why))))

    def _service(self, name: str) -> Any:
        def serve(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            response.success, response.message = self._request(name)
            return response
        return serve

    def _request(self, name: str) -> Answer:
        if self._driver is None:
            return Answer(False, 'not configured')
        with self._lock:
            answer: Answer = getattr(self._driver, name)()
        return answer

    def health(self) -> list[Health]:
        driver = self.driver
        return [Health('arm', driver.why_not_enabled() or driver.mode.name.lower(),
                       LEVELS.get(driver.mode, Level.OK), self._arm_values())]

    def _arm_values(self) -> dict[str, object]:
        return {}
