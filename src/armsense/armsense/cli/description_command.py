"""The URDF of an arm as it is or was identified, for Gazebo and other tools.

    description laas4 --model model.yaml > laas4.urdf

Launch files take it in place of xacro; Gazebo then has the arm that the nodes believe in.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
import sys

from armsense.cli.command import answer
from armsense.jobs.files import check_target
from armsense.model import Arm


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog='armsense description',
                                  description=(__doc__ or '').splitlines()[0])
    out.add_argument('arm', nargs='?', default='laas4', help='name or yaml file of the arm')
    out.add_argument('--model', default='', help='identified model.yaml; default: none')
    out.add_argument('--hardware', default='gazebo', choices=('gazebo', 'topic', 'mock', 'none'),
                     help='of the block for ros2_control; gazebo also has the rotors in the links')
    out.add_argument('--controllers', default='',
                     help='parameter file of the controller manager that Gazebo starts')
    out.add_argument('--out', type=Path, help='file to write; default: print')
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    return answer('description', lambda: _describe(options), False)


def _describe(options: argparse.Namespace) -> None:
    from armsense.sim.gazebo_description import description  # after --help, which needs no MuJoCo
    if options.out is not None:
        check_target(options.out, 'arm.urdf')
    text = description(Arm.load(options.arm, options.model or None), options.hardware,
                       options.controllers)
    if options.out is None:
        print(text)
    else:
        options.out.write_text(text + '\n')


if __name__ == '__main__':
    sys.exit(main())
