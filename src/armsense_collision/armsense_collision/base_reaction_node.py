"""`base_reaction`: what the load cells feel beyond the arm's motion, collisions as events.

One `motor_states` message makes one step; the newest `load_cells` message goes with it. Everything
that decides is in `BaseMonitor`.
"""

from __future__ import annotations

from pathlib import Path
import sys
import time
from typing import Any

from geometry_msgs.msg import WrenchStamped
import numpy as np
from sensor_msgs.msg import Imu
from std_srvs.srv import SetBool, Trigger
import yaml

from armsense_core import schema
from armsense_core.base.base_monitor import BaseMonitor, BaseMonitorOptions, BaseResult
from armsense_core.base.vibration import VibrationMode
from armsense_core.detector import Detection, fixed_thresholds, Thresholds
from armsense_core.errors import ArmsenseError
from armsense_core.model import ArmModel
from armsense_core.model.base_motion import BaseMotion
from armsense_core.velocity import WeightedRegression
from armsense_driver.lifecycle import LoopNode
from armsense_driver.lockstep import lockstep_qos
from armsense_driver.loop import (
    DirectSubscription,
    event_qos,
    ReactiveLoop,
    run_node,
    stream_qos,
    StreamPublisher,
    StreamSubscription,
)
from armsense_driver.parameters import declare, Parameter
from armsense_msgs.msg import BaseResidual, Collision, LoadCells, MotorStates

COMPLAIN_EVERY = 5.0   # [s]
LOCKSTEP_PATIENCE = 5.0   # [s]
IMU_WINDOW = 8         # samples, for the angular acceleration
ACCELERATION_WINDOW = 30   # samples, for the joints' accelerations where the base moves

PARAMETERS = (
    Parameter('arm', 'laas4', 'arm by name or path of its yaml file'),
    Parameter('model', '', 'identified model.yaml; empty: the arm file alone'),
    Parameter('gain', 40.0, '[1/s] of the low pass on measurement and prediction', low=1.0,
              high=500.0),
    Parameter('cell_lag', 0.0, '[s] by which the cells are later than the encoders', low=0.0,
              high=1.0),
    Parameter('thresholds', '', 'yaml file of thresholds, read and written; empty: a guess from '
              'noise and weight until they are learned'),
    Parameter('rate_per_hour', 1.0, '[1/h] false alarms that learned thresholds allow', low=0.001,
              high=1000.0),
    Parameter('vibration_modes', [0.0], '[Hz] frequencies to leave out; 0: none'),
    Parameter('vibration_floor', 0.0, 'factor on the learned swing added to thresholds; 0: off',
              low=0.0, high=10.0),
    Parameter('update_model', False, 'correct the inertial parameters while the arm moves'),
    Parameter('cell_timeout', 0.1, '[s] without cell readings until nothing is said', low=0.001,
              high=5.0),
    Parameter('imu', False, 'the base moves; its motion comes from the topic imu'),
    Parameter('autostart', True, 'configure and activate at once'),
    Parameter('lockstep', False, 'virtual time: wait for the cells of every state'),
)


