"""The time of a state: monotonic, from the driver. Stamps are for people; their clock is set."""

from __future__ import annotations

from typing import Any


def state_time(state: Any) -> int:
    """Of a `MotorStates` record [ns]; its stamp where an older version has recorded it."""
    return int(state.time_ns or state.stamp_ns)
