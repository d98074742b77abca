"""Driver and controller of bench_loop as rclpy's tutorials write them: timer, callback, spin.

Run as `python -m bench.loop_stock driver|controller`.
"""

from __future__ import annotations

import json
import sys
import time

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node

from armsense_msgs.msg import MotorCommands, MotorStates
from armsense_node.loop import stream_qos
from armsense_node.loop_statistics import Histogram

N = 4            # joints
PERIOD = 1e-3    # [s]
WARM_UP = 1000   # answers


def say(text: str) -> None:
    sys.stdout.write(text + '\n')
    sys.stdout.flush()


class Driver(Node):
    """A timer publishes, a callback receives."""

    def __init__(self) -> None:
        super().__init__('driver')
        self.publisher = self.create_publisher(MotorStates, 'motor_states', stream_qos())
        self.create_subscription(MotorCommands, 'motor_commands', self.on_command, stream_qos())
        self.create_timer(PERIOD, self.on_timer)
        self.round_trip = Histogram()
        self.seq = self.answers = self.ticks = self.sent = self.begun = self.last_tick = 0

    def on_timer(self) -> None:
        self.seq += 1
        self.ticks += 1
        message = MotorStates()
        message.header.stamp = self.get_clock().now().to_msg()
        message.seq = self.seq
        message.position = [0.0, 0.1, 0.2, 0.3]
        message.velocity = [0.0] * N
        message.current = [0.0] * N
        message.torque = [0.0] * N
        self.last_tick = self.sent = time.monotonic_ns()
        self.publisher.publish(message)

    def on_command(self, message: MotorCommands) -> None:
        if message.seq == self.seq:
            self.round_trip.add(time.monotonic_ns() - self.sent)
        self.answers += 1
        if self.answers == WARM_UP:
            self.round_trip = Histogram()
            self.ticks = 0
            self.begun = time.monotonic_ns()
            say('begin')

    def report(self) -> None:
        due = (self.last_tick - self.begun) * 1e-9 / PERIOD
        say(json.dumps({
            'missed_percent': max(0.0, 100.0 * (1.0 - self.ticks / max(due, 1.0))),
            'rtt_us': self.round_trip.quantiles()._asdict()}))


class Controller(Node):
    def __init__(self) -> None:
        super().__init__('controller')
        self.begun = False
        self.publisher = self.create_publisher(MotorCommands, 'motor_commands', stream_qos())
        self.create_subscription(MotorStates, 'motor_states', self.on_state, stream_qos())

    def on_state(self, state: MotorStates) -> None:
        message = MotorCommands()
        message.header = state.header
        message.seq = state.seq
        message.position = state.position
        message.velocity = [0.0] * N
        message.torque = [0.0] * N
        message.kp = [10.0] * N
        message.kd = [0.1] * N
        message.ki = [0.0] * N
        self.publisher.publish(message)
        if not self.begun:
            self.begun = True
            say('begin')

    def report(self) -> None:
        say('{}')


def main() -> None:
    rclpy.init()
    node: Driver | Controller = Driver() if sys.argv[1] == 'driver' else Controller()
    try:
        rclpy.spin(node)  # rclpy's SingleThreadedExecutor
    except (KeyboardInterrupt, ExternalShutdownException):
        node.report()


if __name__ == '__main__':
    main()
