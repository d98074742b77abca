"""`base_reaction`: what the load cells feel beyond the arm's motion, collisions as events.

One `motor_states` message makes one step; the newest `load_cells` message goes with it. Everything
that decides is in `BaseMonitor`. With `fusion` the joint residual is compared with that of the
base: contacts go to `contact` with link, point and force, wrong sensors to `diagnostics`.
"""

from __future__ import annotations

from dataclasses import dataclass
import sys
import time
from typing import Any

from geometry_msgs.msg import WrenchStamped
import numpy as np
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

from armsense.base.base_monitor import BaseMonitor, BaseMonitorOptions, BaseResult
from armsense.base.fusion import Touch
from armsense.base.vibration import VibrationMode
from armsense.detector import Detection, lasting_text
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.model.base_motion import BaseMotion
from armsense.schema import part, quantity, same_as
from armsense.velocity import WeightedRegression
from armsense.watch.collision_message import confidence, set_contact, set_stamp
from armsense.watch.collision_monitor import DetectionConfig
from armsense_collision.base_markers import BaseMarkers
from armsense_collision.base_services import BaseServices, read_thresholds
from armsense_collision.imu_topic import ImuParameters, ImuTopic
from armsense_collision.joint_check import describe, Finding, JointCheck, UNITS
from armsense_msgs.msg import BaseResidual, Collision, LoadCells, MotorStates
from armsense_node.health import Health, Level
from armsense_node.lifecycle import LoopNode
from armsense_node.lockstep import lockstep_qos
from armsense_node.loop import (
    event_qos,
    ReactiveLoop,
    run_node,
    state_time,
    stream_qos,
    StreamPublisher,
    StreamSubscription,
)
from armsense_node.parameters import declare, LifecycleParameters, ModelParameters
from armsense_node.payload import PayloadTopic
from armsense_node.qos import latched_qos

COMPLAIN_EVERY = 5.0   # [s]
LOCKSTEP_PATIENCE = 10.0   # [s] wall clock
ACCELERATION_WINDOW = 30   # samples, for the joints' accelerations where the base moves
MARKERS_PERIOD = 0.2   # [s]
POINT_SPREAD = 0.1   # [m] standard deviation up to which a point is worth telling


@dataclass(frozen=True, kw_only=True)
class Settings(ImuParameters, LifecycleParameters, ModelParameters):
    """Parameters."""

    gain: float = same_as(BaseMonitorOptions, 'gain')
    cell_lag: float = same_as(BaseMonitorOptions, 'cell_lag')
    thresholds: str = quantity('', text='yaml file of thresholds, read and written; empty: a '
                               'guess from noise and weight until they are learned')
    rate_per_hour: float = quantity(1.0, unit='1/h', low=0.001, high=1000,
                                    text='false alarms that learned thresholds allow')
    vibration_modes: tuple[float, ...] = quantity(
        (0.0,), unit='Hz', low=0, text='frequencies to leave out; 0: none')
    vibration_floor: float = same_as(BaseMonitorOptions, 'vibration_floor')
    drift: float = same_as(BaseMonitorOptions, 'drift')
    update_model: bool = same_as(BaseMonitorOptions, 'update_model')
    cell_timeout: float = quantity(0.1, unit='s', low=0.001, high=5,
                                   text='without cell readings until nothing is said')
    fusion: bool = quantity(
        False, text='collision_observer runs: locate contacts with both residuals')
    detection: str = quantity('', text='yaml file of the collision observer, for fusion; empty: '
                              'config/detection.yaml')


