"""The message `armsense_msgs/Collision`, filled in the same way by the node and by replays.

Messages are given empty: of the generated class where ROS is, else `recordings.bag_files.blank`.
"""

from typing import Any

import numpy as np

from armsense.detector import ContactEstimate, Detection
from armsense.model import Arm


def fill_collision(message: Any, model: Arm, detection: Detection, link: str, *, number: int,
                   seq: int, stamp: int) -> None:
    """The event as it is decided, at the link that the residual points to.

    `number` counts the events; `seq` and `stamp` [ns] are those of the state.
    """
    j = detection.joint
    message.seq, message.id, message.source = int(seq), number, 'joints'
    message.joint, message.link = model.joint_names[j], link
    message.residual = float(detection.residual[j])
    message.threshold = float(detection.threshold[j])
    message.confidence = confidence(detection.margin)
    set_stamp(message, stamp)


def confidence(margin: float) -> float:
    """Probability that this is no false alarm, rising with the height over the threshold.

    Of free residuals with an exponential tail, a share of exp(-5 (x - 1)) of those over the
    threshold reach x times its height (five standard deviations to a threshold).
    """
    return float(1.0 - 0.5 * np.exp(-5.0 * max(margin - 1.0, 0.0)))


def add_contact(message: Any, contact: ContactEstimate) -> None:
    """Force and point of the event, and the link that is known better by now."""
    set_contact(message, contact)
    message.force_observable = bool(contact.force_observable)
    message.point_observable = bool(contact.point_observable)


def set_contact(message: Any, contact: Any) -> None:
    """Link, force and point of a contact, whoever found it."""
    message.link = contact.link
    message.force.x, message.force.y, message.force.z = contact.force.tolist()
    message.force_covariance = contact.force_covariance.ravel()
    message.point.x, message.point.y, message.point.z = contact.point.tolist()


def set_stamp(message: Any, stamp: int) -> None:
    """Of the state, in the frame of the base."""
    message.header.frame_id = 'base_link'
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(int(stamp), 10**9)
