"""A whole arm as real processes over real DDS, and a client to talk to it from a test."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
from dataclasses import replace
from pathlib import Path
import threading
import time

from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
import rclpy
from rclpy.action import ActionClient
from rclpy.client import Client
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectoryPoint

from armsense_bringup.launch_plan import load
from armsense_bringup.launch_supervisor import Supervisor
from armsense_msgs.msg import Collision, ContactTruth, DriverMode, MotorStates, ReactionState
from armsense_msgs.srv import SetString
from armsense_node.qos import event_qos, latched_qos, stream_qos

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 180.0    # [s] wall clock: a busy machine runs lock-step at a tenth of real time
JOINTS = ['joint1', 'joint2', 'joint3', 'joint4']


class ArmClient:
    """Listens to everything that matters and sends requests."""

    def __init__(self, namespace: str = '', controller: str = 'dynamic_controller') -> None:
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self.node = rclpy.create_node('test_client', namespace=namespace, context=self._context)
        self.state = None
        self.modes: list[DriverMode] = []
        self.phases: list[str] = []
        self.collisions: list[Collision] = []
        self.contacts: list[ContactTruth] = []
        self.joint_state = None
        self._clients: dict[str, Client] = {}
        node = self.node
        node.create_subscription(MotorStates, 'motor_states', self._on_state, stream_qos())
        node.create_subscription(DriverMode, 'motor_board/mode', self.modes.append, latched_qos())
        node.create_subscription(ReactionState, f'{controller}/reaction_state',
                                 lambda m: self.phases.append(m.state), latched_qos())
        node.create_subscription(Collision, 'collision', self.collisions.append, event_qos(100))
        node.create_subscription(ContactTruth, 'ground_truth', self.contacts.append,
                                 event_qos(10000))
        node.create_subscription(JointState, 'joint_states', self._on_joint_state, 10)
        self.trajectory = ActionClient(node, FollowJointTrajectory, 'follow_joint_trajectory')
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(node)
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
        self.state = message

    def _on_joint_state(self, message: JointState) -> None:
        self.joint_state = message

    def wait(self, condition, timeout: float = PATIENCE, what: str = 'condition') -> None:
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, f'{what} did not come true in {timeout} s'
            time.sleep(0.005)

    def wait_mode(self, mode: int, timeout: float = PATIENCE) -> None:
        self.wait(lambda: bool(self.modes) and self.modes[-1].mode == mode, timeout,
                  f'mode {mode} (modes: {[m.mode for m in self.modes]})')

    def call(self, service: str, text: str | None = None):
        """Answer of a Trigger service, or of one that takes a string."""
        if text is None:
            return self.ask(Trigger, service, Trigger.Request())
        return self.ask(SetString, service, SetString.Request(data=text))

    def ask(self, kind, service: str, request):
        """Answer of a service."""
        # Kept: rclpy cannot destroy a client while another thread spins.
        client = self._clients.get(service) or self.node.create_client(kind, service)
        self._clients[service] = client
        assert client.wait_for_service(PATIENCE), f'no service {service}'
        future = client.call_async(request)
        self.wait(future.done, what=service)
        return future.result()

    def send(self, points, names=JOINTS, reaction: str = '', start: int = 0,
             path_tolerance: dict[str, float] | None = None, feedback=None):
        """Send a trajectory [(seconds, positions), ...] to begin at `start` [s]; its handle."""
        goal = FollowJointTrajectory.Goal()
        goal.trajectory.joint_names = list(names)
        goal.trajectory.header.frame_id = f'reaction={reaction}' if reaction else ''
        goal.trajectory.header.stamp.sec = start
        for seconds, positions in points:
            point = JointTrajectoryPoint(positions=[float(p) for p in positions])
            point.time_from_start.sec = int(seconds)
            point.time_from_start.nanosec = int((seconds % 1) * 1e9)
            goal.trajectory.points.append(point)
        goal.path_tolerance = [JointTolerance(name=name, position=value)
                               for name, value in (path_tolerance or {}).items()]
        assert self.trajectory.wait_for_server(PATIENCE)
        future = self.in_executor(lambda: self.trajectory.send_goal_async(goal, feedback))
        self.wait(future.done, what='goal response')
        return future.result()

    @property
    def time(self) -> float:
        """Stamp of the newest state [s]."""
        stamp = self.state.header.stamp
        return stamp.sec + 1e-9 * stamp.nanosec

    def result(self, handle, timeout: float = PATIENCE):
        return self.outcome(handle, timeout).result

    def outcome(self, handle, timeout: float = PATIENCE):
        """Status and result of a goal."""
        future = self.in_executor(handle.get_result_async)
        self.wait(future.done, timeout, 'trajectory result')
        return future.result()

    def cancel(self, handle) -> None:
        """Ask to end a goal; back when the answer is there."""
        future = self.in_executor(handle.cancel_goal_async)
        self.wait(future.done, what='answer to cancel')

    def in_executor(self, call):
        """What `call` returns; rclpy's action client loses answers that come while it asks."""
        task = self._executor.create_task(call)
        self.wait(task.done, what='the executor')
        return task.result()

    def close(self) -> None:
        self._closing = True
        self._executor.shutdown()
        self._thread.join()
        self.node.destroy_node()           # else it goes on answering who asks for its topics
        self._context.try_shutdown()


@contextlib.contextmanager
def arm_system(alone: bool = False,
               **arguments: str) -> Iterator[tuple[ArmClient, Supervisor]]:
    """Launch `arm.launch.xml`; all processes are gone at the end.

    Args:
        alone: The end of one process does not stop the others.
        **arguments: Of the launch file.
    """
    plan = load(ROOT / 'launch' / 'arm.launch.xml', arguments)
    if alone:
        plan = [replace(process, shutdown_on_exit=False) for process in plan]
    with Supervisor(plan) as supervisor:
        client = ArmClient(arguments.get('namespace', ''),
                           arguments.get('controller', 'dynamic_controller'))
        try:
            yield client, supervisor
        except AssertionError as error:
            raise AssertionError(f'{error}\nlast words:\n{supervisor.last_words}') from error
        finally:
            client.close()
            supervisor.stop()
            supervisor.wait(20.0)
