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

import numpy as np
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.task import Future
from sensor_msgs.msg import JointState

from armsense.cli import tasks
from armsense.cli.worker import Cancelled, Worker
from armsense.errors import ArmsenseError
from armsense.identify.drift import DriftMonitor, DriftOptions
from armsense.jobs.files import confined, period, read_motion
from armsense.model import Arm
from armsense.model.model_file import ModelFile
from armsense.schema import quantity, same_as
from armsense_identification.excitation_run import Driven, ExcitationRun
from armsense_msgs.action import DesignExcitation, Identify, RunExcitation
from armsense_msgs.msg import Collision, Residual
from armsense_node.health import Health, HealthTopic, Level
from armsense_node.loop import DirectSubscription, event_qos, run_node, stream_qos
from armsense_node.parameters import declare, LockstepParameters, ModelParameters

TICK = 0.05   # [s] between two looks at the running work
SAMPLING = 0.1       # [s] between two looks: the newest residual is enough for a mean square
MOVING = 0.05        # [rad/s] slower, friction may hold any torque
AFTER_CONTACT = 2.0  # [s] that do not count

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
        worker = Worker(tasks.design, arm=self._arm(goal), options=options,
                        out=self._file(goal.out or 'excite.yaml'),
                        model='' if goal.arm else self._settings.model)
        for progress in worker.poll(cancelled):
            yield progress and DesignExcitation.Feedback(
                progress=float(progress.fraction), criterion_value=float(progress.objective),
                feasible=bool(progress.feasible))
        outcome: tasks.Outcome = worker.result
        return DesignExcitation.Result(message=outcome.message, file=outcome.file,
                                       **outcome.values)

    def _identify(self, goal: Identify.Goal, cancelled: Asked) -> Steps:
        worker = Worker(tasks.identify, bags=[self._file(bag) for bag in goal.bags],
                        arm=self._arm(goal), out=self._file(goal.out or 'model.yaml'),
                        method=goal.method or 'sdp')
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
            yield from _with_feedback(self._run.approach(motion.start, cancelled))
            if bag is not None:
                yield from self._run.record(bag)
            drive = self._run.drive(motion.trajectory(periods), cancelled)
            begin = yield from _with_feedback(drive, lambda driven: RunExcitation.Feedback(
                progress=min(1.0, driven.seconds / (periods * one)),
                period=min(periods, int(driven.seconds / one) + 1),
                tracking_error=float(driven.tracking_error)))
            if bag is None:
                return RunExcitation.Result(message='driven, nothing recorded')
            yield from self._run.stop_recording()
        except ArmsenseError:
            self._run.abandon(bag)
            raise
        worker = Worker(tasks.check, bag=bag, file=file, arm=self._settings.arm,
                        model=self._settings.model, start=begin, periods=periods,
                        namespace=self.get_namespace().rstrip('/'))
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


class DriftWatch:
    """Feeds a `DriftMonitor` and publishes its verdict."""

    def __init__(self, node: Node, model: Arm, settings: Any) -> None:
        """Subscribe.

        Args:
            node: The server.
            model: The arm that is watched.
            settings: Its parameters.
        """
        self._node, self._joints = node, model.joint_names
        self._monitor = DriftMonitor(
            model.joint_names, _baseline(settings.model, model),
            DriftOptions(window=settings.drift_window, factor=settings.drift_factor))
        self._stamp = self._contact = -1e9        # [s]
        self._moving = False
        self._outdated = False
        # Taken by hand: the executor would wake with every one of these messages.
        self._residuals = DirectSubscription(node, Residual, 'residual', stream_qos())
        self._joint_states = DirectSubscription(node, JointState, 'joint_states', stream_qos())
        node.create_subscription(Collision, 'collision', self._on_collision, event_qos())
        node.create_timer(SAMPLING, self._look)
        HealthTopic(node, self._health)

    def _on_collision(self, message: Collision) -> None:
        self._contact = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec

    def _look(self) -> None:
        joints = self._joint_states.take_latest()
        if joints is not None:
            self._moving = max(map(abs, joints.velocity), default=0.0) > MOVING
        message = self._residuals.take_latest()
        if message is None:
            return
        stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        dt, self._stamp = stamp - self._stamp, stamp
        after_contact = 0.0 <= stamp - self._contact <= AFTER_CONTACT   # else: or a clock was set
        usable = message.valid and self._moving and not after_contact
        self._monitor.step(np.array(message.filtered), dt, usable)

    def _health(self) -> list[Health]:
        verdict = self._monitor.verdict()
        if verdict.outdated and not self._outdated:
            self._node.get_logger().warning(verdict.text)
        self._outdated = verdict.outdated
        values = {f'{kind} {joint} [Nm]': float(value)
                  for kind, row in (('error', verdict.error), ('baseline', verdict.baseline))
                  for joint, value in zip(self._joints, row, strict=True)}
        return [Health('model fit', verdict.text, Level.WARN if verdict.outdated else Level.OK,
                       values)]


def _baseline(path: str, model: Arm) -> np.ndarray | None:
    """RMS of the residual when the model was new, where its file tells."""
    known = ModelFile.read(path, model.name).residual if path else None
    if known is None:
        return None
    return np.asarray(np.hypot(known.mean, known.sigma))


def _with_feedback(steps: Iterator[Any], feedback: Callable[[Driven], Any] | None = None) -> Steps:
    """The same steps with feedback in the words of the action, or without."""
    while True:
        try:
            driven = next(steps)
        except StopIteration as end:
            return end.value
        yield feedback(driven) if feedback and driven is not None else None


def main() -> int:
    # Workers inherit the environment: one thread of linear algebra each, the arm needs the rest.
    os.environ.setdefault('OMP_NUM_THREADS', '1')
    return run_node(IdentificationServerNode)


if __name__ == '__main__':
    sys.exit(main())
