"""Every state and every command of a stretch of a lock-step run."""

from __future__ import annotations

import threading
import time

from arm_system import PATIENCE, SystemClient
import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile, ReliabilityPolicy

from armsense_msgs.msg import MotorCommands, MotorStates


class MotionTape:
    """Listens while it is open (`with MotionTape(client) as tape`)."""

    def __init__(self, client: SystemClient) -> None:
        self._client = client
        self.states: dict[int, MotorStates] = {}        # by seq
        self.commands: dict[int, MotorCommands] = {}    # by seq
        self._open = True
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self._node = rclpy.create_node('tape', context=self._context)
        # Deep: on a busy machine this thread falls seconds behind, and nothing may be lost.
        qos = QoSProfile(depth=4000, reliability=ReliabilityPolicy.RELIABLE)
        for kind, topic, store in ((MotorStates, 'motor_states', self.states),
                                   (MotorCommands, 'motor_commands', self.commands)):
            self._node.create_subscription(
                kind, topic, lambda m, store=store: store.__setitem__(m.seq, m), qos)
        self._thread = threading.Thread(target=self._listen)
        self._started = threading.Event()

    def __enter__(self) -> MotionTape:
        self._thread.start()
        assert self._started.wait(PATIENCE), 'no states or no commands'
        return self

    def __exit__(self, *_: object) -> None:
        last, deadline = self._client.state.seq, time.monotonic() + PATIENCE
        while max(self.states) < last and time.monotonic() < deadline:   # it may be behind
            time.sleep(0.02)
        self._open = False
        self._thread.join()

    def _listen(self) -> None:
        executor = SingleThreadedExecutor(context=self._context)
        executor.add_node(self._node)
        while self._open:
            executor.spin_once(timeout_sec=0.05)
            if self.states and self.commands:
                self._started.set()
        executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    def positions(self, since: int = 0) -> np.ndarray:
        """Motor angles from a state on [rad], (N, n)."""
        return np.array([self.states[k].position for k in sorted(self.states) if k >= since])

    def velocities(self, since: int = 0) -> np.ndarray:
        """Motor velocities from a state on [rad/s], (N, n)."""
        return np.array([self.states[k].velocity for k in sorted(self.states) if k >= since])

    def steps(self) -> np.ndarray:
        """What each command changes in the torque at the state it answers [Nm], (N, n)."""
        rows = [self._torque(seq, seq) - self._torque(seq - 1, seq)
                for seq in sorted(self.commands)
                if seq in self.states and seq - 1 in self.commands]
        return np.array(rows)

    def _torque(self, seq: int, state_seq: int) -> np.ndarray:
        """What the boards make of a command at a state [Nm], (n,)."""
        command, state = self.commands[seq], self.states[state_seq]
        away = np.array(command.position) - state.position
        slower = np.array(command.velocity) - state.velocity
        return np.asarray(np.array(command.torque) + np.array(command.kp) * away
                          + np.array(command.kd) * slower)
