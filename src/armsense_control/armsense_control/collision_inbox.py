"""What the observers say, taken in time and, in lock-step, always in the same order."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node

from armsense_core.errors import ArmsenseError
from armsense_driver.lockstep import lockstep_qos
from armsense_driver.loop import DirectSubscription, event_qos, stream_qos, StreamSubscription
from armsense_msgs.msg import Collision, Residual

PATIENCE = 10.0   # [s] wall clock, lock-step only


class Bump(NamedTuple):
    """What the controller needs of a collision message."""

    joint: str
    link: str
    seq: int


class CollisionInbox:
    """Newest residual and new collisions."""

    def __init__(self, node: Node, n: int, lockstep: bool) -> None:
        """Subscribe.

        Args:
            node: The controller.
            n: Number of joints.
            lockstep: Wait for the residual of the state before, and for every collision that it
                announces, so that the same seed gives the same run.
        """
        self._residuals = StreamSubscription(node, Residual, 'residual', n,
                                             qos=lockstep_qos() if lockstep else stream_qos())
        self._collisions = DirectSubscription(node, Collision, 'collision', event_qos())
        self._lockstep = lockstep
        self._seq = 0
        self._announced = 0
        self._heard = 0
        self._residual: NDArray[np.float64] | None = None

    def take(self, seq: int, wait: bool) -> tuple[NDArray[np.float64] | None, Bump | None]:
        """Residual and the newest collision not taken before.

        Args:
            seq: State whose residual must be there in lock-step.
            wait: False before the first state: nobody has answered it yet.
        """
        self._note(self._residuals.take_latest())
        bump = self._drain(None)
        if self._lockstep and wait:
            deadline = time.monotonic() + PATIENCE
            while self._seq < seq or self._heard < self._announced:
                if self._seq < seq:
                    self._note(self._residuals.wait(0.1))
                else:
                    bump = self._drain(self._collisions.wait(0.1)) or bump
                if time.monotonic() > deadline:
                    raise ArmsenseError(f'lock-step: no residual of state {seq} within '
                                        f'{PATIENCE:.0f} s; is the collision observer running?')
        return self._residual, bump

    def _note(self, message: object) -> None:
        if message is None:
            return
        self._seq = message.seq                              # type: ignore[attr-defined]
        self._announced = message.collision_seq              # type: ignore[attr-defined]
        valid = message.valid                                # type: ignore[attr-defined]
        self._residual = np.array(message.filtered) if valid else None   # type: ignore[attr-defined]

    def _drain(self, first: Collision | None) -> Bump | None:
        newest = first
        for collision in self._collisions.drain():
            newest = collision
        if newest is None:
            return None
        self._heard = max(self._heard, newest.seq)
        return Bump(newest.joint, newest.link, newest.seq)
