"""`collision_observer`: residual of every joint at the control rate, collisions as events."""

from __future__ import annotations

from dataclasses import dataclass
import sys
import time
from typing import Any

import numpy as np
from std_srvs.srv import Trigger

from armsense.detector import ContactOptions, Detection, lasting_text
from armsense.detector.detector import read_intent
from armsense.model.model_file import ModelFile
from armsense.observer import OBSERVERS
from armsense.schema import quantity
from armsense.watch.collision_message import add_contact, fill_collision
from armsense.watch.collision_monitor import CollisionMonitor, DetectionConfig, MonitorResult
from armsense_collision.imu_topic import ImuParameters, ImuTopic
from armsense_msgs.msg import Collision, MotorStates, Residual
from armsense_msgs.srv import SetString
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
from armsense_node.press import PressTopic
from armsense_node.services import served

CONTACT_TIME = 20_000_000   # [ns] from an event until its residual has settled
FINE = ContactOptions()


@dataclass(frozen=True, kw_only=True)
class Settings(ImuParameters, LifecycleParameters, ModelParameters):
    """Parameters."""

    detection: str = quantity('', text='yaml file of observers; empty: config/detection.yaml')
    observer: str = quantity('', choices=('', *OBSERVERS),
                             text='observer; empty: that of the yaml file')


class CollisionObserverNode(LoopNode):
    """Shell around `CollisionMonitor`."""

    def __init__(self) -> None:
        super().__init__('collision_observer')
        self._settings = declare(self, Settings)
        self._reset_due = False
        self.create_service(Trigger, '~/reset', served(self._reset))
        self.create_service(SetString, '~/allow_contact', served(self._allow_contact))
        if self._settings.autostart:
            self.autostart()

    def configure(self) -> None:
        settings = self._settings
        model = settings.load()
        thresholds = None
        if settings.model:
            thresholds = ModelFile.read(settings.model, model.name).thresholds
        self._monitor = CollisionMonitor(
            model, DetectionConfig.of(model, settings.detection or None), thresholds,
            settings.observer or None)
        self._model = model
        self._last_seq = self._last_stamp = self._last_time = self._pending_since = 0
        self._collision_seq = self._count = 0
        qos = lockstep_qos() if settings.lockstep else stream_qos()
        self._states = StreamSubscription(self, MotorStates, 'motor_states', model.n,
                                          optional=('joint_position', 'strain'), qos=qos)
        self._imu = ImuTopic(self, settings) if settings.imu else None
        self._payload = PayloadTopic(self, model)
        self._press = PressTopic(self)
        self.answers = self._residuals = StreamPublisher(self, Residual, 'residual', model.n,
                                                         qos=qos, begin=False)
        self._collisions = self.create_publisher(Collision, 'collision', event_qos())
        self._contacts = self.create_publisher(Collision, 'contact', event_qos())
        self._pending: tuple[Collision, int] | None = None   # event whose contact is awaited
        self._known = np.zeros(model.n)   # [Nm] what lasting contacts had shown before
        self._peak = np.zeros(model.n)    # [Nm] largest residuals beyond it since then

    def make_loop(self) -> ReactiveLoop:
        limits = ', '.join(f'{x:.2f}' for x in self._monitor.detector.threshold)
        self.get_logger().info(f'{self._model.name}: watching, thresholds {limits} Nm')
        return ReactiveLoop(self._states, self._step)

    def _step(self, message: Any) -> None:
        if self._reset_due:
            self._reset_due = False
            self._monitor.reset()
        now = state_time(message)
        dt = (now - self._last_time) * 1e-9 if self._last_seq else 0.0
        self._last_seq, self._last_stamp, self._last_time = message.seq, message.stamp_ns, now
        motion = None if self._imu is None else self._imu.motion(now)
        if (model := self._payload.changed()) is not None:
            self._monitor.set_model(model)
        self._monitor.press = self._press.press
        result = self._monitor.step(message.position, message.torque, message.joint_position,
                                    message.strain, message.enabled, dt, motion)
        if result.detection is not None:
            self._publish_collision(result, result.detection)
        self._publish_residual(result, message)
        self._publish_contact(result)
        if result.detection is not None:
            self._log_collision()   # last: it takes longer than all the rest

    def _publish_residual(self, result: MonitorResult, state: Any) -> None:
        out = self._residuals.message
        out.seq, out.stamp_ns = state.seq, state.stamp_ns
        out.collision_seq = self._collision_seq
        out.raw, out.filtered = result.raw, result.filtered
        out.threshold, out.exceeded = result.threshold, result.exceeded
        out.lasting, out.lasts_for = result.lasting, result.lasts_for
        out.valid = result.valid
        self._residuals.publish()

    def _publish_collision(self, result: MonitorResult, detection: Detection) -> None:
        """At once; force and point take longer to compute, and to settle, than an event may."""
        self._collision_seq = self._last_seq
        self._count += 1
        joint = result.isolation.joint if result.isolation else detection.joint
        message = Collision()
        fill_collision(message, self._model, detection, self._model.link_names[joint],
                       number=self._count, seq=self._last_seq, stamp=self._last_stamp)
        message.published.sec, message.published.nanosec = divmod(time.time_ns(), 10**9)
        self._collisions.publish(message)
        self._pending, self._known = (message, joint), detection.known
        self._pending_since = self._last_time
        self._peak = np.zeros(self._model.n)

    def _log_collision(self) -> None:
        assert self._pending is not None
        message, _ = self._pending
        self.get_logger().warning(
            f'collision on {message.link}: {message.residual:+.2f} Nm at {message.joint}, '
            f'threshold {message.threshold:.2f}')

    def _publish_contact(self, result: MonitorResult) -> None:
        """The event again, on a topic of its own, with force and point."""
        if self._pending is None:
            return
        new = result.filtered - self._known
        self._peak = np.maximum(self._peak, np.abs(new))
        message, joint = self._pending
        if self._last_time - self._pending_since < CONTACT_TIME:
            return
        self._pending = None
        joint = self._monitor.settled_joint(self._peak, result.threshold, joint)
        contact = self._monitor.contact(new, result.threshold, result.q, joint, FINE)
        if contact is not None:
            add_contact(message, contact)
            message.published.sec, message.published.nanosec = divmod(time.time_ns(), 10**9)
            self._contacts.publish(message)

    def health(self) -> list[Health]:
        values = {'collisions': self._count}
        detector = self._monitor.detector
        if self._monitor.valid and detector.tripped:
            return [Health('observer', 'watching for more: ' + lasting_text(
                self._model.joint_names, detector.lasting, detector.lasts_for), Level.WARN,
                values)]
        if self._monitor.valid:
            return [Health('observer', f'watching, {self._count} collisions so far',
                           values=values)]
        return [Health('observer', 'not watching: the motors are off, states have paused or '
                       'are no numbers, or the imu is silent',
                       Level.WARN, values)]

    def _reset(self, _: Trigger.Request) -> str:
        self._reset_due = True     # by the loop, which must not lose its samples in a step
        return 'anchored after the next states'

    def _allow_contact(self, request: SetString.Request) -> str:
        """`0.5` or `0.5 joint3 joint4`: so many seconds all joints, or those, may be loaded."""
        seconds, joints = read_intent(request.data, self._model.joint_names)
        self._monitor.detector.allow_contact(seconds, joints)
        return f'contact is intended for {seconds:g} s'


def main() -> int:
    return run_node(CollisionObserverNode)


if __name__ == '__main__':
    sys.exit(main())
