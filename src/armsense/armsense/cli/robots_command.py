"""Robots that are ready to use: what is known of them, and what is assumed.

robots                    a table
robots ur10e panda        all about these
robots --docs docs/robots.md
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
import sys
from typing import Any

from rich.console import Console

from armsense.cli.command import answer, console, table
from armsense.errors import ArmsenseError
from armsense.jobs.files import check_target
from armsense.model.ready_robot import EFFORTS, ready_robots, ReadyRobot
from armsense.schema import check_known

PAGE = """# Robots ready to use

`armsense robots` prints this list; `armsense robots --docs docs/robots.md` writes this page from
`config/robots/`. URDFs stay where their makers publish them: a ROS workspace that is sourced
(`package:`), or PyPI (`pip install "armsense[robots]"`).

The way is the same for every robot ROBOT:

1. **Record** a motion of all joints that nobody touches, a minute of it:
   `ros2 launch armsense_bringup observe.launch.xml robot:=ROBOT record:=true`, or
   `ros2 bag record /joint_states`, or your own table of angles and efforts.
2. **Identify**: `armsense identify RECORDING --arm ROBOT --out model.yaml`; read the verdict in
   `report.html`.
3. **Calibrate** with other motion that nobody touches:
   `armsense calibrate RECORDING --model model.yaml --rate 1`. It says how many minutes the rate
   needs.
4. **Watch**: `ros2 launch armsense_bringup observe.launch.xml robot:=ROBOT model:=model.yaml`, or
   in Python `armsense.watch(armsense.load('ROBOT', 'model.yaml'), thresholds='model.yaml')`.
   `armsense replay RECORDING --model model.yaml` asks what it would have said.

Without steps 2 and 3 the URDF's masses and thresholds of 15 % of the effort limits count: enough
for a hard push, not for a gentle one.
"""


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog='armsense robots', description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    out.add_argument('names', nargs='*', metavar='ROBOT', help='all about these')
    out.add_argument('--docs', type=Path, help='page to write')
    out.add_argument('--json', action='store_true', help='one JSON object as the last line')
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    return answer('robots', lambda: _robots(options, console(options.json)), options.json)


def _robots(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    files = ready_robots()
    for name in options.names:
        check_known('robot', name, files)
    found = {name: ReadyRobot.read(files[name]) for name in options.names or files}
    if options.docs is not None:
        check_target(options.docs, 'robots.md')
        options.docs.write_text(page(found))
    elif options.names:
        for robot in found.values():
            console.print(section(robot), markup=False, soft_wrap=True)
            console.print(f'URDF here: {_urdf(robot)}', markup=False, soft_wrap=True)
    else:
        rows = table('robots ready to use; `armsense robots NAME` tells more',
                     ('name', 'robot', 'joints', 'Hz', 'effort', 'URDF here'),
                     left=('name', 'robot', 'effort', 'URDF here'))
        for name, robot in found.items():
            rows.add_row(name, robot.title, str(len(robot.joints)), f'{robot.rate:g}',
                         robot.effort, 'yes' if _installed(robot) else 'no')
        console.print(rows)
    return {name: {'title': robot.title, 'joints': list(robot.joints), 'rate': robot.rate,
                   'effort': robot.effort, 'gains': list(robot.effort_gains),
                   'installed': _installed(robot)} for name, robot in found.items()}


def page(found: dict[str, ReadyRobot]) -> str:
    """The documentation of all of them."""
    return '\n'.join([PAGE, *map(section, found.values())])


def section(robot: ReadyRobot) -> str:
    gains = ', '.join(f'{g:g}' for g in robot.effort_gains)
    places = [place.at + ''.join(f' {key}:={value}' for key, value in place.arguments.items())
              for place in robot.urdf]
    return '\n'.join([
        f'## {robot.robot}: {robot.title}', '',
        f'- {len(robot.joints)} joints at {robot.rate:g} Hz; effort: {EFFORTS[robot.effort]}, '
        + (f'times {gains} Nm' if gains else 'gains not known'),
        f'- URDF: {"; or ".join(f"`{place}`" for place in places)}',
        *(f'- known: {text}' for text in robot.known),
        *(f'- assumed: {text}' for text in robot.assumed), ''])


def _urdf(robot: ReadyRobot) -> str:
    try:
        return str(robot.place()[0])
    except ArmsenseError as error:
        return str(error)


def _installed(robot: ReadyRobot) -> bool:
    """Without asking those places that would download."""
    offline = tuple(place for place in robot.urdf
                    if not place.at.startswith('robot_descriptions:'))
    try:
        replace(robot, urdf=offline).place()
    except ArmsenseError:
        return False
    return True


if __name__ == '__main__':
    sys.exit(main())
