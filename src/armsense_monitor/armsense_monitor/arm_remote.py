"""The services and topics of an arm that buttons use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rclpy.node import Node
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from armsense_monitor.arm_history import ArmHistory
from armsense_monitor.view_control import Done
from armsense_msgs.srv import SetString

JOG_SPEED = 0.3        # [rad/s]
SHORTEST = 0.4         # [s] of a jog
DRIVER = ('enable', 'disable', 'clear_fault', 'emergency_stop')
CONTROLLER = ('hold', 'home', 'resume')


class ArmRemote:
    """Asks the driver and the controller; nothing here blocks."""

    def __init__(self, node: Node, history: ArmHistory, driver: str, controller: str,
                 limits: tuple[ArrayLike, ArrayLike], jogging: bool) -> None:
        """Make the clients.

        Args:
            node: The monitor.
            history: Where the arm is.
            driver: Name of the driver's node.
            controller: Name of the controller's node.
            limits: Lowest and highest joint angles [rad], each (n,).
            jogging: Whether joints may be moved by hand: in simulation.
        """
        self.jogging = jogging
        self._history = history
        self._limits = np.array(limits[0]), np.array(limits[1])
        names = {**dict.fromkeys(DRIVER, driver), **dict.fromkeys(CONTROLLER, controller)}
        self._clients = {name: node.create_client(Trigger, f'{owner}/{name}')
                         for name, owner in names.items()}
        self._reaction = node.create_client(SetString, f'{controller}/set_reaction')
        self._trajectory = node.create_publisher(JointTrajectory, 'joint_trajectory', 1)

    def trigger(self, what: str, done: Done) -> None:
        """Call one of the services of `DRIVER` and `CONTROLLER`."""
        _ask(self._clients[what], Trigger.Request(), done)

    def set_reaction(self, strategy: str, done: Done) -> None:
        _ask(self._reaction, SetString.Request(data=strategy), done)

    def jog(self, joint: int, step: float, done: Done) -> None:
        """Move one joint by a step [rad] from where it is."""
        position = self._history.position
        if not self.jogging or position is None:
            done(False, 'jogging is for a simulated arm that is running')
            return
        target = position.copy()
        target[joint] += step
        low, high = self._limits
        if not low[joint] <= target[joint] <= high[joint]:
            done(False, f'{self._history.joints[joint]} would go to {target[joint]:.2f} rad; its '
                        f'limits are {low[joint]:.2f} and {high[joint]:.2f}')
            return
        message = JointTrajectory(joint_names=list(self._history.joints))
        point = JointTrajectoryPoint(positions=target.tolist(), velocities=[0.0] * len(target))
        nanoseconds = round(1e9 * max(abs(step) / JOG_SPEED, SHORTEST))
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(nanoseconds, 10**9)
        message.points.append(point)
        self._trajectory.publish(message)
        done(True, f'{self._history.joints[joint]} to {target[joint]:.2f} rad')


def _ask(client: Any, request: Any, done: Callable[[bool, str], None]) -> None:
    if not client.service_is_ready():
        done(False, f'nobody serves {client.srv_name}')
        return

    def answered(future: Any) -> None:
        answer = future.result()
        done(bool(answer.success), answer.message)
    client.call_async(request).add_done_callback(answered)
