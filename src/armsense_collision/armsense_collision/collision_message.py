"""Collision messages, for the node and for replays."""

from __future__ import annotations

import numpy as np

from armsense.base.fusion import Touch
from armsense.detector import ContactEstimate, Detection
from armsense.model import ArmModel
from armsense.types import Array
from armsense_msgs.msg import Collision

POINT_SPREAD = 0.1   # [m] standard deviation up to which a point is worth telling


def collision_message(model: ArmModel, detection: Detection, link: str, *, number: int, seq: int,
                      stamp: int) -> Collision:
    """The event as it is decided.

    Args:
        model: The arm.
        detection: What the detector said.
        link: That the residual points to.
        number: Counts the events.
        seq: Of the state.
        stamp: Of the state [ns].
    """
    j = detection.joint
    message = Collision(
        seq=int(seq), id=number, source='joints', joint=model.joint_names[j], link=link,
        residual=float(detection.residual[j]), threshold=float(detection.threshold[j]),
        confidence=confidence(detection.residual, detection.threshold))
    _stamp(message, stamp)
    return message


def confidence(residual: Array, threshold: Array) -> float:
    """Probability that this is no false alarm, rising with the height over the threshold.

    Of free residuals with an exponential tail, a share of exp(-5 (x - 1)) of those over the
    threshold reach x times its height (five standard deviations to a threshold).
    """
    over = float((np.abs(residual) / threshold).max()) - 1.0
    return float(1.0 - 0.5 * np.exp(-5.0 * max(over, 0.0)))


def add_contact(message: Collision, contact: ContactEstimate) -> Collision:
    """The same event with force and point, and the link that is known better by now."""
    message.link = contact.link
    message.force.x, message.force.y, message.force.z = contact.force.tolist()
    message.force_covariance = contact.force_covariance.ravel().tolist()
    message.force_observable = bool(contact.force_observable)
    message.point.x, message.point.y, message.point.z = contact.point.tolist()
    message.point_observable = bool(contact.point_observable)
    return message


def base_message(name: str, residual: float, threshold: float, *, number: int, seq: int,
                 stamp: int) -> Collision:
    """An event of the load cells; `name` is the axis, such as 'Fz'."""
    message = Collision(seq=int(seq), id=number, source='base', joint=name, residual=residual,
                        threshold=threshold,
                        confidence=confidence(np.array([residual]), np.array([threshold])))
    _stamp(message, stamp)
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
    message.force.x, message.force.y, message.force.z = touch.force.tolist()
    message.force_covariance = touch.force_covariance.ravel().tolist()
    spread = float(np.sqrt(np.trace(touch.force_covariance)))
    message.force_observable = bool(spread < np.linalg.norm(touch.force))
    message.point.x, message.point.y, message.point.z = touch.point.tolist()
    message.point_observable = bool(np.sqrt(np.trace(touch.covariance)) < POINT_SPREAD)
    _stamp(message, stamp)
    return message


def _stamp(message: Collision, stamp: int) -> None:
    message.header.frame_id = 'base_link'
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(int(stamp), 10**9)
