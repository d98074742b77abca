"""What the tool carries, as a message tells it."""

from __future__ import annotations

from typing import Any

from armsense.errors import ArmsenseError
from armsense.model.arm import Arm


def carrying(model: Arm, message: Any) -> Arm:
    """The arm with what a `geometry_msgs/InertiaStamped` says in its tool.

    Raises:
        ArmsenseError: The message is given in another frame, or no body is like that.
    """
    frame, body = message.header.frame_id, message.inertia
    if frame not in ('', model.tool_frame):
        raise ArmsenseError(f'payload in the frame {frame!r}; it must be in that of the tool, '
                            f'{model.tool_frame!r}')
    return model.with_payload(body.m, (body.com.x, body.com.y, body.com.z), [
        [body.ixx, body.ixy, body.ixz], [body.ixy, body.iyy, body.iyz],
        [body.ixz, body.iyz, body.izz]])
