"""`./armsense excite run`: moves the arm along a designed motion and records a bag.

    excite run excite.yaml --periods 10 --bag run        # a simulated arm, launched here
    excite run excite.yaml --arm my_arm.yaml --bag run   # the same with an arm of your own
    excite run excite.yaml --live --bag run              # the arm that is launched and enabled

The bag is checked at the end: complete, followed, within limits, nothing hit.
"""

from __future__ import annotations

import argparse
from pathlib import Path
import sys
from typing import Any

from rich.console import Console

from armsense.cli.command import answer
from armsense.errors import ArmsenseError
from armsense.jobs.files import read_motion
from armsense_bringup.excite.drive import drive, drive_running, run_bar


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog='armsense excite run', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('file', type=Path, help='excite.yaml or friction.yaml')
    parser.add_argument('--periods', type=int, help='default: 5, a friction sweep 1')
    parser.add_argument('--bag', type=Path, help='folder to make (default: beside the file)')
    parser.add_argument('--arm', help='simulated, by name or yaml file (default: by the name in '
                        'the file)')
    parser.add_argument('--model', type=Path, help='model.yaml that drives the simulated arm')
    parser.add_argument('--live', action='store_true',
                        help='use the arm that runs (launched with identification:=true)')
    parser.add_argument('--namespace', default='', help='of the running arm')
    parser.add_argument('--json', action='store_true')
    options = parser.parse_args(arguments)
    console = Console(stderr=True, highlight=False)
    bag = options.bag or options.file.with_name(options.file.stem + '_bag')
    return answer('armsense', lambda: run(options, bag, console), options.json, 'cancelled')


def run(options: argparse.Namespace, bag: Path, console: Console) -> dict[str, Any]:
    """Drive and tell what the checks of the recording said."""
    said = _drive(options, bag, console)
    console.print(f'recorded: {bag}', soft_wrap=True)
    for sentence in said.split('; '):
        console.print(f'  {sentence}')
    return {'bag': str(bag), 'periods': options.periods, 'checks': said}


def _drive(options: argparse.Namespace, bag: Path, console: Console) -> str:
    motion = read_motion(options.file)
    if options.periods is None:
        options.periods = 1 if motion.kind == 'friction_sweep' else 5
    if bag.exists():
        raise ArmsenseError(f'the bag {bag} exists already; choose another name or remove it')
    with run_bar(console) as bar:
        if options.live:
            return drive_running(options.file, options.periods, bag, options.namespace, bar)
        return drive(options.file, options.periods, bag, options.arm or motion.arm, bar,
                     options.model)


if __name__ == '__main__':
    sys.exit(main())
