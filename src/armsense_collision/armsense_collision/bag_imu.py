"""Motion of the base from the inertial unit that a bag has recorded."""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu

from armsense.base.imu_motion import ImuMotion
from armsense_collision.imu_topic import stamp_ns, take

Vector = tuple[float, float, float]


class Mounting(NamedTuple):
    """Of the unit in the base frame."""

    rpy: Vector = (0.0, 0.0, 0.0)        # [rad] about fixed x, y, z
    position: Vector = (0.0, 0.0, 0.0)   # [m]


def add_imu_options(parser: argparse.ArgumentParser) -> None:
    """Options of commands that read bags."""
    group = parser.add_argument_group('a base that moved (bags with the topic imu)')
    group.add_argument('--imu-rpy', type=float, nargs=3, default=(0.0, 0.0, 0.0), metavar='RAD',
                       help='turn of the imu in the base frame')
    group.add_argument('--imu-position', type=float, nargs=3, default=(0.0, 0.0, 0.0),
                       metavar='M', help='of the imu in the base frame')
    group.add_argument('--ignore-imu', action='store_true', help='take the base as standing')


def mounting(options: argparse.Namespace) -> Mounting | None:
    """What the options say; None: the unit is ignored."""
    if options.ignore_imu:
        return None
    return Mounting(tuple(options.imu_rpy), tuple(options.imu_position))


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
    readings = sorted((deserialize_message(d, Imu) for d in data), key=stamp_ns)
    newest = np.searchsorted([stamp_ns(r) for r in readings], stamps, side='right')
    imu = ImuMotion(rpy=mounted.rpy, position=mounted.position)
    rows = np.empty((len(stamps), 3, 3))
    before = 0
    for k, (stamp, count) in enumerate(zip(stamps.tolist(), newest.tolist(), strict=True)):
        if count > before:
            take(imu, readings[count - 1], stamp * 1e-9)
            before = count
        rows[k] = imu.at(stamp * 1e-9)
    return rows
