"""`./armsense teach`: lead the arm by hand, keep what it did, let it repeat that.

    teach record --arm laas4 --out lesson.yaml       # floats until Enter (or --seconds) ends it
    teach play lesson.yaml

A running `dynamic_controller` is needed; `--namespace` chooses among several arms. While the arm
floats it carries itself; afterwards it holds where the hand left it, with the law it had before.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
import signal
import sys
from typing import Any

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
import numpy as np
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from armsense.cli.command import answer
from armsense.control import DYNAMIC_LAWS
from armsense.control.config import ControllerConfig
from armsense.errors import ArmsenseError, UnknownName
from armsense.jobs.files import check_target
from armsense.model import Arm
from armsense.trajectory import Clearance, Limits, point_to_point, QuinticSpline
from armsense.trajectory.lesson import clean, CleanOptions, Lesson
from armsense_msgs.srv import SetString
from armsense_node.arm_client import ArmClient, trajectory_message

PATIENCE = 20.0   # [s] for a service or the next state
CONTROLLER = 'dynamic_controller'
SWITCH, HOLD = f'{CONTROLLER}/switch', f'{CONTROLLER}/hold'


class Teacher:
    """Client of the controller."""

    def __init__(self, namespace: str = '') -> None:
        """Join the graph, in the namespace of the arm."""
        self._samples: list[tuple[float, list[str], list[float]]] = []
        self._recording = False
        self._latest: JointState | None = None
        self._arm = ArmClient('teach', namespace, PATIENCE)
        self._arm.node.create_subscription(JointState, 'joint_states', self._hear, 50)

    def close(self) -> None:
        """Leave the graph."""
        self._arm.close()

    def record(self, joints: tuple[str, ...], law: str,
               wait: Callable[[], None]) -> tuple[np.ndarray, np.ndarray]:
        """Float while `wait` runs; times [s] (M,) and joint angles [rad] (M, n)."""
        self._arm.find(SetString, SWITCH)
        self._arm.find(Trigger, HOLD)         # both are needed to end the floating
        self._samples.clear()
        try:
            self._ask(SWITCH, 'float')
            self._recording = True
            wait()
        finally:   # after Ctrl-C, too
            self._recording = False
            try:
                self._ask(HOLD)
            finally:
                self._ask(SWITCH, law)
        return _table(self._samples, joints)

    def drive(self, joints: tuple[str, ...], motion: QuinticSpline) -> None:
        """Send a motion and wait for its end."""
        goal = FollowJointTrajectory.Goal(trajectory=message_of(joints, motion))
        answer = self._arm.carry_out(FollowJointTrajectory, 'follow_joint_trajectory', goal,
                                     patience=10.0 * motion.duration + 30.0)
        if answer.status != GoalStatus.STATUS_SUCCEEDED:
            raise ArmsenseError(f'the arm did not arrive: {answer.result.error_string or "?"}')

    def position(self, joints: tuple[str, ...]) -> np.ndarray:
        """Where the arm is [rad], (n,)."""
        state = self.wait_for_state()
        return _table([(0.0, list(state.name), list(state.position))], joints)[1][0]

    def sleep(self, seconds: float) -> None:
        """Wait by the arm's own clock, which a simulation may stretch."""
        self.wait_for_state()
        end = self._time() + seconds
        while self._time() < end:
            self._await_state()

    def _await_state(self) -> None:
        now = self._time()
        self._arm.wait(lambda: self._time() > now, what='the next of joint_states')

    def wait_for_state(self) -> JointState:
        """The newest state; the first one is waited for."""
        self._arm.wait(lambda: self._latest is not None, what='joint_states of a running arm')
        return self._latest

    def _time(self) -> float:
        """Stamp of the newest state [s]."""
        stamp = self.wait_for_state().header.stamp
        return float(stamp.sec + 1e-9 * stamp.nanosec)

    def _hear(self, message: JointState) -> None:
        self._latest = message
        if self._recording:
            stamp = message.header.stamp
            self._samples.append((stamp.sec + 1e-9 * stamp.nanosec, list(message.name),
                                  list(message.position)))

    def _ask(self, service: str, text: str | None = None) -> None:
        answer = self._arm.call(service, text)
        if not answer.success:
            what = ' to '.join(filter(None, (service.rpartition('/')[2], text)))
            raise ArmsenseError(f'{what}: {answer.message}')