class BaseReactionNode(LoopNode):
    """Shell around `BaseMonitor`."""

    def __init__(self) -> None:
        super().__init__('base_reaction')
        self._settings = declare(self, PARAMETERS)
        self.create_service(Trigger, '~/zero', self._zero)
        self.create_service(Trigger, '~/trust_cells', self._trust)
        self.create_service(Trigger, '~/detectable_force', self._detectable)
        self.create_service(SetBool, '~/learn_thresholds', self._learn)
        if self._settings.autostart:
            self.autostart()

    # -- lifecycle ---------------------------------------------------------------------------

    def configure(self) -> None:
        settings = self._settings
        model = ArmModel.load(settings.arm, settings.model or None)
        modes = tuple(VibrationMode(frequency=f, width=max(0.4 * f, 0.5))
                      for f in settings.vibration_modes if f > 0.0)
        self.monitor = BaseMonitor(model, BaseMonitorOptions(
            gain=settings.gain, cell_lag=settings.cell_lag, modes=modes,
            floor_factor=settings.vibration_floor, update_model=settings.update_model),
            self._read_thresholds())
        self._last_seq = self._last_stamp = self._count = 0
        self._cells_at = -1.0            # [s] stamp of the last cells on the clock of the states
        self._force = np.zeros(self.monitor.layout.cells)
        self._valid = np.zeros(self.monitor.layout.cells, bool)
        self._q = np.zeros(model.n)
        self._problem = ''
        self._motion: BaseMotion | None = None
        self._spin = WeightedRegression(3, IMU_WINDOW, 1.0 / 100.0)
        self._imu_stamp = 0
        assert model.config is not None
        self._follow = WeightedRegression(model.n, ACCELERATION_WINDOW, 1.0 / model.config.rate,
                                          degree=2)
        self._make_topics(model)

    def _make_topics(self, model: ArmModel) -> None:
        qos = lockstep_qos() if self._settings.lockstep else stream_qos()
        self._states = StreamSubscription(self, MotorStates, 'motor_states', model.n,
                                          optional=('joint_position', 'strain'), qos=qos)
        self._cells = StreamSubscription(self, LoadCells, 'load_cells', self.monitor.layout.cells,
                                         qos=qos)
        self._residuals = StreamPublisher(self, BaseResidual, 'base/residual',
                                          frame_id='base_link')
        self._residuals.message.observed = self.monitor.layout.observed
        self._wrench = self.create_publisher(WrenchStamped, 'base/wrench', stream_qos())
        self._collisions = self.create_publisher(Collision, 'collision', event_qos())
        if self._settings.imu:
            self._imu = DirectSubscription(self, Imu, 'imu', stream_qos())
            self._carrier = self.create_publisher(WrenchStamped, 'base/predicted_wrench',
                                                  stream_qos())

    def make_loop(self) -> ReactiveLoop:
        names = ', '.join(self.monitor.layout.names)
        self.get_logger().info(f'{self.monitor.layout.cells} load cells feel {names}')
        return ReactiveLoop(self._states, self._step)

    # -- the loop ----------------------------------------------------------------------------

    def _step(self, state: Any) -> None:
        dt = (state.stamp_ns - self._last_stamp) * 1e-9 if self._last_seq else 0.0
        self._last_seq, self._last_stamp = state.seq, state.stamp_ns
        self._take_cells(state)
        if self._settings.imu:
            self._take_imu()
        q = state.joint_position if len(state.joint_position) else state.position
        self._q = np.array(q, float)
        result = self.monitor.step(self._q, self._force, self._fresh(state), dt, self._motion)
        self._report(result)
        if result.detection is not None:
            self._publish_collision(result.detection)
        self._publish_residual(result, state)
        self._publish_wrench(self._wrench, self.monitor.layout.full(result.reading.measured))
        if self._motion is not None:
            dq, ddq = self._follow.step(self._q, dt), self._follow.acceleration
            assert ddq is not None
            self._publish_wrench(self._carrier, self.monitor.observer.model.base_wrench(
                self._q, dq, ddq, self._motion))

    def _take_cells(self, state: Any) -> None:
        if self._settings.lockstep:
            cells = self._cells.wait_for(state.seq, LOCKSTEP_PATIENCE)
            if cells is None:
                raise ArmsenseError(f'lock-step: no load_cells of state {state.seq} within '
                                    f'{LOCKSTEP_PATIENCE:.0f} s; does the simulator publish them?')
        else:
            cells = self._cells.take_latest()
        if cells is not None:
            self._force, self._valid = np.array(cells.force), np.array(cells.valid)
            self._cells_at = state.stamp_ns * 1e-9

    def _fresh(self, state: Any) -> np.ndarray:
        """Cells that are valid and not too old."""
        old = state.stamp_ns * 1e-9 - self._cells_at > self._settings.cell_timeout
        return np.zeros_like(self._valid) if old else self._valid

    def _take_imu(self) -> None:
        message = self._imu.take_latest()
        if message is None:
            return
        stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        dt = (stamp - self._imu_stamp) * 1e-9 if self._imu_stamp else 0.0
        self._imu_stamp = stamp
        a, w = message.linear_acceleration, message.angular_velocity
        omega = np.array([w.x, w.y, w.z])
        # The slope of the angular velocity is the angular acceleration.
        alpha = self._spin.step(omega, dt)
        self._motion = BaseMotion.of_imu((a.x, a.y, a.z), omega, alpha)

    def _report(self, result: BaseResult) -> None:
        log = self.get_logger()
        if result.fault is not None:
            log.error(f'load cell {result.fault.cell + 1} contradicts the others by '
                      f'{result.fault.error:+.2f} N and is left out')
        if result.problem != self._problem:
            self._problem = result.problem
            if 'cannot be told' in result.problem:
                log.error(result.problem, throttle_duration_sec=COMPLAIN_EVERY)

    def _publish_residual(self, result: BaseResult, state: Any) -> None:
        out, full = self._residuals.message, self.monitor.layout.full
        out.seq, out.stamp_ns = state.seq, state.stamp_ns
        out.measured = full(result.reading.measured)
        out.predicted = full(result.reading.predicted)
        out.residual = full(result.reading.residual)
        out.threshold = full(result.threshold)
        out.valid = result.reading.valid
        self._residuals.publish()

    def _publish_wrench(self, publisher: Any, wrench: np.ndarray) -> None:
        message = WrenchStamped()
        message.header.frame_id = 'base_link'
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self._last_stamp, 10**9)
        f, m = message.wrench.force, message.wrench.torque
        f.x, f.y, f.z, m.x, m.y, m.z = wrench.tolist()
        publisher.publish(message)

    def _publish_collision(self, detection: Detection) -> None:
        self._count += 1
        axis = detection.joint
        name = self.monitor.layout.names[axis]
        message = Collision(
            seq=self._last_seq, id=self._count, source='base', joint=name,
            residual=float(detection.residual[axis]), threshold=float(detection.threshold[axis]))
        message.header.frame_id = 'base_link'
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self._last_stamp, 10**9)
        message.published.sec, message.published.nanosec = divmod(time.time_ns(), 10**9)
        self._collisions.publish(message)
        self.get_logger().warning(f'collision: {name} {message.residual:+.2f}, '
                                  f'threshold {message.threshold:.2f}')

    # -- services ----------------------------------------------------------------------------

    def _zero(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return _answer(response, lambda: self.monitor.zero())

    def _trust(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        def trust() -> str:
            self.monitor.trust_cells()
            return 'all cells are used again'
        return _answer(response, trust)

    def _detectable(self, request: Trigger.Request,
                    response: Trigger.Response) -> Trigger.Response:
        def tell() -> str:
            force = self.monitor.detectable(self._q)
            x, y, z = force.axis
            return (f'at the tool: {x:.1f} N along x, {y:.1f} N along y, {z:.1f} N along z, '
                    f'{force.worst:.1f} N in the worst direction')
        return _answer(response, tell)

    def _learn(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        """True begins to collect residuals of free motion, False fits the thresholds."""
        def learn() -> str:
            if request.data:
                self.monitor.record_residuals()
                return 'collecting; nothing must touch the arm'
            thresholds = self.monitor.fit_thresholds(self._settings.rate_per_hour)
            if self._settings.thresholds:
                Path(self._settings.thresholds).write_text(
                    yaml.safe_dump(schema.dump(thresholds), sort_keys=False))
            values = ', '.join(f'{name} {value:.3g}' for name, value in zip(
                self.monitor.layout.names, thresholds.constant, strict=True))
            return '; '.join([values, *thresholds.warnings])
        return _answer(response, learn)

    def _read_thresholds(self) -> Thresholds | None:
        path = self._settings.thresholds
        if not path or not Path(path).exists():
            return None
        data = schema.read_yaml(Path(path))
        if set(data) == {'constant'}:
            return fixed_thresholds(data['constant'])
        return schema.load(Thresholds, data, Path(path).name)


def _answer(response: Any, act: Any) -> Any:
    try:
        response.message, response.success = act(), True
    except ArmsenseError as error:
        response.success, response.message = False, str(error)
    return response


def main() -> int:
    return run_node(BaseReactionNode)


if __name__ == '__main__':
    sys.exit(main())
