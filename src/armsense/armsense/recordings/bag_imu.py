"""Motion of the base from the inertial unit that a bag has recorded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armsense.base.imu_motion import ImuMotion, stamp_ns
from armsense.recordings.definitions import deserialize, IMU, our_types

Vector = tuple[float, float, float]


class Mounting(NamedTuple):
    """Of the unit in the base frame."""

    rpy: Vector = (0.0, 0.0, 0.0)        # [rad] about fixed x, y, z
    position: Vector = (0.0, 0.0, 0.0)   # [m]


def base_motion(stamps: NDArray[np.int64], data: list[bytes],
                mounted: Mounting) -> NDArray[np.float64]:
    """Rows of `BaseMotion` at N states, (N, 3, 3).

    Each state gets the newest reading that is not later than it, as in the node, which gives
    the numbers of a lock-step run bit for bit. NaN where the unit was silent.

    Args:
        stamps: Of the states [ns], in order, (N,).
        data: Messages `sensor_msgs/Imu`, CDR.
        mounted: Where the unit sits.
    """
    readings = sorted((deserialize(our_types(), IMU, d) for d in data), key=stamp_ns)
    newest = np.searchsorted([stamp_ns(r) for r in readings], stamps, side='right')
    imu = ImuMotion(rpy=mounted.rpy, position=mounted.position)
    rows = np.empty((len(stamps), 3, 3))
    before = 0
    for k, (stamp, count) in enumerate(zip(stamps.tolist(), newest.tolist(), strict=True)):
        if count > before:
            imu.take_message(readings[count - 1], stamp * 1e-9)
            before = count
        rows[k] = imu.at(stamp * 1e-9)
    return rows
