"""The joint residual beside the base residual: fused contacts, and wrong sensors by name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile

from armsense.base.base_monitor import BaseMonitor, BaseResult
from armsense.base.contact_watch import Cause, ContactWatch, Explanation, Side
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.watch.collision_monitor import DetectionConfig
from armsense_msgs.msg import Residual
from armsense_node.health import Health, Level
from armsense_node.loop import StreamSubscription

PATIENCE = 10.0   # [s] wall clock, lock-step only
UNITS = {'encoder': 'rad', 'drive': 'Nm', 'cell': 'N'}


class Finding(NamedTuple):
    """An explained event."""

    explanation: Explanation
    seq: int      # of the state of the event
    stamp: int    # of that state [ns]
    first: bool   # whether this is the first look at it


class JointCheck:
    """Takes the joint residual of every state and watches both."""

    def __init__(self, node: Node, model: Arm, monitor: BaseMonitor, detection: DetectionConfig,
                 qos: QoSProfile, lockstep: bool) -> None:
        """`detection` is that of the collision observer, whose residual this is."""
        self._lockstep = lockstep
        self._stream = StreamSubscription(node, Residual, 'residual', model.n, qos=qos)
        self._watch = ContactWatch(model, monitor.layout, detection.mean_gain,
                                   monitor.options.gain)
        self._joints = Side(np.zeros(model.n), np.ones(model.n), False)
        self._announced = 0
        self._event = (0, 0)          # seq, stamp
        self._looked = 0              # seq of the event that has been looked at
        self._wrong: Cause | None = None

    def step(self, q: np.ndarray, base: BaseResult, seq: int, stamp: int,
             dt: float) -> Finding | None:
        """One state."""
        event = self._take(seq) or base.detection is not None
        if event:
            self._event = seq, stamp
        reading = base.reading
        explanation = self._watch.step(q, self._joints, Side(
            reading.residual, base.threshold, reading.valid, bool(base.lasting.any())), event, dt)
        if explanation is None:
            return None
        found = explanation.best.kind in UNITS and explanation.consistent
        self._wrong = explanation.best if found else None
        first, self._looked = self._looked != self._event[0], self._event[0]
        return Finding(explanation, *self._event, first)

    def health(self) -> Health:
        """What the comparison says."""
        if self._wrong is not None:
            return Health('joints and cells', describe(self._wrong), Level.ERROR)
        if not self._joints.valid:
            return Health('joints and cells', 'not compared: no valid joint residual', Level.WARN)
        return Health('joints and cells', 'nothing contradicts')

    def _take(self, seq: int) -> bool:
        """Take the newest joint residual; whether it announces a collision."""
        if self._lockstep:
            message = self._stream.wait_for(seq, PATIENCE)
            if message is None and not self._stream.deserted:
                raise ArmsenseError(f'lock-step: no residual of state {seq} within '
                                    f'{PATIENCE:.0f} s; is the collision observer running?')
        else:
            message = self._stream.take_latest()
        if message is None:
            if self._stream.deserted:     # its last word is not true for ever
                self._joints = self._joints._replace(valid=False)
            return False
        self._joints = _side(message)
        new = message.collision_seq > self._announced
        self._announced = message.collision_seq
        return bool(new)


def describe(cause: Cause) -> str:
    """A wrong sensor in words."""
    size = f'by {abs(cause.size):.2g} {UNITS[cause.kind]}'
    if cause.kind == 'cell':
        return f'load cell {cause.name} is wrong {size}: the joints do not feel it'
    if cause.kind == 'drive':
        return f'the torque of {cause.name} is wrong {size}: the base does not feel it'
    return f'the encoder of {cause.name} is wrong {size}: torques and cells agree on that'


def _side(message: Any) -> Side:
    return Side(np.array(message.filtered), np.array(message.threshold), bool(message.valid),
                any(message.lasting))
