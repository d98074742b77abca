"""`identification_server`: design, drive and identify as actions, and a look at the model's fit.

Heavy work runs in processes of its own, waiting is done by generators that a timer advances: the
node answers at any time. What is done stands in `tasks` and `excitation_run`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
import os
from pathlib import Path
import sys
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.task import Future

from armsense.cli import tasks
from armsense.cli.worker import Cancelled, Worker
from armsense.errors import ArmsenseError
from armsense.identify.drift import DriftOptions
from armsense.jobs.files import confined, period, read_motion
from armsense.schema import quantity, same_as
from armsense_identification.drift_watch import DriftWatch
from armsense_identification.excitation_run import Driven, ExcitationRun
from armsense_msgs.action import DesignExcitation, Identify, RunExcitation
from armsense_node.loop import run_node
from armsense_node.parameters import declare, LockstepParameters, ModelParameters

TICK = 0.05   # [s] between two looks at the running work

Steps = Generator[Any, None, Any]
Asked = Callable[[], bool]


@dataclass(frozen=True, kw_only=True)
class Settings(LockstepParameters, ModelParameters):
    """Parameters."""

    folder: str = quantity(
        '.', text='that the files of all goals lie in; relative names count from here')
    drift_window: float = same_as(DriftOptions, 'window')
    drift_factor: float = same_as(DriftOptions, 'factor')


class IdentificationServerNode(Node):
    """Three actions and one diagnosis."""

    def __init__(self) -> None:
        super().__init__('identification_server')
        self._settings = declare(self, Settings)
        self._model = self._settings.load()
        self._folder = Path(self._settings.folder).resolve()
        if not self._folder.is_dir():
            raise ArmsenseError(f'the folder {self._folder} does not exist')
        self._run = ExcitationRun(self, self._model, self._settings.lockstep)
        self._drift = DriftWatch(self, self._model, self._settings)
        self._running: dict[str, tuple[Any, Steps, Future]] = {}
        self._servers = [
            self._serve(DesignExcitation, 'design_excitation', self._design),
            self._serve(RunExcitation, 'run_excitation', self._drive),
            self._serve(Identify, 'identify', self._identify)]
        self.create_timer(TICK, self._tick)

    # -- the actions ---------------------------------------------------------------------------

    def _design(self, goal: DesignExcitation.Goal, cancelled: Asked) -> Steps:
        given = {'criterion': goal.criterion, 'period': goal.period, 'harmonics': goal.harmonics,
                 'seed': goal.seed}
        options = {name: value for name, value in given.items() if value}
        options['time_limit'] = goal.time_limit
        request = tasks.DesignRequest(self._arm(goal), self._file(goal.out or 'excite.yaml'),
                                      '' if goal.arm else self._settings.model, options)
        worker = Worker(tasks.design, request)
        for progress in worker.poll(cancelled):
            yield progress and DesignExcitation.Feedback(
                progress=float(progress.fraction), criterion_value=float(progress.objective),
                feasible=bool(progress.feasible))
        outcome: tasks.Outcome = worker.result
        return DesignExcitation.Result(message=outcome.message, file=outcome.file,
                                       **outcome.values)

    def _identify(self, goal: Identify.Goal, cancelled: Asked) -> Steps:
        worker = Worker(tasks.identify, tasks.IdentifyRequest(
            tuple(map(self._file, goal.bags)), self._arm(goal),
            self._file(goal.out or 'model.yaml'), goal.method or 'sdp'))
        for told in worker.poll(cancelled):
            yield told and Identify.Feedback(progress=float(told[0]), step=told[1])
        outcome: tasks.Outcome = worker.result
        return Identify.Result(message=outcome.message, file=outcome.file, **outcome.values)

    def _drive(self, goal: RunExcitation.Goal, cancelled: Asked) -> Steps:
        file, periods = Path(self._file(goal.file)), int(goal.periods) or 1
        motion = read_motion(file, self._model.name)
        one = period(motion)
        bag = Path(self._file(goal.bag)) if goal.bag else None
        try:
            yield from _quietly(self._run.approach(motion.start, cancelled))
            if bag is not None:
                yield from self._run.record(bag)
            drive = self._run.drive(motion.trajectory(periods), cancelled)
            begin = yield from _told(drive, lambda driven: RunExcitation.Feedback(
                progress=min(1.0, driven.seconds / (periods * one)),
                period=min(periods, int(driven.seconds / one) + 1),
                tracking_error=float(driven.tracking_error)))
            if bag is None:
                return RunExcitation.Result(message='driven, nothing recorded')
            yield from self._run.stop_recording()
        except ArmsenseError:
            self._run.abandon(bag)
            raise
        worker = Worker(tasks.check, tasks.CheckRequest(
            str(bag), str(file), self._settings.arm, self._settings.model, begin, periods,
            self.get_namespace().rstrip('/')))
        yield from worker.poll(cancelled)
        return RunExcitation.Result(message=worker.result.message, bag=str(bag))

    def _file(self, name: str) -> str:
        """A file or folder of a goal: anybody in the DDS domain may send one."""
        return str(confined(name, self._folder))

    def _arm(self, goal: Any) -> str:
        """The arm of a goal, by name or by a yaml file of the folder."""
        if not goal.arm or goal.arm == self._settings.arm:
            return str(self._settings.arm)
        return str(goal.arm) if goal.arm.isidentifier() else self._file(goal.arm)

    # -- what all actions share ----------------------------------------------------------------

    def _serve(self, kind: Any, name: str, steps: Callable[[Any, Asked], Steps]) -> ActionServer:
        async def execute(handle: Any) -> Any:
            if name in self._running:
                handle.abort()
                return kind.Result(message=f'{name} is busy with another goal; cancel it first')
            done = Future()
            work = steps(handle.request, lambda: bool(handle.is_cancel_requested))
            self._running[name] = (handle, work, done)
            ending = await done
            return self._conclude(kind, name, handle, ending)

        return ActionServer(self, kind, name, execute,
                            goal_callback=lambda request: GoalResponse.ACCEPT,
                            cancel_callback=lambda handle: CancelResponse.ACCEPT)

    def _conclude(self, kind: Any, name: str, handle: Any, ending: Any) -> Any:
        if isinstance(ending, Cancelled):
            handle.canceled()
            return kind.Result(message='cancelled; nothing was written')
        if isinstance(ending, ArmsenseError | OSError):
            handle.abort()
            self.get_logger().error(f'{name}: {ending}')
            return kind.Result(message=str(ending))
        handle.succeed()
        ending.success = True
        self.get_logger().info(f'{name}: {ending.message}')
        return ending

    def _tick(self) -> None:
        """One step of everything that runs."""
        for name, (handle, work, done) in list(self._running.items()):
            try:
                feedback = next(work)
            except StopIteration as end:
                self._end(name, done, end.value)
            except (ArmsenseError, OSError) as error:
                self._end(name, done, error)
            else:
                if feedback is not None:
                    handle.publish_feedback(feedback)

    def _end(self, name: str, done: Future, ending: Any) -> None:
        del self._running[name]
        done.set_result(ending)

    def close(self) -> None:
        """Leave no process behind."""
        for _, work, _ in self._running.values():
            work.close()
        self._run.abandon()


def _quietly(steps: Iterator[Any]) -> Steps:
    """The same steps without their feedback."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
        yield None


def _told(steps: Any, feedback: Callable[[Driven], Any]) -> Steps:
    """The same steps with feedback in the words of the action."""
    while True:
        try:
            driven = next(steps)
        except StopIteration as end:
            return end.value
        yield feedback(driven) if driven is not None else None


def main() -> int:
    # Workers inherit the environment: one thread of linear algebra each, the arm needs the rest.
    os.environ.setdefault('OMP_NUM_THREADS', '1')
    return run_node(IdentificationServerNode)


if __name__ == '__main__':
    sys.exit(main())
