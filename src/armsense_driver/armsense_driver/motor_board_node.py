"""`motor_board`: the boards of one arm as ROS topics and services.

The loop exchanges one frame with every board per period, publishes `motor_states`, and sends the
newest `motor_commands` with the next exchange. Everything that decides is in `ArmDriver`.
"""

from __future__ import annotations

from dataclasses import dataclass
import sys
import time
from typing import Any

from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState

from armsense.boards.arm_driver import ArmDriver, DriverSettings
from armsense.boards.board_links import open_links, Wiring
from armsense.boards.command_guard import guard_limits
from armsense.boards.energy_meter import EnergyMeter
from armsense.boards.joint_map import motor_zero, Reading
from armsense.boards.mode import Mode
from armsense.boards.transport.link import LinkCounters
from armsense.boards.transport.seqpacket import socket_folder
from armsense.model import ArmConfig
from armsense.schema import part, quantity, same_as
from armsense_driver.driver_node import DriverNode, DriverParameters
from armsense_msgs.msg import BaseResidual, Residual
from armsense_node.health import Health, Level
from armsense_node.lockstep import Answerer, lockstep_qos, LockstepLoop, WALL_LIMIT
from armsense_node.loop import PacedLoop, run_node, stream_qos, StreamSubscription
from armsense_node.parameters import LockstepParameters

LOSS = 1.0   # [%] of the frames; more is worth a warning
RECORDER = 'recorder'   # name of the node


@dataclass(frozen=True, kw_only=True)
class Settings(LockstepParameters, DriverParameters):
    """Parameters."""

    hardware: str = same_as(Wiring, 'hardware')
    bus: str = same_as(Wiring, 'bus')
    sockets: str = same_as(Wiring, 'sockets')
    await_residual: bool = quantity(False, text='wait for the observer: to enable on start, and '
                                    'in lock-step for its residual')
    await_base: bool = quantity(False, text='the same for the observer of the base')
    await_recorder: bool = quantity(
        False, text='lock-step: begin when a node called recorder listens')
    await_client: str = quantity(
        '', text='lock-step: begin when a node of this name listens, too; empty: nobody else')
    joint_states_rate: float = quantity(100.0, unit='Hz', low=1, high=1000,
                                        text='of joint_states')
    start_timeout: float = same_as(DriverSettings, 'start_timeout')


