"""What every controller does with a state before it computes, and with its command after."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from rclpy.node import Node

from armsense.model import Arm
from armsense.types import ArmState, Array, Collision, Command
from armsense.watch.state_estimator import StateEstimator
from armsense_control.collision_inbox import CollisionInbox
from armsense_control.controller_parameters import ControllerParameters
from armsense_msgs.msg import MotorCommands, MotorStates
from armsense_node.lockstep import lockstep_qos
from armsense_node.loop import state_time, stream_qos, StreamPublisher, StreamSubscription

PERIOD = 0.001   # [s] taken for the first state


class Cycle(NamedTuple):
    """What a controller answers."""

    state: ArmState
    residual: Array | None     # external torque [Nm], (n,); None: unknown
    collision: Collision | None     # one that was not taken before
    dt: float                  # [s] since the state before
    lasting: str               # a contact that lasts, in words; empty: none does


class ArmStream:
    """`motor_states` in, `motor_commands` with the same number out, collisions in between."""

    def __init__(self, node: Node, model: Arm, settings: ControllerParameters) -> None:
        """Make the topics.

        Args:
            node: The controller.
            model: The arm.
            settings: Whom to wait for.
        """
        lockstep = settings.lockstep
        qos = lockstep_qos() if lockstep else stream_qos()
        self.states = StreamSubscription(node, MotorStates, 'motor_states', model.n,
                                         optional=('joint_position', 'strain'), qos=qos)
        self.inbox = CollisionInbox(node, model.joint_names, lockstep and settings.await_residual,
                                    lockstep and settings.await_base)
        self._commands = StreamPublisher(node, MotorCommands, 'motor_commands', model.n, qos=qos)
        self._estimator = StateEstimator(model.config)
        self._last_seq = self._last_time = self._collision_seq = 0

    @property
    def time(self) -> float:
        """Of the newest state [s]."""
        return self._last_time * 1e-9

    def take(self, message: Any) -> Cycle:
        """The next state, with what the observers have said since the one before."""
        first = not self._last_seq
        now = state_time(message)
        dt = PERIOD if first else (now - self._last_time) * 1e-9
        if message.seq < self._last_seq:     # another driver counts from the start, collisions too
            self._collision_seq = 0
        self._last_seq, self._last_time = message.seq, now
        state = self._estimator.step(message.position, message.torque, message.joint_position,
                                     message.strain, dt)
        residual, collision = self.inbox.take(0 if first else message.seq - 1, self.time)
        if collision is not None:
            self._collision_seq = collision.seq
        return Cycle(state, residual, collision, dt, self.inbox.lasting)

    def publish(self, command: Command, message: Any) -> None:
        """Answer a `motor_states` record."""
        out = self._commands.message
        out.seq, out.stamp_ns = message.seq, message.stamp_ns
        out.collision_seq = self._collision_seq   # the command takes it into account
        out.position, out.velocity, out.torque = command.position, command.velocity, command.torque
        out.kp, out.kd, out.ki = command.kp, command.kd, command.ki
        self._commands.publish()


def no_torque(state: ArmState) -> Command:
    """No torque, while the motors are off."""
    zero = np.zeros(len(state.theta))
    return Command(state.theta, zero, zero, zero, zero, zero)
