"""`motor_board`: the boards of one arm as ROS topics and services.

The loop exchanges one frame with every board per period, publishes `motor_states`, and sends the
newest `motor_commands` with the next exchange. Everything that decides is in `ArmDriver`.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from armsense_core.model import ArmConfig, ArmModel
from armsense_driver.arm_driver import Answer, ArmDriver, DriverSettings, Mode
from armsense_driver.arm_limits import guard_limits, motor_zero
from armsense_driver.board_links import BUSES, HARDWARE, open_links, Wiring
from armsense_driver.energy_meter import EnergyMeter
from armsense_driver.faults import Fault, FaultKind
from armsense_driver.health import Health, Level
from armsense_driver.joint_map import JointCommand, Reading
from armsense_driver.lifecycle import LoopNode
from armsense_driver.lockstep import Answerer, lockstep_qos, LockstepLoop
from armsense_driver.loop import (
    DirectSubscription,
    event_qos,
    latched_qos,
    PacedLoop,
    run_node,
    stream_qos,
    StreamPublisher,
    StreamSubscription,
)
from armsense_driver.parameters import declare, Parameter
from armsense_driver.sockets_folder import socket_folder
from armsense_driver.transport.counters import LinkSummary
from armsense_msgs.msg import (
    BaseResidual,
    Collision,
    DriverMode,
    MotorCommands,
    MotorStates,
    Residual,
)

LOSS = 1.0   # [%] of the frames; more is worth a warning
LEVELS = {Mode.DAMPING: Level.ERROR, Mode.DISCONNECTED: Level.WARN}   # all others are well

PARAMETERS = (
    Parameter('arm', 'laas4', 'arm by name or path of its yaml file'),
    Parameter('model', '', 'identified model.yaml; empty: the arm file alone'),
    Parameter('hardware', 'sim', 'how the boards are reached', choices=HARDWARE),
    Parameter('bus', 'spi', 'what emulated boards speak', choices=BUSES),
    Parameter('sockets', '', 'folder of the emulated boards; empty: one per user and namespace'),
    Parameter('autostart', True, 'configure and activate at once'),
    Parameter('enable_on_start', False,
              'enable the motors once the boards answer, a controller speaks and those awaited '
              'are there'),
    Parameter('lockstep', False, 'virtual time: wait for the answers to every state'),
    Parameter('await_residual', False,
              'wait for the observer: to enable on start, and in lock-step for its residual'),
    Parameter('await_base', False, 'the same for the observer of the base'),
    Parameter('await_recorder', False, 'lock-step: begin when a recorder listens'),
    Parameter('joint_states_rate', 100.0, '[Hz] of joint_states', low=1.0, high=1000.0),
    Parameter('command_timeout', 0.02, '[s] without a command before damping', low=0.002,
              high=1.0),
    Parameter('collision_answer', 0.01, '[s] for a controller to answer a collision', low=0.001,
              high=1.0),
    Parameter('start_timeout', 8.0, '[s] for alignment and index search', low=0.5, high=60.0),
)


class MotorBoardNode(LoopNode):
    """Lifecycle shell around `ArmDriver`."""

    def __init__(self) -> None:
        super().__init__('motor_board')
        self._settings = declare(self, PARAMETERS)
        self._lock = threading.Lock()          # services against the loop
        self._driver: ArmDriver | None = None
        self._mode_publisher = self.create_publisher(DriverMode, '~/mode', latched_qos())
        for name in ('enable', 'disable', 'clear_fault', 'emergency_stop'):
            self.create_service(Trigger, f'~/{name}', self._service(name))
        if self._settings.autostart:
            self.autostart()

    # -- lifecycle ---------------------------------------------------------------------------

    def configure(self) -> None:
        settings = self._settings
        model = ArmModel.load(settings.arm, settings.model or None)
        config = model.config
        assert config is not None
        self._config = config
        self._period = 1.0 / config.rate
        folder = settings.sockets or socket_folder(self.get_namespace())
        wiring = Wiring(settings.hardware, settings.bus, folder,
                        timeout=5.0 if settings.lockstep else 0.005)
        links = open_links(config, wiring)
        boards = config.boards
        self._driver = ArmDriver(config, guard_limits(model), links, DriverSettings(
            period=self._period,
            board_timeout_ms=boards.timeout_ms if boards else 50,
            command_timeout=round(settings.command_timeout / self._period),
            collision_answer=round(settings.collision_answer / self._period),
            start_timeout=settings.start_timeout,
            index_search=bool(boards and boards.index_search)), zero=motor_zero(model))
        self._energy = EnergyMeter()
        self._make_topics(config)
        self._last_mode: tuple[Mode, Fault | None] | None = None
        self._wants_enable = settings.enable_on_start

    def make_loop(self) -> PacedLoop | LockstepLoop:
        assert self._driver is not None
        self._driver.released = False
        self.get_logger().info(
            f'{self._config.arm}: {len(self._config.joints)} joints on '
            f'{self._settings.hardware} at {self._config.rate:g} Hz'
            + (', lock-step' if self._settings.lockstep else ''))
        if self._settings.lockstep:
            answerers = [Answerer('motor_commands', self._commands, self._take_command)]
            answerers += [Answerer(topic, stream, lambda _: None)
                          for topic, stream in self._watchers.items()]
            listeners = len(answerers) + self._settings.await_recorder
            return LockstepLoop(self._lockstep_step, answerers,
                                lambda: self._states.subscriber_count() >= listeners)
        return PacedLoop(self._period, self._realtime_step)

    def close(self) -> None:
        self.deactivate()

    def deactivate(self) -> None:
        """Last words: the motors carry no current any more."""
        if self._driver is not None:
            with self._lock:
                self._driver.release()
                for _ in range(2):             # the second reply shows that the first was heard
                    self._driver.cycle()

    def _make_topics(self, config: ArmConfig) -> None:
        n = config.n
        joints = list(config.joints.values())
        lengths = {'joint_position': n if any(j.joint_encoder for j in joints) else 0,
                   'strain': n if any(j.strain for j in joints) else 0}
        qos = lockstep_qos() if self._settings.lockstep else stream_qos()
        self._states = StreamPublisher(self, MotorStates, 'motor_states', n, lengths, 'base_link',
                                       qos)
        self._commands = StreamSubscription(self, MotorCommands, 'motor_commands', n, qos=qos)
        self._collisions = DirectSubscription(self, Collision, 'collision', event_qos())
        awaited = (('residual', Residual, n, self._settings.await_residual),
                   ('base/residual', BaseResidual, 6, self._settings.await_base))
        self._watchers = {topic: StreamSubscription(self, kind, topic, length, qos=qos)
                          for topic, kind, length, wanted in awaited if wanted}
        self._unheard = [] if self._settings.lockstep else list(self._watchers.values())
        self._joint_states = self.create_publisher(JointState, 'joint_states', 10)
        self._decimation = max(1, round(config.rate / self._settings.joint_states_rate))

    # -- the loop ----------------------------------------------------------------------------

    def _realtime_step(self, tick: int) -> None:
        command = self._commands.take_latest()
        if command is not None:
            self._take_command(command)
        self._cycle(None)

    def _lockstep_step(self, tick: int) -> int | None:
        published = self._cycle(round(tick * self._period * 1e9))
        return self._driver.seq if published and self._driver is not None else None

    def _cycle(self, stamp_ns: int | None) -> bool:
        """One period; whether a state was published.

        Args:
            stamp_ns: Virtual time; None: the time at which the boards answered.
        """
        driver = self._driver
        assert driver is not None
        for collision in self._collisions.drain():
            driver.report_collision(collision.seq)
        with self._lock:
            if self._wants_enable and driver.mode == Mode.DISABLED and self._attended():
                self._wants_enable = False     # once: never again after a fault
                driver.enable()
            if self._commands.publishers_take_turns and driver.mode in (Mode.STARTING,
                                                                        Mode.ENABLED):
                driver.fail(Fault(FaultKind.TWO_CONTROLLERS))
            reading = driver.cycle()
        stamp_ns = driver.exchanged_ns if stamp_ns is None else stamp_ns
        if (driver.mode, driver.fault) != self._last_mode:
            self._publish_mode(stamp_ns)
        if reading is None:
            return False
        self._energy.step(reading.power, reading.velocity, self._period)
        self._publish_state(reading, stamp_ns)
        return True

    def _attended(self) -> bool:
        """A controller speaks and whoever shall watch the arm is there."""
        assert self._driver is not None
        if not self._settings.lockstep:    # there the loop itself waits for them
            self._unheard = [s for s in self._unheard if s.take_latest() is None]
        return self._driver.commanded and not self._unheard

    def _take_command(self, message: Any) -> None:
        assert self._driver is not None
        self._driver.give(
            JointCommand(message.position, message.velocity, message.torque, message.kp,
                         message.kd, message.ki), message.seq, message.collision_seq)

    def _publish_state(self, reading: Reading, stamp_ns: int) -> None:
        assert self._driver is not None
        message = self._states.message
        message.seq = self._driver.seq
        message.stamp_ns = stamp_ns
        message.position = reading.position
        message.velocity = reading.velocity
        message.current = reading.current
        message.torque = reading.torque
        message.joint_position = reading.joint_position
        message.strain = reading.strain
        message.power = reading.power
        message.enabled = self._driver.mode == Mode.ENABLED
        self._states.publish()
        if self._driver.seq % self._decimation == 0:
            self._publish_joint_states(reading, stamp_ns)

    def _publish_joint_states(self, reading: Reading, stamp_ns: int) -> None:
        message = JointState(name=list(self._config.joint_names), velocity=reading.velocity,
                             position=reading.joint_position or reading.position,
                             effort=reading.torque)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 10**9)
        self._joint_states.publish(message)

    def _publish_mode(self, stamp_ns: int) -> None:
        driver = self._driver
        assert driver is not None
        self._last_mode = (driver.mode, driver.fault)
        fault = driver.fault
        message = DriverMode(mode=int(driver.mode), fault=fault.name if fault else '',
                             explanation=fault.explanation if fault else '')
        message.stamp.sec, message.stamp.nanosec = divmod(stamp_ns, 10**9)
        self._mode_publisher.publish(message)
        log = self.get_logger()
        if fault is not None and driver.mode == Mode.DAMPING:
            log.error(f'{driver.mode.name}: {fault.name}: {fault.explanation}')
        else:
            log.info(driver.mode.name)

    # -- services and health -----------------------------------------------------------------

    def _service(self, name: str) -> Any:
        def serve(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            answer = Answer(False, 'not configured')
            if self._driver is not None:
                with self._lock:
                    answer = getattr(self._driver, name)()
            response.success, response.message = answer
            return response
        return serve

    def health(self) -> list[Health]:
        driver = self._driver
        if driver is None:
            return []
        arm = Health('arm', driver.obstacle() or driver.mode.name.lower(),
                     LEVELS.get(driver.mode, Level.OK),
                     {'power [W]': self._energy.power,
                      'energy of the motion [J]': self._energy.motion,
                      'energy in all [J]': self._energy.total})
        return [arm, *(_board_health(number, link.counters.summary())
                       for number, link in enumerate(driver.links))]


def _board_health(number: int, summary: LinkSummary) -> Health:
    level = Level.WARN if summary.loss_percent > LOSS else Level.OK
    message = f'{summary.loss_percent:.2f} % of {summary.frames} frames lost'
    return Health(f'board {number}', message, level, summary._asdict())


def main() -> int:
    return run_node(MotorBoardNode)


if __name__ == '__main__':
    sys.exit(main())
