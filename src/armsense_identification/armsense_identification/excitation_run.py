"""One run of a motion on a launched arm: record, approach, drive, stop recording.

The steps are generators that a timer advances, so that the node which runs them stays responsive;
they yield `Driven` while the arm moves, and None while they wait.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
import contextlib
import ctypes
from pathlib import Path
import shutil
import signal
import subprocess
import sys
import time
from typing import Any, NamedTuple

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
import numpy as np
from rclpy.action import ActionClient
from rclpy.node import Node
from sensor_msgs.msg import JointState

from armsense.cli.worker import Cancelled
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.trajectory import Limits, point_to_point, Trajectory
from armsense_msgs.msg import DriverMode
from armsense_node.arm_client import trajectory_message
from armsense_node.loop import DirectSubscription, latched_qos, stream_qos

SPACING = 0.02          # [s] between two waypoints
# [s] of the arm's clock between sending and beginning; on a busy machine virtual time overtakes
# the first.
LEADS = 2.0, 10.0, 50.0
NEAR = 0.01             # [rad] from the start pose that needs no approach
SLOW = 0.3              # share of the limits that an approach takes
PATIENCE = 60.0         # [s] for a server, a first state, the recorder
RECORDER = 'excitation_recorder'
MODE = 'motor_board/mode'
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)

Wait = Iterator[Any]


def _end_with_parent() -> None:
    """In a new process: end when the parent does, who may be killed and tell nobody."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class Driven(NamedTuple):
    """Where the motion is."""

    seconds: float           # since its beginning
    tracking_error: float    # [rad] largest over the joints