class BaseReactionNode(LoopNode):
    """Shell around `BaseMonitor`."""

    def __init__(self) -> None:
        super().__init__('base_reaction')
        self._settings = declare(self, Settings)
        BaseServices(self, self._settings, lambda: self.monitor, lambda: self._q)
        self.create_timer(MARKERS_PERIOD, self._draw)
        if self._settings.autostart:
            self.autostart()

    # -- lifecycle ---------------------------------------------------------------------------

    def configure(self) -> None:
        settings = self._settings
        model = settings.load()
        modes = tuple(VibrationMode(frequency=f, width=max(0.4 * f, 0.5))
                      for f in settings.vibration_modes if f > 0.0)
        self.monitor = BaseMonitor(model, part(BaseMonitorOptions, settings, modes=modes),
                                   read_thresholds(settings.thresholds))
        self._last_seq = self._last_stamp = self._last_time = self._count = self._contact_count = 0
        self._collision_seq = 0
        self._cells_at = -1.0            # [s] when the last cells came, on the clock of the states
        self._force = np.zeros(self.monitor.layout.cells)
        self._valid = np.zeros(self.monitor.layout.cells, bool)
        self._q = np.zeros(model.n)
        self._result: BaseResult | None = None
        assert model.config.load_cells is not None
        self._every = max(1, round(model.config.rate / model.config.load_cells.rate))
        self._drawing = BaseMarkers(model, self.monitor.layout, model.config.load_cells)
        self._follow = WeightedRegression(model.n, ACCELERATION_WINDOW, 1.0 / model.config.rate,
                                          degree=2)
        self._make_topics(model)

    def _make_topics(self, model: Arm) -> None:
        qos = lockstep_qos() if self._settings.lockstep else stream_qos()
        self._states = StreamSubscription(self, MotorStates, 'motor_states', model.n,
                                          optional=('joint_position', 'strain'), qos=qos)
        self._cells = StreamSubscription(self, LoadCells, 'load_cells', self.monitor.layout.cells,
                                         qos=qos)
        self.answers = self._residuals = StreamPublisher(
            self, BaseResidual, 'base/residual', frame_id='base_link', qos=qos, begin=False)
        self._residuals.message.observed = self.monitor.layout.observed
        self._wrench = self.create_publisher(WrenchStamped, 'base/wrench', stream_qos())
        self._collisions = self.create_publisher(Collision, 'collision', event_qos())
        self._contacts = self.create_publisher(Collision, 'contact', event_qos())
        self._markers = self.create_publisher(MarkerArray, 'markers', 1)
        self._imu = ImuTopic(self, self._settings) if self._settings.imu else None
        self._payload = PayloadTopic(self, model)
        self.create_subscription(String, 'motor_board/lost_zero', self._on_lost_zero,
                                 latched_qos())
        self._carrier = self.create_publisher(WrenchStamped, 'base/predicted_wrench',
                                              stream_qos()) if self._imu else None
        self._check = JointCheck(
            self, model, self.monitor, DetectionConfig.of(model, self._settings.detection or None),
            qos, self._settings.lockstep) if self._settings.fusion else None

    def _on_lost_zero(self, message: String) -> None:
        self.monitor.lost_zero = message.data

    def make_loop(self) -> ReactiveLoop:
        names = ', '.join(self.monitor.layout.names)
        self.get_logger().info(f'{self.monitor.layout.cells} load cells feel {names}')
        return ReactiveLoop(self._states, self._step)

    # -- the loop ----------------------------------------------------------------------------

    def _step(self, state: Any) -> None:
        now = state_time(state)
        dt = (now - self._last_time) * 1e-9 if self._last_seq else 0.0
        self._last_seq, self._last_stamp, self._last_time = state.seq, state.stamp_ns, now
        self._take_cells(state)
        self._q = np.array(state.joint_position if len(state.joint_position) else state.position)
        motion = None if self._imu is None else self._imu.motion(now)
        if (model := self._payload.changed()) is not None:
            self.monitor.set_model(model)
        result = self.monitor.step(self._q, self._force, self._fresh(), dt, motion)
        self._complain(result)
        self._result = result
        if result.detection is not None:
            self._publish_collision(result.detection)
        self._publish_residual(result, state)
        self._publish_wrench(self._wrench, self.monitor.layout.full(result.reading.measured))
        if motion is not None:
            self._predict_carrier(motion, dt)
        if self._check is not None:
            finding = self._check.step(self._q, result, state.seq, state.stamp_ns, dt)
            if finding is not None:
                self._tell(finding)

    def _predict_carrier(self, motion: BaseMotion, dt: float) -> None:
        """What the arm will exert on its carrier, for the carrier's controller."""
        dq, ddq = self._follow.step(self._q, dt), self._follow.acceleration
        if motion.known and ddq is not None and self._carrier is not None:
            self._publish_wrench(self._carrier, self.monitor.observer.model.base_wrench(
                self._q, dq, ddq, motion))

    def _take_cells(self, state: Any) -> None:
        if self._settings.lockstep and state.seq % self._every:
            return                       # slower cells say nothing about this state
        if self._settings.lockstep:
            cells = self._cells.wait_for(state.seq, LOCKSTEP_PATIENCE)
            if cells is None:
                raise ArmsenseError(f'lock-step: no load_cells of state {state.seq} within '
                                    f'{LOCKSTEP_PATIENCE:.0f} s; does the simulator publish them?')
        else:
            cells = self._cells.take_latest()
        if cells is not None:
            self._force, self._valid = np.array(cells.force), np.array(cells.valid)
            self._cells_at = self._last_time * 1e-9

    def _fresh(self) -> np.ndarray:
        """Cells that are valid and not too old."""
        old = self._last_time * 1e-9 - self._cells_at > self._settings.cell_timeout
        return np.zeros_like(self._valid) if old else self._valid

    def _complain(self, result: BaseResult) -> None:
        log = self.get_logger()
        if result.fault is not None:
            log.error(f'load cell {result.fault.cell + 1} contradicts the others by '
                      f'{result.fault.error:+.2f} N and is left out')
        before = '' if self._result is None else self._result.problem
        if result.problem != before and _serious(result.problem):
            log.error(result.problem, throttle_duration_sec=COMPLAIN_EVERY)

    def _tell(self, finding: Finding) -> None:
        """A contact is published once; whatever lies is named."""
        best = finding.explanation.best
        if best.kind in UNITS and finding.explanation.consistent:
            self.get_logger().error(describe(best))
        elif best.touch is not None and finding.first:
            self._contact_count += 1
            message = fused_message(best.touch, finding.explanation.probability,
                                    number=self._contact_count, seq=finding.seq,
                                    stamp=finding.stamp)
            message.published.sec, message.published.nanosec = divmod(time.time_ns(), 10**9)
            self._contacts.publish(message)

    def _publish_residual(self, result: BaseResult, state: Any) -> None:
        out, full = self._residuals.message, self.monitor.layout.full
        out.seq, out.stamp_ns = state.seq, state.stamp_ns
        out.measured = full(result.reading.measured)
        out.predicted = full(result.reading.predicted)
        out.residual = full(result.reading.residual)
        out.threshold = full(result.threshold)
        out.lasting = full(result.lasting.astype(float)) > 0.0
        out.lasts_for = result.lasts_for
        out.valid = result.reading.valid
        out.collision_seq = self._collision_seq
        self._residuals.publish()

    def _publish_wrench(self, publisher: Any, wrench: np.ndarray) -> None:
        if not publisher.get_subscription_count():
            return
        message = WrenchStamped()
        message.header.frame_id = 'base_link'
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self._last_stamp, 10**9)
        f, m = message.wrench.force, message.wrench.torque
        f.x, f.y, f.z, m.x, m.y, m.z = wrench.tolist()
        publisher.publish(message)

    def _publish_collision(self, detection: Detection) -> None:
        self._count += 1
        self._collision_seq = self._last_seq
        axis = detection.joint
        name = self.monitor.layout.names[axis]
        message = base_message(name, float(detection.residual[axis]),
                               float(detection.threshold[axis]), number=self._count,
                               seq=self._last_seq, stamp=self._last_stamp)
        message.published.sec, message.published.nanosec = divmod(time.time_ns(), 10**9)
        self._collisions.publish(message)
        self.get_logger().warning(f'collision: {name} {message.residual:+.2f}, '
                                  f'threshold {message.threshold:.2f}')

    # -- markers and health --------------------------------------------------------------------

    def _draw(self) -> None:
        result = self._result
        if self.loop is None or result is None or not self._markers.get_subscription_count():
            return
        used = self._valid.copy()
        used[[cell - 1 for cell in self.monitor.failed_cells]] = False
        self._markers.publish(self._drawing.draw(
            self._q, self._force, used, self.monitor.layout.full(result.reading.residual),
            result.threshold))

    def health(self) -> list[Health]:
        problem = '' if self._result is None else self._result.problem
        failed = self.monitor.failed_cells
        if _serious(problem):
            cells = Health('cells', problem, Level.ERROR)
        elif failed:
            cells = Health('cells', f'load cell {", ".join(map(str, failed))} contradicts the '
                           'others and is left out', Level.ERROR)
        elif self._result is not None and self._result.lasting.any():
            cells = Health('cells', 'watching for more: ' + lasting_text(
                self.monitor.layout.names, self._result.lasting, self._result.lasts_for),
                Level.WARN)
        else:
            cells = Health('cells', problem or f'watching, {self._count} collisions so far')
        return [cells] + ([] if self._check is None else [self._check.health()])


