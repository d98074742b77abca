"""Client of `run_excitation`: on an arm that runs already, or on a simulated one launched here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import os
from pathlib import Path
import time
from typing import Any

from action_msgs.msg import GoalStatus
import rclpy
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor

from armsense.errors import ArmsenseError
from armsense_bringup.launch_plan import load
from armsense_bringup.launch_supervisor import Supervisor
from armsense_bringup.own_domain import keep_apart
from armsense_msgs.action import RunExcitation

START = 60.0   # [s] for the server to appear

Tell = Callable[[RunExcitation.Feedback], None]


class ExcitationClient:
    """Asks one identification_server; close it at the end."""

    def __init__(self, namespace: str = '', supervisor: Supervisor | None = None) -> None:
        """Join the graph.

        Args:
            namespace: Of the arm.
            supervisor: Of processes whose failure ends every wait; None: they are not ours.
        """
        self._supervisor = supervisor
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self._node = rclpy.create_node('excite', namespace=namespace, context=self._context)
        self._action = ActionClient(self._node, RunExcitation, 'run_excitation')
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)

    def run(self, file: Path, periods: int, bag: Path, tell: Tell) -> str:
        """Drive and record; what the checks of the recording said.

        Raises:
            ArmsenseError: The run failed; its text tells why.
            KeyboardInterrupt: After Ctrl-C, when the arm has stopped.
        """
        deadline = time.monotonic() + START
        self._spin(lambda: self._action.server_is_ready() or time.monotonic() > deadline)
        if not self._action.server_is_ready():
            raise ArmsenseError('no identification_server offers run_excitation; launch the arm '
                                'with identification:=true')
        goal = RunExcitation.Goal(file=str(file.absolute()), periods=periods,
                                  bag=str(bag.absolute()))
        sending = self._action.send_goal_async(goal, lambda message: tell(message.feedback))
        self._spin(sending.done)
        handle = sending.result()
        ending = handle.get_result_async()
        try:
            self._spin(ending.done)
        except KeyboardInterrupt:
            handle.cancel_goal_async()
            self._spin(ending.done)
            raise
        answer = ending.result()
        if answer.status != GoalStatus.STATUS_SUCCEEDED:
            raise ArmsenseError(answer.result.message)
        return str(answer.result.message)

    def _spin(self, condition: Callable[[], bool]) -> None:
        while not condition():
            if self._supervisor is not None and self._supervisor.failed:
                raise ArmsenseError(f'the simulated arm ended:\n{self._supervisor.last_words}')
            self._executor.spin_once(0.1)

    def close(self) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()


@contextlib.contextmanager
def simulated_arm(arm: str, folder: str,
                  model: Path | None = None) -> Iterator[ExcitationClient]:
    """A simulated arm in lock-step with an identification_server; gone at the end.

    Args:
        arm: Name.
        folder: That the files of all goals lie in.
        model: That the arm is driven with; None: the nominal one.
    """
    keep_apart()
    launch_file = Path(os.environ['ARMSENSE_ROOT']) / 'launch' / 'arm.launch.xml'
    arguments = {'arm': arm, 'lockstep': 'true', 'identification': 'true',
                 'identification_folder': folder}
    if model is not None:
        arguments['model'] = str(model.absolute())
    with Supervisor(load(launch_file, arguments)) as supervisor:
        client = ExcitationClient(supervisor=supervisor)
        try:
            yield client
        finally:
            client.close()
            supervisor.stop()
            supervisor.wait(30.0)


def drive(file: Path, periods: int, bag: Path, arm: str, progress: Any, model: Path | None = None,
          ) -> str:
    """Drive a simulated arm and record; what the checks said.

    Args:
        file: Motion.
        periods: How often.
        bag: Folder to make.
        arm: Name.
        progress: A rich progress bar.
        model: That the arm is driven with; None: the nominal one.
    """
    folder = os.path.commonpath([file.resolve().parent, bag.resolve().parent])
    with simulated_arm(arm, folder, model) as client:
        return client.run(file, periods, bag, bar_teller(progress))


def bar_teller(progress: Any) -> Tell:
    """Feedback onto a progress bar."""
    task = progress.add_task('starting', total=1.0)

    def tell(feedback: RunExcitation.Feedback) -> None:
        progress.update(task, completed=feedback.progress,
                        description=f'period {feedback.period}, '
                        f'{1e3 * feedback.tracking_error:.1f} mrad off')

    return tell
