"""`./armsense excite run`: moves the arm along a designed motion and records a bag.

    excite run excite.yaml --periods 10 --bag run        # a simulated arm, launched here
    excite run excite.yaml --arm my_arm.yaml --bag run   # the same with an arm of your own
    excite run excite.yaml --live --bag run              # the arm that is launched and enabled

The bag is checked at the end: complete, followed, within limits, nothing hit.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
import sys
from typing import Any

from action_msgs.msg import GoalStatus
from rich.console import Console

from armsense.cli.command import answer, step_bar
from armsense.errors import ArmsenseError
from armsense.jobs.files import MotionFile, read_motion
from armsense_bringup.launch.plan import load
from armsense_bringup.launch.supervisor import Supervisor
from armsense_bringup.workspace.own_domain import keep_apart
from armsense_msgs.action import RunExcitation
from armsense_node.arm_client import ArmClient

ACTION = 'run_excitation'
A_DAY = 24 * 3600.0    # [s] that a run may take at most


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
    return answer('armsense', lambda: run(options), options.json, 'cancelled')


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Drive and tell what the checks of the recording said."""
    console = Console(stderr=True, highlight=False)
    motion = read_motion(options.file)
    periods = options.periods
    if periods is None:
        periods = 1 if motion.kind == 'friction_sweep' else 5
    bag = options.bag or options.file.with_name(options.file.stem + '_bag')
    if bag.exists():
        raise ArmsenseError(f'the bag {bag} exists already; choose another name or remove it')
    if options.live:
        said = drive_running(options.file, periods, bag, options.namespace)
    else:
        arm = options.arm or _arm(motion, options.file)
        said = drive(options.file, periods, bag, arm, options.model)
    console.print(f'recorded: {bag}', soft_wrap=True)
    for sentence in said.split('; '):
        console.print(f'  {sentence}')
    return {'bag': str(bag), 'periods': periods, 'checks': said}


def _arm(motion: MotionFile, file: Path) -> str:
    """What loads the arm of a motion."""
    return motion.arm if motion.arm_file is None else motion.arm_file.find(motion.arm, file)


def drive(file: Path, periods: int, bag: Path, arm: str, model: Path | None = None) -> str:
    """Drive a simulated arm in lock-step, with an identified model if one is given, and record.

    Returns:
        What the checks of the recording said.
    """
    keep_apart()
    launch_file = Path(os.environ['ARMSENSE_ROOT']) / 'launch' / 'arm.launch.xml'
    folder = os.path.commonpath([file.resolve().parent, bag.resolve().parent])
    arguments = {'arm': arm, 'lockstep': 'true', 'real_time_factor': '0', 'identification': 'true',
                 'identification_folder': folder}
    if model is not None:
        arguments['model'] = str(model.absolute())
    with Supervisor(load(launch_file, arguments)) as supervisor, \
            ArmClient('excite', failure=lambda: supervisor.failure) as client:
        return _carry_out(client, file, periods, bag)


def drive_running(file: Path, periods: int, bag: Path, namespace: str) -> str:
    """The same with the arm that runs in a namespace."""
    with ArmClient('excite', namespace) as client:
        try:
            client.find_action(RunExcitation, ACTION)
        except ArmsenseError as error:
            raise ArmsenseError(f'{error}; launch it with identification:=true') from error
        return _carry_out(client, file, periods, bag)


def _carry_out(client: ArmClient, file: Path, periods: int, bag: Path) -> str:
    """Ctrl-C comes back when the arm has stopped."""
    def tell(message: RunExcitation.Impl.FeedbackMessage) -> None:
        feedback = message.feedback
        bar.update(task, completed=feedback.progress, description=(
            f'period {feedback.period}, {1e3 * feedback.tracking_error:.1f} mrad off'))

    goal = RunExcitation.Goal(file=str(file.absolute()), periods=periods,
                              bag=str(bag.absolute()))
    with step_bar() as bar:
        task = bar.add_task('starting', total=1.0)
        answer = client.carry_out(RunExcitation, ACTION, goal, A_DAY, tell)
    if answer.status != GoalStatus.STATUS_SUCCEEDED:
        raise ArmsenseError(answer.result.message)
    return str(answer.result.message)


if __name__ == '__main__':
    sys.exit(main())
