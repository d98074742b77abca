"""What the driver of an arm does with its motors."""

from __future__ import annotations

from enum import IntEnum


class Mode(IntEnum):
    """The same numbers as in armsense_msgs/DriverMode."""

    DISCONNECTED = 0
    STARTING = 1
    DISABLED = 2
    ENABLED = 3
    DAMPING = 4