class ExcitationRun:
    """Speaks to the controller and the recorder."""

    def __init__(self, node: Node, model: Arm, lockstep: bool) -> None:
        """Listen.

        Args:
            node: Whose executor serves the callbacks.
            model: The arm.
            lockstep: Streams are reliable there.
        """
        self._node, self._model, self._lockstep = node, model, lockstep
        self._time: float | None = None     # [s] stamp of the newest state
        self._q = np.zeros(model.n)
        self._error = 0.0
        self._recorder: subprocess.Popen[bytes] | None = None
        self._client = ActionClient(node, FollowJointTrajectory, 'follow_joint_trajectory')
        self._mode: DriverMode | None = None
        # Taken when it is needed: the executor would wake with every message, for nothing.
        self._states = DirectSubscription(node, JointState, 'joint_states', stream_qos())
        node.create_subscription(DriverMode, MODE, self._on_mode, latched_qos())

    def _on_mode(self, message: DriverMode) -> None:
        self._mode = message

    def _look(self) -> bool:
        """Take the newest state; whether there has been one."""
        message = self._states.take_latest()
        if message is not None:
            order = [message.name.index(name) for name in self._model.joint_names]
            self._q = np.array(message.position)[order]
            self._time = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        return self._time is not None

    # -- steps ---------------------------------------------------------------------------------

    def record(self, bag: Path) -> Wait:
        """Start a recorder and wait until it listens."""
        if bag.exists():
            raise ArmsenseError(f'the bag {bag} exists already; choose another name or remove it')
        namespace = self._node.get_namespace()
        self._recorder = subprocess.Popen(
            [sys.executable, '-m', 'armsense_monitor.recorder_node', '--ros-args',
             '-p', f'bag:={bag}', '-p', f'lockstep:={str(self._lockstep).lower()}',
             '-r', f'__node:={RECORDER}', '-r', f'__ns:={namespace}'],
            preexec_fn=_end_with_parent)
        yield from self._wait(self._listens, 'the recorder')

    def _listens(self) -> bool:
        assert self._recorder is not None
        if self._recorder.poll() is not None:
            raise ArmsenseError('the recorder ended at once; its own words tell why')
        found = self._node.get_subscriptions_info_by_topic('motor_states')
        return any(info.node_name == RECORDER for info in found)

    def stop_recording(self) -> Wait:
        """End the recorder in order, so that the bag is complete."""
        if self._recorder is not None:
            recorder, self._recorder = self._recorder, None
            recorder.send_signal(signal.SIGINT)
            deadline = time.monotonic() + PATIENCE
            while recorder.poll() is None:
                if time.monotonic() > deadline:
                    recorder.kill()
                    recorder.wait()
                    raise ArmsenseError('the recorder did not end; the bag is not complete')
                yield None

    def approach(self, start: Any, cancelled: Callable[[], bool]) -> Wait:
        """To the pose where the motion begins, slowly, if the arm is elsewhere."""
        yield from self._wait(self._look, 'a state of the arm (joint_states)')
        yield from self._wait(self._enabled, 'enabling of the motors')
        if np.abs(self._q - start).max() > NEAR:
            motion = point_to_point(self._q, start, Limits.of(self._model), self._model, SLOW)
            yield from self.drive(motion, cancelled)

    def drive(self, motion: Trajectory,
              cancelled: Callable[[], bool]) -> Generator[Any, None, float]:
        """Follow a motion; the stamp at which it began is what the generator returns."""
        yield from self._wait(self._client.server_is_ready,
                              'a controller that offers follow_joint_trajectory')
        yield from self._wait(self._look, 'a state of the arm (joint_states)')
        for lead in LEADS:
            begin, result = yield from self._attempt(motion, lead, cancelled)
            if result.error_code != FollowJointTrajectory.Result.OLD_HEADER_TIMESTAMP:
                break
        if result.error_code != 0:
            raise ArmsenseError(f'the arm did not follow: {result.error_string}')
        return begin

    def _attempt(self, motion: Trajectory, lead: float, cancelled: Callable[[], bool],
                 ) -> Generator[Any, None, tuple[float, FollowJointTrajectory.Result]]:
        """Begin a motion `lead` [s] from now; when that was [s], and how it ended."""
        self._look()
        assert self._time is not None
        begin = round(self._time + lead, 6)
        future = self._client.send_goal_async(self._goal(motion, begin), self._on_feedback)
        yield from self._wait(future.done, 'an answer of the controller')
        handle = future.result()
        if not handle.accepted:
            raise ArmsenseError('the controller refused the motion; its log tells why')
        ending = handle.get_result_async()
        asked = False
        while not ending.done():
            if cancelled() and not asked:
                handle.cancel_goal_async()
                asked = True
            self._look()
            yield Driven(max(0.0, self._time - begin), self._error)
        if asked:
            raise Cancelled
        answer = ending.result()
        # Whoever else cancels, holds or sends a goal leaves no error code.
        if answer.result.error_code == 0 and answer.status != GoalStatus.STATUS_SUCCEEDED:
            raise ArmsenseError('the motion was stopped from elsewhere before its end')
        return begin, answer.result

    def abandon(self, bag: Path | None = None) -> None:
        """Leave nothing running, and nothing of a bag that this run began."""
        if self._recorder is not None:
            with contextlib.suppress(ArmsenseError):
                for _ in self.stop_recording():
                    time.sleep(0.01)
            if bag is not None:
                shutil.rmtree(bag, ignore_errors=True)

    # -- details -------------------------------------------------------------------------------

    def _enabled(self) -> bool:
        """Where a driver tells its mode, the motors must follow commands."""
        if not self._node.count_publishers(MODE):
            return True
        if self._mode is not None and self._mode.mode == DriverMode.DAMPING:
            raise ArmsenseError(f'the arm is in its safe state: {self._mode.explanation}')
        return self._mode is not None and self._mode.mode == DriverMode.ENABLED

    def _wait(self, condition: Callable[[], bool], what: str) -> Wait:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise ArmsenseError(f'{what} did not come within {PATIENCE:.0f} s; is the arm '
                                    'launched and enabled?')
            yield None

    def _on_feedback(self, message: Any) -> None:
        self._error = max(map(abs, message.feedback.error.positions), default=0.0)

    def _goal(self, motion: Trajectory, begin: float) -> FollowJointTrajectory.Goal:
        samples = ((t, motion.sample(t)) for t in _grid(motion.duration))
        # A contact ends the run.
        return FollowJointTrajectory.Goal(trajectory=trajectory_message(
            self._model.joint_names, [(t, s.q, s.dq, s.ddq) for t, s in samples], begin,
            reaction='stop'))


def _grid(duration: float) -> list[float]:
    count = max(1, round(duration / SPACING))
    return [float(t) for t in np.linspace(0.0, duration, count + 1)]
