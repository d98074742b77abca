"""The topic `imu` of a base that moves, for both observers."""

from __future__ import annotations

from dataclasses import dataclass
import time

from rclpy.node import Node
from sensor_msgs.msg import Imu

from armsense.base.imu_motion import ImuMotion, stamp_ns
from armsense.errors import ArmsenseError
from armsense.model.base_motion import BaseMotion
from armsense.schema import quantity
from armsense_node.lockstep import lockstep_qos
from armsense_node.loop import DirectSubscription, stream_qos
from armsense_node.parameters import LockstepParameters

LOCKSTEP_PATIENCE = 10.0   # [s] wall clock


@dataclass(frozen=True, kw_only=True)
class ImuParameters(LockstepParameters):
    """Whether and how a unit sits in the base."""

    imu: bool = quantity(False, text='the base moves; its motion comes from the topic imu')
    imu_rpy: tuple[float, float, float] = quantity(
        (0.0, 0.0, 0.0), unit='rad', text='turn of the imu in the base frame, about fixed x, y, z')
    imu_position: tuple[float, float, float] = quantity(
        (0.0, 0.0, 0.0), unit='m', text='of the imu in the base frame')


class ImuTopic:
    """Motion of the base at each state."""

    def __init__(self, node: Node, settings: ImuParameters) -> None:
        """Subscribe."""
        self._imu = ImuMotion(rpy=settings.imu_rpy, position=settings.imu_position)
        self._lockstep = settings.lockstep
        self._topic = DirectSubscription(node, Imu, 'imu',
                                         lockstep_qos() if self._lockstep else stream_qos())

    def motion(self, now: int) -> BaseMotion:
        """At a state of this time [ns]; unknown where the unit is silent."""
        message = self._wait_for(now) if self._lockstep else self._topic.take_latest()
        if message is not None:
            self._imu.take_message(message, now * 1e-9)
        return self._imu.at(now * 1e-9)

    def _wait_for(self, stamp: int) -> Imu:
        """The reading of the same instant, so that a run with the same seed is the same run."""
        end = time.monotonic() + LOCKSTEP_PATIENCE
        while (left := end - time.monotonic()) > 0.0:
            self._topic.raise_if_stopped()
            message = self._topic.wait_oldest(min(left, 0.05))
            if message is not None and stamp_ns(message) == stamp:
                return message
        raise ArmsenseError(f'lock-step: no imu reading of {stamp * 1e-9:.3f} s within '
                            f'{LOCKSTEP_PATIENCE:.0f} s; does the simulator publish them?')
