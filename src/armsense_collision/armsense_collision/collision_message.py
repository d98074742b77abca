"""Collision messages of the base: of its load cells alone, and of joints and cells together."""

from __future__ import annotations

import numpy as np

from armsense.base.fusion import Touch
from armsense.watch.collision_message import confidence, set_contact, set_stamp
from armsense_msgs.msg import Collision

POINT_SPREAD = 0.1   # [m] standard deviation up to which a point is worth telling


def base_message(name: str, residual: float, threshold: float, *, number: int, seq: int,
                 stamp: int) -> Collision:
    """An event of the load cells; `name` is the axis, such as 'Fz'."""
    message = Collision(seq=int(seq), id=number, source='base', joint=name, residual=residual,
                        threshold=threshold,
                        confidence=confidence(np.array([residual]), np.array([threshold])))
    set_stamp(message, stamp)
    return message


def fused_message(touch: Touch, probability: float, *, number: int, seq: int,
                  stamp: int) -> Collision:
    """A contact that joints and base agree on.

    Args:
        touch: The contact.
        probability: That it is one, and nothing that lies.
        number: Counts the contacts.
        seq: Of the state of the event.
        stamp: Of that state [ns].
    """
    message = Collision(seq=int(seq), id=number, source='fusion', link=touch.link,
                        confidence=probability)
    spread = float(np.sqrt(np.trace(touch.force_covariance)))
    set_contact(message, touch)
    message.force_observable = bool(spread < np.linalg.norm(touch.force))
    message.point_observable = bool(np.sqrt(np.trace(touch.covariance)) < POINT_SPREAD)
    set_stamp(message, stamp)
    return message
