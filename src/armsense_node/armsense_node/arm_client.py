"""A running arm from outside: hear it, ask its services, send it goals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import threading
import time
from typing import Any, NamedTuple

from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
import rclpy
from rclpy.action import ActionClient
from rclpy.client import Client
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from armsense.errors import ArmsenseError
from armsense_msgs.msg import Collision, DriverMode, MotorStates
from armsense_msgs.srv import SetString
from armsense_node.loop_node import BackgroundExecutor
from armsense_node.loop_stream import StreamSubscription
from armsense_node.qos import event_qos, latched_qos

DRIVERS = ('motor_board', 'ros2_control_bridge')
PATIENCE = 60.0   # [s] wall clock, for whatever is waited for
STATES = 1000     # that are kept until somebody reads them


class Waypoint(NamedTuple):
    """A point of a trajectory; what is empty is left to the controller."""

    time: float                            # [s] after the start
    position: Sequence[float]              # [rad]
    velocity: Sequence[float] = ()         # [rad/s]
    acceleration: Sequence[float] = ()     # [rad/s^2]


def trajectory_message(joints: Sequence[str], waypoints: Sequence[Sequence[Any]],
                       start: float = 0.0, reaction: str = '') -> JointTrajectory:
    """A motion as the controllers take it.

    Args:
        joints: Names.
        waypoints: Fields of `Waypoint`.
        start: Stamp at which it begins [s]; 0: now.
        reaction: To a collision during this motion; empty: that of the controller.
    """
    message = JointTrajectory(joint_names=list(joints))
    message.header.frame_id = f'reaction={reaction}' if reaction else ''
    _set_time(message.header.stamp, start)
    for waypoint in waypoints:
        at, *values = Waypoint(*waypoint)
        positions, velocities, accelerations = ([float(v) for v in row] for row in values)
        point = JointTrajectoryPoint(positions=positions, velocities=velocities,
                                     accelerations=accelerations)
        _set_time(point.time_from_start, at)
        message.points.append(point)
    return message


class ArmClient:
    """Speaks to one arm; also a context manager.

    What waits must not be called from the thread that spins the node.
    """

    def __init__(self, name: str = 'arm_client', namespace: str = '', patience: float = PATIENCE,
                 failure: Callable[[], str] = str, node: Node | None = None) -> None:
        """Join the graph.

        Args:
            name: Of a node of its own, which a thread of its own spins.
            namespace: Of the arm.
            patience: Wall-clock limit of everything that is waited for [s].
            failure: Why the arm will never answer, such as `Supervisor.failure`; empty: it may.
            node: That somebody else spins, instead of one of its own.
        """
        self._patience, self._failure = patience, failure
        self._spinning: BackgroundExecutor | None = None
        if node is None:
            context = rclpy.Context()
            rclpy.init(context=context)        # leaves the signals alone
            node = rclpy.create_node(name, namespace=namespace, context=context)
            self._spinning = BackgroundExecutor(node)
        self.node = node
        self.modes: list[DriverMode] = []
        self.collisions: list[Collision] = []
        self._newest: Any = None
        self._on = 0                           # states since the motors are on
        self._states: StreamSubscription | None = None
        self._reading = threading.Lock()
        self._services: dict[str, Client] = {}
        self._actions: dict[str, ActionClient] = {}

    def __enter__(self) -> ArmClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the graph; what was heard stays."""
        with self._reading:
            self._states = None
        if self._spinning is not None:
            self._spinning.stop()
            self.node.destroy_node()           # else it lives as long as this process
            self.node.context.try_shutdown()

    # -- what it says ------------------------------------------------------------------------

    def listen(self) -> None:
        """To states, modes and collisions."""
        self.listen_to_mode()
        self.node.create_subscription(Collision, 'collision', self.collisions.append,
                                      event_qos(100))
        # Read by whoever asks: the executor spent a quarter of a core on the states of lock-step.
        self._states = StreamSubscription(
            self.node, MotorStates, 'motor_states', None, qos=QoSProfile(
                depth=STATES, reliability=ReliabilityPolicy.BEST_EFFORT))

    def listen_to_mode(self) -> None:
        for driver in DRIVERS:
            self.node.create_subscription(DriverMode, f'{driver}/mode', self.modes.append,
                                          latched_qos(100))

    @property
    def mode(self) -> DriverMode | None:
        return self.modes[-1] if self.modes else None

    @property
    def state(self) -> Any:
        """The newest state, a record of MotorStates; None before the first."""
        with self._reading:
            for state in self._states.drain() if self._states is not None else ():
                self._take_state(state)
        return self._newest

    @property
    def time(self) -> float:
        """Stamp of the newest state [s]; 0 before the first."""
        state = self.state
        return 0.0 if state is None else 1e-9 * state.stamp_ns

    def _take_state(self, state: Any) -> None:
        self._newest = state
        self._on = self._on + 1 if state.enabled else 0

    # -- waiting -----------------------------------------------------------------------------

    def wait(self, condition: Callable[[], Any], patience: float | None = None,
             what: str = 'the condition') -> None:
        """Block until something is true.

        Raises:
            ArmsenseError: It takes too long, or the arm has failed.
        """
        patience = self._patience if patience is None else patience
        deadline = time.monotonic() + patience
        while not condition():
            failure = self._failure()
            if failure:
                raise ArmsenseError(f'{what} did not come: {failure}')
            if time.monotonic() > deadline:
                raise ArmsenseError(f'{what} did not come within {patience:.0f} s')
            time.sleep(0.005)

    def wait_enabled(self) -> None:
        """Until the motors are on and a controller has answered that, so that it takes goals.

        Raises:
            ArmsenseError: The driver went to its safe state instead, and why; or as `wait`.
        """
        ends = (DriverMode.ENABLED, DriverMode.DAMPING)
        self.wait(lambda: self.mode is not None and self.mode.mode in ends, what='enabling')
        if self.mode is not None and self.mode.mode == DriverMode.DAMPING:
            raise ArmsenseError(f'the motors are not enabled: {self.mode.explanation}')
        # In lock-step a state follows when the one before it has been answered.
        self.wait(lambda: self.state is not None and self._on > 2,
                  what='the first states of the enabled arm')

    # -- services ----------------------------------------------------------------------------

    def service(self, kind: Any, name: str) -> Client:
        """Client of a service; kept, because rclpy cannot destroy one while a thread spins."""
        if name not in self._services:
            self._services[name] = self.node.create_client(kind, name)
        return self._services[name]

    def find(self, kind: Any, name: str) -> Client:
        """The same, once somebody serves it."""
        client = self.service(kind, name)
        self.wait(client.service_is_ready, what=f'the service {client.srv_name} of a running arm')
        return client

    def ask(self, kind: Any, name: str, request: Any) -> Any:
        """Answer of a service."""
        future = self.find(kind, name).call_async(request)
        self.wait(future.done, what=f'the answer of {name}')
        return future.result()

    def call(self, name: str, text: str | None = None) -> Any:
        """Answer of a Trigger service, or of one that takes a text."""
        return self.ask(*_request(name, text))

    def call_soon(self, name: str, done: Callable[[bool, str], None], text: str | None = None,
                  ) -> None:
        """The same without waiting: success and message go to `done`, on the spinning thread."""
        self.ask_soon(*_request(name, text), done)

    def ask_soon(self, kind: Any, name: str, request: Any,
                 done: Callable[[bool, str], None]) -> None:
        """Any service that answers with success and message."""
        client = self.service(kind, name)
        if not client.service_is_ready():
            done(False, f'nobody serves {client.srv_name}')
            return

        def answered(future: Any) -> None:
            answer = future.result()
            done(bool(answer.success), answer.message)
        client.call_async(request).add_done_callback(answered)

    # -- goals -------------------------------------------------------------------------------

    def send(self, waypoints: Sequence[Sequence[Any]], joints: Sequence[str], start: float = 0.0,
             reaction: str = '', path_tolerance: Mapping[str, float] | None = None,
             feedback: Callable[[Any], None] | None = None) -> Any:
        """Send a trajectory (see `trajectory_message`), tolerances [rad] by joint; its handle."""
        goal = FollowJointTrajectory.Goal(
            trajectory=trajectory_message(joints, waypoints, start, reaction))
        goal.path_tolerance = [JointTolerance(name=name, position=value)
                               for name, value in (path_tolerance or {}).items()]
        return self.send_goal(FollowJointTrajectory, 'follow_joint_trajectory', goal, feedback)

    def find_controller(self) -> None:
        """Until somebody offers to drive trajectories."""
        self.find_action(FollowJointTrajectory, 'follow_joint_trajectory')

    def find_action(self, kind: Any, action: str) -> ActionClient:
        """Client of an action, once somebody offers it."""
        if action not in self._actions:
            self._actions[action] = ActionClient(self.node, kind, action)
        client = self._actions[action]
        self.wait(client.server_is_ready, what=f'the action {action} of a running arm')
        return client

    def send_goal(self, kind: Any, action: str, goal: Any,
                  feedback: Callable[[Any], None] | None = None) -> Any:
        """Send a goal of any action; its handle."""
        return self._answer(self._sending(kind, action, goal, feedback), 'acceptance of the goal')

    def ending(self, handle: Any) -> Any:
        """Future of the end of a goal."""
        return self._in_executor(handle.get_result_async)

    def outcome(self, handle: Any, patience: float | None = None) -> Any:
        """Status and result of a goal, at its end."""
        ending = self.ending(handle)
        self.wait(ending.done, patience, 'the end of the goal')
        return ending.result()

    def result(self, handle: Any, patience: float | None = None) -> Any:
        return self.outcome(handle, patience).result

    def cancel(self, handle: Any) -> None:
        """Ask to end a goal; back when the answer is there."""
        answer = self._in_executor(handle.cancel_goal_async)
        self.wait(answer.done, what='the answer to cancel')

    def carry_out(self, kind: Any, action: str, goal: Any, patience: float | None = None,
                  feedback: Callable[[Any], None] | None = None) -> Any:
        """Send a goal; its status and result.

        Whatever ends the waiting, Ctrl-C too, ends the goal: nobody watches the arm any more.
        """
        sending = self._sending(kind, action, goal, feedback)
        try:
            handle = self._answer(sending, 'acceptance of the goal')
            if not handle.accepted:
                raise ArmsenseError(f'{action} refuses the goal')
            return self.outcome(handle, patience)
        except BaseException:
            handle = self._answer(sending, 'acceptance of the goal')
            if handle.accepted:
                self.cancel(handle)
                self.outcome(handle)
            raise

    def _sending(self, kind: Any, action: str, goal: Any,
                 feedback: Callable[[Any], None] | None) -> Any:
        client = self.find_action(kind, action)
        return self._executor.create_task(lambda: client.send_goal_async(goal, feedback))

    def _answer(self, asking: Any, what: str) -> Any:
        """What comes back of a request that is a task of the executor."""
        self.wait(asking.done, what='the executor')
        self.wait(asking.result().done, what=what)
        return asking.result().result()

    def _in_executor(self, call: Callable[[], Any]) -> Any:
        """What `call` returns; rclpy's action client loses answers that come while it asks."""
        task = self._executor.create_task(call)
        self.wait(task.done, what='the executor')
        return task.result()

    @property
    def _executor(self) -> Any:
        return self.node.executor


def _request(name: str, text: str | None) -> tuple[Any, str, Any]:
    if text is None:
        return Trigger, name, Trigger.Request()
    return SetString, name, SetString.Request(data=text)


def _set_time(field: Any, seconds: float) -> None:
    field.sec, field.nanosec = divmod(round(seconds * 1e9), 10**9)
