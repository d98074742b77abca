"""A launched arm from the outside: watches its clock and mode, sends trajectories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import threading
import time
from typing import Any, NamedTuple

from control_msgs.action import FollowJointTrajectory
import rclpy
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile, ReliabilityPolicy
from trajectory_msgs.msg import JointTrajectoryPoint

from armsense.errors import ArmsenseError
from armsense_bringup.launch_supervisor import Supervisor
from armsense_msgs.msg import Collision, DriverMode, MotorStates
from armsense_node.loop import event_qos, latched_qos, StreamSubscription

STATES = 1000     # that are kept until somebody reads them


class Waypoint(NamedTuple):
    """A point of a trajectory; empty lists are left to the controller."""

    time: float                            # [s] after the start
    position: Sequence[float]              # [rad]
    velocity: Sequence[float] = ()         # [rad/s]
    acceleration: Sequence[float] = ()     # [rad/s^2]


class ArmClient:
    """Speaks to one arm; close it at the end."""

    def __init__(self, supervisor: Supervisor, patience: float) -> None:
        """Subscribe.

        Args:
            supervisor: Runs the arm's processes; one that fails ends every wait.
            patience: Wall-clock limit of everything this client waits for [s].
        """
        self._supervisor = supervisor
        self._deadline = time.monotonic() + patience
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self._node = rclpy.create_node('arm_client', context=self._context)
        self.time = 0.0          # [s] stamp of the newest state
        self._states_on = 0      # states since the motors are on
        self.mode: DriverMode | None = None
        self.collisions: list[Collision] = []
        # Read by whoever waits: the executor spent a quarter of a core on the states of lock-step.
        self._states = StreamSubscription(
            self._node, MotorStates, 'motor_states', None, qos=QoSProfile(
                depth=STATES, reliability=ReliabilityPolicy.BEST_EFFORT))
        subscribe = self._node.create_subscription
        subscribe(DriverMode, 'motor_board/mode', self._on_mode, latched_qos())
        subscribe(Collision, 'collision', self.collisions.append, event_qos())
        self._action = ActionClient(self._node, FollowJointTrajectory, 'follow_joint_trajectory')
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._closing = False
        self._thread = threading.Thread(target=self._spin)
        self._thread.start()

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Block until something is true.

        Raises:
            ArmsenseError: It takes too long, or a process failed; with the last output.
        """
        self._read_states()
        while not condition():
            if time.monotonic() > self._deadline or self._supervisor.failed:
                raise ArmsenseError(f'{what} did not happen:\n' + self.last_words())
            time.sleep(0.01)
            self._read_states()

    def wait_enabled(self) -> None:
        """Until the motors are on and a controller has answered that, so that it takes goals.

        Raises:
            ArmsenseError: The driver went to its safe state instead, and why; or as `wait`.
        """
        ends = (DriverMode.ENABLED, DriverMode.DAMPING)
        self.wait(lambda: self.mode is not None and self.mode.mode in ends, 'enabling')
        assert self.mode is not None
        if self.mode.mode == DriverMode.DAMPING:
            raise ArmsenseError(f'the motors are not enabled: {self.mode.explanation}')
        # In lock-step a state follows when the one before it has been answered.
        self.wait(lambda: self._states_on > 2, 'the first states of the enabled arm')

    def last_words(self) -> str:
        """What the processes printed last."""
        return self._supervisor.last_words

    def send(self, joints: Sequence[str], waypoints: Sequence[Waypoint], start: float = 0.0
             ) -> Any:
        """Send a trajectory; its goal handle.

        Args:
            joints: Names.
            waypoints: Points of the motion.
            start: Stamp at which it begins [s]; 0: now.
        """
        goal = FollowJointTrajectory.Goal()
        trajectory = goal.trajectory
        trajectory.joint_names = list(joints)
        _set_time(trajectory.header.stamp, start)
        for waypoint in waypoints:
            point = JointTrajectoryPoint(
                positions=[float(v) for v in waypoint.position],
                velocities=[float(v) for v in waypoint.velocity],
                accelerations=[float(v) for v in waypoint.acceleration])
            _set_time(point.time_from_start, waypoint.time)
            trajectory.points.append(point)
        if not self._action.wait_for_server(20.0):
            raise ArmsenseError('no controller offers follow_joint_trajectory')
        future = self._in_executor(lambda: self._action.send_goal_async(goal))
        self.wait(future.done, 'acceptance of the goal')
        return future.result()

    def ending(self, handle: Any) -> Any:
        """Future of the end of a trajectory."""
        return self._in_executor(handle.get_result_async)

    def result(self, handle: Any) -> FollowJointTrajectory.Result:
        """Wait for the end of a trajectory."""
        future = self.ending(handle)
        self.wait(future.done, 'the end of the trajectory')
        return future.result().result

    def close(self) -> None:
        self._closing = True
        self._executor.shutdown()
        self._thread.join()
        self._node.destroy_node()          # else it lives as long as this process
        self._context.try_shutdown()

    def _in_executor(self, call: Callable[[], Any]) -> Any:
        """What `call` returns; rclpy's action client loses answers that come while it asks."""
        task = self._executor.create_task(call)
        self.wait(task.done, 'the executor')
        return task.result()

    def _spin(self) -> None:
        try:
            self._executor.spin()
        except Exception:                  # rclpy's own race with its shutdown
            if not self._closing:
                raise

    def _read_states(self) -> None:
        for state in self._states.drain():
            self._on_state(state)

    def _on_state(self, state: Any) -> None:
        self.time = 1e-9 * state.stamp_ns
        self._states_on = self._states_on + 1 if state.enabled else 0

    def _on_mode(self, message: DriverMode) -> None:
        self.mode = message


def _set_time(field: Any, seconds: float) -> None:
    field.sec = int(seconds)
    field.nanosec = round((seconds - int(seconds)) * 1e9)
