"""One run of the demo: the nodes as processes, a goal, a bag."""

from __future__ import annotations

from pathlib import Path
import threading
import time
from typing import Any

from control_msgs.action import FollowJointTrajectory
import rclpy
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from trajectory_msgs.msg import JointTrajectoryPoint

from armsense_bringup.demo_scenario import Demo, END, START
from armsense_bringup.launch_plan import load
from armsense_bringup.launch_supervisor import Supervisor
from armsense_core.errors import ArmsenseError
from armsense_driver.qos import latched_qos, stream_qos
from armsense_msgs.msg import DriverMode, MotorStates

PATIENCE = 120.0   # [s] wall clock for one run


class DemoClient:
    """Sends the goal and watches the virtual clock."""

    def __init__(self) -> None:
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self._node = rclpy.create_node('demo', context=self._context)
        self.time = 0.0          # [s] virtual
        self.mode: DriverMode | None = None
        self._node.create_subscription(MotorStates, 'motor_states', self._on_state, stream_qos())
        self._node.create_subscription(DriverMode, 'motor_board/mode', self._on_mode,
                                       latched_qos())
        self._action = ActionClient(self._node, FollowJointTrajectory, 'follow_joint_trajectory')
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._closing = False
        self._thread = threading.Thread(target=self._spin)
        self._thread.start()

    def _spin(self) -> None:
        try:
            self._executor.spin()
        except Exception:                  # rclpy's own race with its shutdown
            if not self._closing:
                raise

    def _on_state(self, message: MotorStates) -> None:
        self.time = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec

    def _on_mode(self, message: DriverMode) -> None:
        self.mode = message

    def send(self, demo: Demo, joints: list[str], reaction: str) -> Any:
        """Send the demo's trajectory, to begin at its start time; a future of its result."""
        goal = FollowJointTrajectory.Goal()
        goal.trajectory.joint_names = joints
        goal.trajectory.header.frame_id = f'reaction={reaction}'
        goal.trajectory.header.stamp.sec = int(START)
        goal.trajectory.header.stamp.nanosec = int((START % 1.0) * 1e9)
        for seconds, positions in ((0.0, None), *demo.waypoints):
            point = JointTrajectoryPoint(
                positions=list(positions or demo.waypoints[-1][1]),
                velocities=[0.0] * len(joints))
            point.time_from_start.sec = int(seconds)
            point.time_from_start.nanosec = int((seconds % 1.0) * 1e9)
            goal.trajectory.points.append(point)
        if not self._action.wait_for_server(20.0):
            raise ArmsenseError('no controller offers follow_joint_trajectory')
        return self._action.send_goal_async(goal)

    def close(self) -> None:
        self._closing = True
        self._executor.shutdown()
        self._context.try_shutdown()
        self._thread.join()


def run(demo: Demo, joints: list[str], reaction: str, launch_file: Path, folder: Path,
        lockstep: bool = True, extra: dict[str, str] | None = None) -> Path:
    """Run the demo once.

    Args:
        demo: What happens.
        joints: Names of the arm's joints.
        reaction: To collisions.
        launch_file: `arm.launch.xml`.
        folder: Where scenario and bag go.
        lockstep: Virtual time; False: the wall clock.
        extra: Further launch arguments.

    Returns:
        The bag.
    """
    folder.mkdir(parents=True, exist_ok=True)
    scenario, bag = folder / 'scenario.yaml', folder / 'bag'
    demo.write_scenario(scenario)
    plan = load(launch_file, {
        'arm': demo.arm, 'lockstep': str(lockstep).lower(), 'record': 'true', 'bag': str(bag),
        'scenario': str(scenario), **(extra or {})})
    with Supervisor(plan) as supervisor:
        client = DemoClient()
        try:
            _drive(client, supervisor, demo, joints, reaction)
        finally:
            client.close()
            supervisor.stop()
            supervisor.wait(30.0)
    if supervisor.failed:
        raise ArmsenseError('a node failed:\n' + '\n'.join(map(str, supervisor.lines[-15:])))
    return bag


def _drive(client: DemoClient, supervisor: Supervisor, demo: Demo, joints: list[str],
           reaction: str) -> None:
    deadline = time.monotonic() + PATIENCE

    def wait(condition: Any, what: str) -> None:
        while not condition():
            if time.monotonic() > deadline or supervisor.failed:
                raise ArmsenseError(f'{what} did not happen:\n'
                                    + '\n'.join(map(str, supervisor.lines[-15:])))
            time.sleep(0.01)

    wait(lambda: client.mode is not None and client.mode.mode == DriverMode.ENABLED, 'enabling')
    future = client.send(demo, joints, reaction)
    wait(future.done, 'acceptance of the goal')
    wait(lambda: client.time > START + END, 'the end of the run')
