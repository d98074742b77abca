"""What the buttons of a page do to the arm."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from rclpy.node import Node
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from armsense_monitor.arm_history import ArmHistory
from armsense_monitor.view_control import Done
from armsense_msgs.srv import SetString
from armsense_node.arm_client import ArmClient, trajectory_message

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
        self._arm = ArmClient(node=node)
        names = {**dict.fromkeys(DRIVER, driver), **dict.fromkeys(CONTROLLER, controller)}
        self._services = {name: f'{owner}/{name}' for name, owner in names.items()}
        for service in self._services.values():     # the graph shall show what may be called
            self._arm.service(Trigger, service)
        self._reaction = f'{controller}/set_reaction'
        self._arm.service(SetString, self._reaction)
        self._trajectory = node.create_publisher(JointTrajectory, 'joint_trajectory', 1)

    def trigger(self, what: str, done: Done) -> None:
        """Call one of the services of `DRIVER` and `CONTROLLER`."""
        self._arm.call_soon(self._services[what], done)

    def set_reaction(self, strategy: str, done: Done) -> None:
        self._arm.call_soon(self._reaction, done, strategy)

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
        seconds = max(abs(step) / JOG_SPEED, SHORTEST)
        self._trajectory.publish(trajectory_message(
            self._history.joints, [(seconds, target, np.zeros(len(target)))]))
        done(True, f'{self._history.joints[joint]} to {target[joint]:.2f} rad')