def message_of(joints: tuple[str, ...], motion: QuinticSpline) -> JointTrajectory:
    """Waypoints with velocities and accelerations, so that the controller makes this spline."""
    return trajectory_message(joints, list(zip(*motion.waypoints, strict=True)))


def _table(samples: list[tuple[float, list[str], list[float]]],
           joints: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    times: list[float] = []
    rows: list[list[float]] = []
    for stamp, names, positions in samples:
        missing = [joint for joint in joints if joint not in names]
        if missing:
            raise ArmsenseError(f'joint_states lacks {", ".join(missing)}; it has '
                                f'{", ".join(names)}')
        if not times or stamp > times[-1]:
            times.append(stamp)
            rows.append([positions[names.index(joint)] for joint in joints])
    return np.array(times), np.array(rows).reshape(len(rows), len(joints))


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand; returns the exit code."""
    options = make_parser().parse_args(arguments)
    handlers = {number: signal.signal(number, _end) for number in (signal.SIGTERM, signal.SIGHUP)}
    teacher = Teacher(options.namespace)
    try:
        return answer('armsense', lambda: options.handler(teacher, options), as_json=False)
    finally:
        teacher.close()
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _end(number: int, _: Any) -> None:
    sys.exit(128 + number)


def make_parser() -> argparse.ArgumentParser:
    """Subcommands of `teach`."""
    parser = argparse.ArgumentParser(prog='armsense teach', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--namespace', default='', help='of the arm')
    commands = parser.add_subparsers(required=True, metavar='COMMAND')
    record = commands.add_parser('record', help='float and keep what the hand does')
    record.add_argument('--arm', default='laas4')
    record.add_argument('--out', default='lesson.yaml')
    record.add_argument('--seconds', type=float, help='instead of waiting for Enter')
    record.add_argument('--law', default='', help='afterwards; default: that of the arm')
    record.add_argument('--cutoff', type=float, default=CleanOptions.cutoff, help='[Hz]')
    record.add_argument('--tolerance', type=float, default=CleanOptions.tolerance, help='[rad]')
    record.add_argument('--speed', type=float, default=CleanOptions.speed,
                        help='fraction of the limits, 0 to 1')
    record.set_defaults(handler=_record)
    play = commands.add_parser('play', help='drive a lesson')
    play.add_argument('lesson')
    play.set_defaults(handler=_play)
    return parser


def _record(teacher: Teacher, options: argparse.Namespace) -> None:
    model = Arm.load(options.arm)
    config = ControllerConfig.of(model)
    law = options.law or config.law
    if law not in DYNAMIC_LAWS:
        raise UnknownName(f'law of {CONTROLLER}', law, DYNAMIC_LAWS)
    config.gains(law)
    check_target(Path(options.out), 'lesson.yaml')

    def wait() -> None:
        if options.seconds is not None:
            teacher.sleep(options.seconds)
        else:
            _wait_for_enter()
    times, positions = teacher.record(model.joint_names, law, wait)
    lesson = clean(times, positions, model, CleanOptions(
        cutoff=options.cutoff, tolerance=options.tolerance, speed=options.speed))
    lesson.write(options.out)
    print(f'{options.out}: {len(lesson.times)} waypoints of {len(times)} samples, '
          f'{lesson.times[-1]:.1f} s ({lesson.stretch:.2f} times as long as by hand), '
          f'within {lesson.deviation:.4f} rad')
    for problem in problems(lesson, model):
        print(f'it will not be driven: {problem}')


def _wait_for_enter() -> None:
    try:
        input('The arm floats: lead it, then press Enter. ')
    except EOFError:
        raise ArmsenseError('there is no keyboard to press Enter on: give --seconds') from None


def problems(lesson: Lesson, model: Arm) -> list[str]:
    """Why the controller would refuse what a hand could do: floor, or the arm itself."""
    config = ControllerConfig.of(model)
    clearance = Clearance(model, floor=config.floor, self_distance=config.self_distance)
    return list(map(str, clearance.check(lesson.trajectory)))


def _play(teacher: Teacher, options: argparse.Namespace) -> None:
    lesson = Lesson.read(options.lesson)
    model = Arm.load(lesson.arm)
    here, start = teacher.position(lesson.joints), lesson.positions[0]
    teacher.drive(lesson.joints, point_to_point(here, start, Limits.of(model), model, 0.5))
    teacher.drive(lesson.joints, lesson.trajectory)
    print(f'{options.lesson}: driven in {lesson.times[-1]:.1f} s')


if __name__ == '__main__':
    sys.exit(main())
