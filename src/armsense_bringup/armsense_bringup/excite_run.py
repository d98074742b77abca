"""`./armsense excite run`: moves the arm along a designed excitation and records a bag.

The simulated arm is launched and stopped here; a real arm must be launched and enabled before,
with `hardware:=spi` or `can`, and is then only sent the motion.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
import sys

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TimeElapsedColumn

from armsense_bringup.arm_client import ArmClient, Waypoint
from armsense_bringup.launch_plan import load
from armsense_bringup.launch_supervisor import Supervisor
from armsense_core.errors import ArmsenseError
from armsense_core.excitation.excitation import Excitation
from armsense_core.model import ArmConfig

SPACING = 0.02      # [s] between two waypoints
PATIENCE = 20.0     # wall-clock seconds granted per second of motion


def waypoints(excitation: Excitation, periods: int) -> list[Waypoint]:
    """The motion as a trajectory message wants it."""
    motion = excitation.trajectory(periods)
    times = np.append(np.arange(0.0, motion.duration, SPACING), motion.duration)
    if times[-1] - times[-2] < 1e-3:
        times = np.delete(times, -2)
    samples = [motion.sample(float(t)) for t in times]
    return [Waypoint(float(t), s.q.tolist(), s.dq.tolist(), s.ddq.tolist())
            for t, s in zip(times, samples, strict=True)]


def run(file: Path, periods: int, bag: Path, launch_file: Path, console: Console) -> None:
    """Drive the simulated arm and record.

    Raises:
        ArmsenseError: The arm did not follow, or something was hit: the bag is no use then.
    """
    excitation = Excitation.read(file)
    config = ArmConfig.load(excitation.arm)
    points = waypoints(excitation, periods)
    seconds = points[-1].time
    plan = load(launch_file, {'arm': excitation.arm, 'lockstep': 'true', 'record': 'true',
                              'bag': str(bag), 'reaction': 'stop'})
    with Supervisor(plan) as supervisor:
        client = ArmClient(supervisor, 60.0 + PATIENCE * seconds)
        try:
            client.wait_enabled()
            begin = client.time
            handle = client.send(config.joint_names, points)
            with Progress('moving', BarColumn(), TimeElapsedColumn(), console=console) as bar:
                task = bar.add_task('', total=seconds)
                client.wait(lambda: _progress(bar, task, client.time - begin) >= seconds,
                            'the motion')
            result = client.result(handle)
        finally:
            client.close()
            supervisor.stop()
            supervisor.wait(30.0)
    if result.error_code != 0:
        raise ArmsenseError(f'the arm did not follow: {result.error_string}')
    if client.collisions:
        raise ArmsenseError(f'{len(client.collisions)} collisions on the way; the first on '
                            f'{client.collisions[0].link}')


def _progress(bar: Progress, task: TaskID, seconds: float) -> float:
    bar.update(task, completed=seconds)
    return seconds


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog='armsense excite run', description=__doc__)
    parser.add_argument('file', type=Path, help='excite.yaml')
    parser.add_argument('--periods', type=int, default=5)
    parser.add_argument('--bag', type=Path, help='folder to make (default: beside the file)')
    parser.add_argument('--json', action='store_true')
    options = parser.parse_args(arguments)
    console = Console(stderr=True)
    bag = options.bag or options.file.with_name(options.file.stem + '_bag')
    root = Path(os.environ['ARMSENSE_ROOT'])
    try:
        run(options.file, options.periods, bag, root / 'launch' / 'arm.launch.xml', console)
    except ArmsenseError as error:
        console.print(f'[red]armsense:[/red] {error}')
        return 1
    console.print(f'recorded: {bag}')
    if options.json:
        print(json.dumps({'bag': str(bag), 'periods': options.periods}))
    return 0


if __name__ == '__main__':
    sys.exit(main())
