"""Nodes that test_loop_node.py runs as separate processes: `python loop_peer.py NAME`."""

from __future__ import annotations

import sys
import threading

from rclpy.node import Node
from std_srvs.srv import Trigger

from armsense.errors import ArmsenseError
from armsense_msgs.msg import MotorCommands, MotorStates
from armsense_node.loop import (
    PacedLoop,
    ReactiveLoop,
    run_node,
    StreamPublisher,
    StreamSubscription,
)


def say(text: str) -> None:
    sys.stdout.write(text + '\n')
    sys.stdout.flush()


class Driver(Node):
    """Publishes a state every millisecond; its services fail and succeed."""

    def __init__(self) -> None:
        super().__init__('driver')
        self.declare_parameter('gain', 2.5)
        self._begun = False
        self.create_service(Trigger, '~/fail', lambda request, response: 1 // 0)
        self.create_service(Trigger, '~/count', self._count)
        self._states = StreamPublisher(
            self, MotorStates, 'motor_states', 4, {'joint_position': 0, 'strain': 0}, 'base')
        self.loop = PacedLoop(1e-3, self._step)

    def _step(self, tick: int) -> None:
        state = self._states.message
        state.seq = tick
        state.stamp_ns = 5_000_000_007
        state.position = [0.1, 0.2, 0.3, 0.4]
        state.enabled = True
        self._states.publish()
        if not self._begun:  # tick 1 itself may have been skipped
            self._begun = True
            say('running')

    def _count(self, request, response):
        response.success, response.message = True, str(self.loop.statistics.ticks)
        return response

    def close(self) -> None:
        say('closed')


class Echo(Node):
    """Answers every state with a command of the same number."""

    def __init__(self) -> None:
        super().__init__('echo')
        self._commands = StreamPublisher(self, MotorCommands, 'motor_commands', 4)
        self._states = StreamSubscription(
            self, MotorStates, 'motor_states', 4, ('joint_position', 'strain'))
        self.loop = ReactiveLoop(self._states, self._step)
        say('running')

    def _step(self, state) -> None:
        command = self._commands.message
        command.seq = state.seq
        command.position = state.position
        command.torque = self._states.rejected
        self._commands.publish()


class Replaced(Node):
    """Runs a second loop after the first, as a lifecycle node does, then ends."""

    def __init__(self) -> None:
        super().__init__('replaced')
        self.loop = PacedLoop(1e-3, lambda tick: None)
        self._timer = self.create_timer(0.1, self._replace)

    def _replace(self) -> None:
        self._timer.cancel()
        first, self.loop = self.loop, None
        first.stop()
        say(f'first ended: {first.join(5.0)}')
        self.loop = PacedLoop(1e-3, self._last_step)

    def _last_step(self, tick: int) -> None:
        say('second')
        self.loop.stop()


class Failing(Node):
    """Its step fails."""

    def __init__(self) -> None:
        super().__init__('failing')
        self.loop = PacedLoop(1e-3, lambda tick: [][tick])

    def close(self) -> None:
        say('closed')


class Idle(Node):
    """Has no loop."""

    def __init__(self) -> None:
        super().__init__('idle')
        say('running')


def misconfigured() -> Node:
    raise ArmsenseError('gain is -1; it must be positive')


if __name__ == '__main__':
    factories = {
        'driver': Driver, 'echo': Echo, 'replaced': Replaced, 'failing': Failing, 'idle': Idle,
        'misconfigured': misconfigured}
    code = run_node(factories[sys.argv[1]])
    say(f'threads: {threading.active_count()}')
    sys.exit(code)
