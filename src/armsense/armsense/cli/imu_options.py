"""Options of commands that read bags of an arm whose base moved."""

from __future__ import annotations

import argparse

from armsense.recordings.bag_tape import Mounting


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