class MotorBoardNode(DriverNode[ArmDriver]):
    """Lifecycle shell around `ArmDriver`."""

    _settings: Settings

    def __init__(self) -> None:
        super().__init__('motor_board', Settings)

    # -- lifecycle ---------------------------------------------------------------------------

    def configure(self) -> None:
        settings = self._settings
        model = settings.load()
        config = model.config
        self._config = config
        self._period = 1.0 / config.rate
        folder = settings.sockets or socket_folder(self.get_namespace())
        wiring = part(Wiring, settings, sockets=folder,
                      timeout=5.0 if settings.lockstep else 0.005)
        boards = config.boards
        driver = ArmDriver(
            config, guard_limits(model), open_links(config, wiring), part(
                DriverSettings, settings, period=self._period,
                board_timeout_ms=boards.timeout_ms if boards else 50,
                index_search=bool(boards and boards.index_search)),
            zero=motor_zero(model), clock=None if settings.lockstep else time.monotonic_ns)
        self._energy = EnergyMeter()
        self._make_topics(config, driver)

    def make_loop(self) -> PacedLoop | LockstepLoop:
        self._take_up()
        self.get_logger().info(
            f'{self._config.arm}: {len(self._config.joints)} joints on '
            f'{self._settings.hardware} at {self._config.rate:g} Hz'
            + (', lock-step' if self._settings.lockstep else ''))
        if self._settings.lockstep:
            answerers = [Answerer('motor_commands', self._commands, self._take_answer)]
            answerers += [Answerer(topic, stream, lambda _: None)
                          for topic, stream in self._watchers.items()]
            return LockstepLoop(self._cycle, answerers,
                                lambda: self._listened_to(len(answerers)), may_end=self._may_end)
        return PacedLoop(self._period, self._realtime_step, may_end=self._may_end)

    def _listened_to(self, answerers: int) -> bool:
        """All who answer and are awaited hear the states; others may listen, too."""
        listeners = self.get_subscriptions_info_by_topic(self.resolve_topic_name('motor_states'))
        settings = self._settings
        awaited = {RECORDER} if settings.await_recorder else set()
        if settings.await_client:
            awaited.add(settings.await_client)
        return (self._states.subscriber_count() >= answerers + len(awaited)
                and awaited <= {listener.node_name for listener in listeners})

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        for link in self.driver.links:
            link.close()                       # who configures next opens them again
        return super().on_cleanup(state)

    def _last_words(self) -> None:
        for _ in range(2):                     # the second reply shows that the first was heard
            self.driver.cycle()

    def _make_topics(self, config: ArmConfig, driver: ArmDriver) -> None:
        n = config.n
        joints = list(config.joints.values())
        lengths = {'joint_position': n if any(j.joint_encoder for j in joints) else 0,
                   'strain': n if any(j.strain for j in joints) else 0}
        qos = lockstep_qos() if self._settings.lockstep else stream_qos()
        self._take_charge(driver, n, lengths, qos)
        awaited = (('residual', Residual, n, self._settings.await_residual),
                   ('base/residual', BaseResidual, 6, self._settings.await_base))
        self._watchers = {topic: StreamSubscription(self, kind, topic, length, qos=qos)
                          for topic, kind, length, wanted in awaited if wanted}
        self._unheard = [] if self._settings.lockstep else list(self._watchers.values())
        self._joint_states = self.create_publisher(JointState, 'joint_states', 10)
        self._decimation = max(1, round(config.rate / self._settings.joint_states_rate))

    # -- the other nodes of its process ------------------------------------------------------

    @property
    def step_limit(self) -> float:
        return WALL_LIMIT if self._settings.lockstep else super().step_limit

    def stand_in(self, name: str, seconds: float) -> None:
        super().stand_in(name, seconds)
        if not self._settings.lockstep:        # there time stands still with the node
            with self._lock:
                self.driver.cycle()

    # -- the loop ----------------------------------------------------------------------------

    def _realtime_step(self, tick: int) -> None:
        self._cycle(tick)

    def _take_answer(self, command: Any) -> None:
        with self._lock:
            self._take_command(command)

    def _cycle(self, tick: int) -> int | None:
        """One period; seq of the state that was published."""
        driver = self.driver
        before = driver.time_ns or None
        with self._lock:
            if not self._settings.lockstep:    # there the loop itself has taken it
                self._take_newest_command()
            self._take_requests()
            reading = driver.cycle()
            self._publish_mode()
        if reading is None:
            return None
        dt = self._period if before is None else (driver.time_ns - before) * 1e-9
        self._energy.step(reading.power, reading.velocity, dt)
        self._publish_state(reading, driver.mode == Mode.ENABLED)
        if driver.seq % self._decimation == 0:
            self._publish_joint_states(reading)
        return driver.seq

    def _attended(self) -> bool:
        """A controller speaks and whoever shall watch the arm is there."""
        if not self._settings.lockstep:    # there the loop itself waits for them
            self._unheard = [s for s in self._unheard if s.take_latest() is None]
        return super()._attended() and not self._unheard

    def _stamp_ns(self) -> int:
        """When the boards answered, on the wall clock; virtual time in lock-step."""
        if self._settings.lockstep:
            return self.driver.time_ns
        return time.time_ns() - (time.monotonic_ns() - self.driver.time_ns)

    def _publish_joint_states(self, reading: Reading) -> None:
        message = JointState(name=list(self._config.joint_names), velocity=reading.velocity,
                             position=reading.joint_position or reading.position,
                             effort=reading.torque)
        stamp_ns = self._states.message.stamp_ns
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 10**9)
        self._joint_states.publish(message)

    # -- health ------------------------------------------------------------------------------

    def _arm_values(self) -> dict[str, object]:
        return {'power [W]': self._energy.power, 'energy of the motion [J]': self._energy.motion,
                'energy in all [J]': self._energy.total}

    def health(self) -> list[Health]:
        return [*super().health(), *(_board_health(number, link.counters)
                                     for number, link in enumerate(self.driver.links))]


def _board_health(number: int, counters: LinkCounters) -> Health:
    level = Level.WARN if counters.loss_percent > LOSS else Level.OK
    message = f'{counters.loss_percent:.2f} % of {counters.frames} frames lost'
    return Health(f'board {number}', message, level, counters.summary())


def main() -> int:
    return run_node(MotorBoardNode)


if __name__ == '__main__':
    sys.exit(main())
