"""What the commands of the suite share: how they speak and end, and options that several have."""

import argparse
from collections.abc import Callable, Collection, Sequence
import dataclasses
import json
from pathlib import Path
import sys
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from armsense.errors import ArmsenseError
from armsense.identify.robot_file import RobotFile
from armsense.model import Arm
from armsense.model.arm import carrying
from armsense.model.model_file import ModelFile
from armsense.recordings.bag_files import BagFacts
from armsense.recordings.bag_tape import BagTape, Mounting
from armsense.recordings.reader import Origin, read_run
from armsense.watch.collision_monitor import DetectionConfig


def answer(name: str, work: Callable[[], dict[str, Any] | None], as_json: bool,
           interrupted: str = 'interrupted') -> int:
    """Do the work of a command; returns its exit code.

    The result, if there is one, is printed as the last line (`as_json`); errors are one line
    behind the name of the command; `interrupted` says what Ctrl-C has left.
    """
    try:
        result = work()
    except ArmsenseError as error:
        print(f'{name}: {error}', file=sys.stderr)
        return 1
    except OSError as error:   # a missing file or folder, a full disk, a taken port
        print(f'{name}: {os_error(error)}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f'{name}: {interrupted}', file=sys.stderr)
        return 130
    if as_json:
        print(json.dumps(result))
    return 0


def os_error(error: OSError) -> str:
    """What the system refused, for a user: the file, if there is one, and why."""
    if error.filename is None or error.strerror is None:
        return str(error)
    return f'{error.filename}: {error.strerror}'


def console(as_json: bool) -> Console:
    """Where a command speaks to people: not on the output that its JSON object goes to."""
    return Console(stderr=as_json, highlight=False, width=None if sys.stdout.isatty() else 140)


def table(title: str, columns: Sequence[str], left: Collection[str] = ()) -> Table:
    """A table of numbers; columns of words are aligned left."""
    out = Table(title=title, title_justify='left')
    for column in columns:
        out.add_column(column, justify='left' if column in left else 'right')
    return out


def step_bar(transient: bool = False) -> Progress:
    """Shows what is done now, and how far it is."""
    return Progress(TextColumn('{task.description}'), BarColumn(), TimeElapsedColumn(),
                    console=Console(stderr=True), transient=transient)


def add_bag_options(parser: argparse.ArgumentParser) -> None:
    """Options of commands that put bags through an observer."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument('--arm', help='arm by name, its yaml file or a URDF, where neither model '
                       'nor bag tells it (default: laas4)')
    which.add_argument('--robot', type=Path, help='robot file (yaml), as for identify')
    parser.add_argument('--detection', help='yaml of observers; default: config/detection.yaml')
    parser.add_argument('--topic', help='of the states, where a bag has several arms')
    parser.add_argument('--json', action='store_true', help='one JSON object as the last line')
    group = parser.add_argument_group('a base that moved (bags with the topic imu)')
    group.add_argument('--imu-rpy', type=float, nargs=3, default=(0.0, 0.0, 0.0), metavar='RAD',
                       help='turn of the imu in the base frame')
    group.add_argument('--imu-position', type=float, nargs=3, default=(0.0, 0.0, 0.0),
                       metavar='M', help='of the imu in the base frame')
    group.add_argument('--ignore-imu', action='store_true', help='take the base as standing')


def mounting(options: argparse.Namespace) -> Mounting | None:
    """What the options say of the imu; None: it is ignored."""
    if options.ignore_imu:
        return None
    return Mounting(tuple(options.imu_rpy), tuple(options.imu_position))


class Watched(NamedTuple):
    """What a command puts recordings through, and how it reads them."""

    origin: Origin
    detection: DetectionConfig
    stored: ModelFile | None    # of `--model`
    imu: Mounting | None

    @property
    def model(self) -> Arm:
        return self.origin.arm

    def read(self, path: Path) -> tuple[Arm, BagTape]:
        """A recording, and the arm at its rate and with its load."""
        bag = read_run(path, self.origin, self.imu)
        model = self.model if bag.rate is None else self.model.with_rate(bag.rate)
        return (model if bag.payload is None else carrying(model, bag.payload)), bag


def watched(options: argparse.Namespace, data: Path | None = None) -> Watched:
    """By `--robot` or `--arm`, else by `--model`; the URDF of a robot may lie beside the data."""
    stored = ModelFile.read(options.model) if options.model else None
    if options.robot:
        robot = RobotFile.read(options.robot)
        model = robot.model(data)
        if options.model:
            model = ModelFile.read(options.model, arm=model.name).apply(model)
        options.arm = model.name
        origin = Origin(model, robot.source, robot)
    else:
        if not options.arm:
            told = '' if data is None else (BagFacts.read(data) or BagFacts()).arm_of(data)
            options.arm = stored.arm_name(options.model) if stored else told or 'laas4'
        origin = Origin(Arm.load(options.arm, options.model))
    if options.topic:
        origin = origin._replace(source=dataclasses.replace(origin.source, topic=options.topic))
    return Watched(origin, DetectionConfig.of(origin.arm, options.detection), stored,
                   mounting(options))
