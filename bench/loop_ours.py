"""The processes of bench_loop that are built on armsense_node.loop; only messages, no work.

Run as `python -m bench.loop_ours ROLE`; a role says `begin` when it streams and reports a JSON
object when it is interrupted.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
from rclpy.node import Node

from armsense_msgs.msg import BaseResidual, MotorCommands, MotorStates, Residual
from armsense_node.loop import (
    PacedLoop,
    ReactiveLoop,
    run_node,
    StreamPublisher,
    StreamSubscription,
)
from armsense_node.loop_realtime import exact_timers, realtime_privileges
from armsense_node.loop_statistics import Histogram

N = 4            # joints
PERIOD = 1e-3    # [s]
WARM_UP = 1000   # ticks
PATIENCE = 0.8   # of the period: how long the driver waits for the answer when it is to wake


def say(text: str) -> None:
    sys.stdout.write(text + '\n')
    sys.stdout.flush()


def subscribe_states(node: Node) -> StreamSubscription:
    return StreamSubscription(node, MotorStates, 'motor_states', N, ('joint_position', 'strain'))


class Driver(Node):
    """Publishes a state each millisecond and looks at the command when the next one is due."""

    def __init__(self) -> None:
        super().__init__('driver')
        self.states = StreamPublisher(
            self, MotorStates, 'motor_states', N, {'joint_position': 0, 'strain': 0})
        self.commands = StreamSubscription(self, MotorCommands, 'motor_commands', N)
        self.loop = PacedLoop(PERIOD, self.step)
        self.position = np.linspace(0.0, 1.0, N)  # (n,)
        self.answered = 0
        self.last = 0  # number of the last state
        self.warm = 0  # ticks since the controller answers

    def step(self, tick: int) -> None:
        command = self.commands.take_latest()
        self.send(tick)
        if command is not None:
            self.note(command.seq == self.last)
        self.last = tick

    def send(self, tick: int) -> None:
        state = self.states.message
        state.seq = tick
        state.stamp_ns = time.time_ns()
        state.position = self.position
        state.velocity = 0.0
        state.torque = 0.0
        self.states.publish()

    def note(self, in_time: bool) -> None:
        """Counts an answer; the measurement begins some time after the first one."""
        self.warm += 1
        if self.warm == WARM_UP:
            self.loop.statistics.reset()
            self.answered = 0
            say('begin')
        self.answered += in_time

    def figures(self) -> dict[str, Any]:
        report = self.loop.statistics.report()
        due = max(report.ticks + report.missed, 1)
        return {
            'missed_percent': report.missed_percent,
            'lateness_us': report.lateness_us._asdict(),
            'answered_percent': 100.0 * self.answered / due,
            'privileges': self.loop.privileges and self.loop.privileges._asdict()}

    def close(self) -> None:
        say(json.dumps(self.figures()))


class WakingDriver(Driver):
    """Waits for the answer to its state, to measure the round trip up to the Python code."""

    def __init__(self) -> None:
        super().__init__()
        self.round_trip = Histogram()

    def step(self, tick: int) -> None:
        begin = time.monotonic_ns()
        end = begin + int(PATIENCE * PERIOD * 1e9)
        self.send(tick)
        while (left := end - time.monotonic_ns()) > 0:
            command = self.commands.wait(left * 1e-9)
            if command is not None and command.seq == tick:
                self.round_trip.add(time.monotonic_ns() - begin)
                self.note(True)
                break

    def note(self, in_time: bool) -> None:
        super().note(in_time)
        if self.warm == WARM_UP:
            self.round_trip = Histogram()

    def figures(self) -> dict[str, Any]:
        return {**super().figures(), 'rtt_us': self.round_trip.quantiles()._asdict()}


class Answering(Node):
    """Answers every state."""

    def __init__(self, name: str, msg_type: Any, topic: str) -> None:
        super().__init__(name)
        self.output = StreamPublisher(self, msg_type, topic, N)
        self.begun = False
        self.loop = ReactiveLoop(subscribe_states(self), self.step)

    def step(self, state: Any) -> None:
        answer = self.output.message
        answer.seq = state.seq
        answer.stamp_ns = state.stamp_ns
        self.fill(answer, state)
        self.output.publish()
        if not self.begun:
            self.begun = True
            say('begin')

    def fill(self, answer: Any, state: Any) -> None:
        raise NotImplementedError

    def close(self) -> None:
        report = self.loop.statistics.report()
        say(json.dumps({'response_us': report.response_us._asdict()}))


class Controller(Answering):
    def __init__(self) -> None:
        super().__init__('controller', MotorCommands, 'motor_commands')

    def fill(self, answer: Any, state: Any) -> None:
        answer.position = state.position
        answer.kp = 10.0
        answer.kd = 0.1


class Observer(Answering):
    def __init__(self) -> None:
        super().__init__('observer', Residual, 'residual')
        self.filtered = np.zeros(N)

    def fill(self, answer: Any, state: Any) -> None:
        raw = state.torque
        self.filtered += 0.1 * (raw - self.filtered)
        answer.raw = raw
        answer.filtered = self.filtered
        answer.exceeded = np.abs(self.filtered) > 1.0
        answer.valid = True


class BaseReaction(Answering):
    def __init__(self) -> None:
        super().__init__('base_reaction', BaseResidual, 'base/residual')

    def fill(self, answer: Any, state: Any) -> None:
        answer.measured = state.position[0]
        answer.residual = answer.measured - answer.predicted
        answer.valid = True


def bare() -> int:
    """A loop that only sleeps: what this machine itself does to a period of one millisecond."""
    loop = PacedLoop(PERIOD, lambda tick: None)
    exact_timers()
    if 'realtime:=true' in sys.argv:
        realtime_privileges()
    say('begin')
    try:
        loop.run()
    except KeyboardInterrupt:
        report = loop.statistics.report()
        say(json.dumps({'missed_percent': report.missed_percent,
                        'lateness_us': report.lateness_us._asdict()}))
    return 0


ROLES = {
    'driver': Driver, 'waking_driver': WakingDriver, 'controller': Controller,
    'observer': Observer, 'base_reaction': BaseReaction}

if __name__ == '__main__':
    role = sys.argv[1]
    sys.exit(bare() if role == 'bare' else run_node(ROLES[role]))