def _serious(problem: str) -> bool:
    """Whether a problem is more than the beginning."""
    return bool(problem) and not problem.startswith(('warming up', 'waiting'))


def base_message(name: str, residual: float, threshold: float, *, number: int, seq: int,
                 stamp: int) -> Collision:
    """An event of the load cells; `name` is the axis, such as 'Fz'."""
    message = Collision(seq=int(seq), id=number, source='base', joint=name, residual=residual,
                        threshold=threshold,
                        confidence=confidence(abs(residual) / threshold))
    set_stamp(message, stamp)
    return message


def fused_message(touch: Touch, probability: float, *, number: int, seq: int,
                  stamp: int) -> Collision:
    """A contact that joints and base agree on; probability that nothing lies instead."""
    message = Collision(seq=int(seq), id=number, source='fusion', link=touch.link,
                        confidence=probability)
    spread = float(np.sqrt(np.trace(touch.force_covariance)))
    set_contact(message, touch)
    message.force_observable = bool(spread < np.linalg.norm(touch.force))
    message.point_observable = bool(np.sqrt(np.trace(touch.covariance)) < POINT_SPREAD)
    set_stamp(message, stamp)
    return message


def main() -> int:
    return run_node(BaseReactionNode)


if __name__ == '__main__':
    sys.exit(main())
