"""A motion through `run_excitation`: on a simulated arm launched here, or on one that runs."""

from __future__ import annotations

import os
from pathlib import Path

from action_msgs.msg import GoalStatus
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from armsense.errors import ArmsenseError
from armsense_bringup.launch.plan import load
from armsense_bringup.launch.supervisor import Supervisor
from armsense_bringup.workspace.own_domain import keep_apart
from armsense_msgs.action import RunExcitation
from armsense_node.arm_client import ArmClient

ACTION = 'run_excitation'
A_DAY = 24 * 3600.0    # [s] that a run may take at most


def drive(file: Path, periods: int, bag: Path, arm: str, bar: Progress,
          model: Path | None = None) -> str:
    """Drive a simulated arm in lock-step and record; what the checks of the recording said.

    Args:
        file: Motion.
        periods: How often.
        bag: Folder to make.
        arm: Name.
        bar: Shows where the run is.
        model: That the arm is driven with; None: the nominal one.
    """
    keep_apart()
    launch_file = Path(os.environ['ARMSENSE_ROOT']) / 'launch' / 'arm.launch.xml'
    folder = os.path.commonpath([file.resolve().parent, bag.resolve().parent])
    arguments = {'arm': arm, 'lockstep': 'true', 'identification': 'true',
                 'identification_folder': folder}
    if model is not None:
        arguments['model'] = str(model.absolute())
    with Supervisor(load(launch_file, arguments)) as supervisor, \
            ArmClient('excite', failure=lambda: supervisor.failure) as client:
        return _run(client, file, periods, bag, bar)


def drive_running(file: Path, periods: int, bag: Path, namespace: str, bar: Progress) -> str:
    """The same with the arm that runs in a namespace."""
    with ArmClient('excite', namespace) as client:
        try:
            client.find_action(RunExcitation, ACTION)
        except ArmsenseError as error:
            raise ArmsenseError(f'{error}; launch it with identification:=true') from error
        return _run(client, file, periods, bag, bar)


def _run(client: ArmClient, file: Path, periods: int, bag: Path, bar: Progress) -> str:
    """Ctrl-C comes back when the arm has stopped."""
    task = bar.add_task('starting', total=1.0)

    def tell(message: RunExcitation.Impl.FeedbackMessage) -> None:
        feedback = message.feedback
        bar.update(task, completed=feedback.progress, description=(
            f'period {feedback.period}, {1e3 * feedback.tracking_error:.1f} mrad off'))

    goal = RunExcitation.Goal(file=str(file.absolute()), periods=periods,
                              bag=str(bag.absolute()))
    answer = client.carry_out(RunExcitation, ACTION, goal, A_DAY, tell)
    if answer.status != GoalStatus.STATUS_SUCCEEDED:
        raise ArmsenseError(answer.result.message)
    return str(answer.result.message)


def run_bar(console: Console) -> Progress:
    """Shows where a run is."""
    return Progress(TextColumn('{task.description}'), BarColumn(), TimeElapsedColumn(),
                    console=console)
