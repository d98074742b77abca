"""From the stamp of a state to the publication of the collision it shows, on real nodes."""

from __future__ import annotations

from pathlib import Path
import tempfile
import time

import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor

from armsense.model import Arm
from armsense_bringup.launch.plan import load
from armsense_bringup.launch.supervisor import Supervisor
from armsense_bringup.workspace.own_domain import keep_apart
from armsense_msgs.msg import Collision
from armsense_node.qos import event_qos

ROOT = Path(__file__).resolve().parents[1]
PUSHES = 40            # of which every one is an event
PERIOD = 0.5           # [s] between them
FIRST = 8.0            # [s] by then the arm is enabled
FORCE = 40.0           # [N]


def stamp_to_event(arm: str) -> dict[str, float] | None:
    """p50 and p99 [ms] over pushes on the resting arm in real time; None: most gave no event."""
    keep_apart()
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / 'pushes.yaml'
        scenario.write_text(_pushes(Arm.load(arm).link_names[-1]))
        plan = load(ROOT / 'launch' / 'arm.launch.xml', {
            'arm': arm, 'scenario': str(scenario), 'reaction': 'ignore', 'lockstep': 'false',
            'realtime': 'true'})
        delays = _listen(plan)
    if len(delays) < PUSHES // 2:
        return None
    return {'p50': float(np.quantile(delays, 0.5)), 'p99': float(np.quantile(delays, 0.99)),
            'events': len(delays)}


def _pushes(link: str) -> str:
    lines = ['events:']
    for k in range(PUSHES):
        lines.append(f'  - {{time: {FIRST + k * PERIOD}, push: {{link: {link}, '
                     f'point: [0.05, 0.0, 0.0], force: [0.0, {FORCE}, 0.0], duration: 0.05}}}}')
    return '\n'.join(lines) + '\n'


def _listen(plan: object) -> list[float]:
    delays: list[float] = []

    def heard(message: Collision) -> None:
        state, out = message.header.stamp, message.published
        delays.append(1e3 * (out.sec - state.sec) + 1e-6 * (out.nanosec - state.nanosec))

    context = rclpy.Context()
    rclpy.init(context=context)
    with Supervisor(plan) as supervisor:
        node = rclpy.create_node('bench_observer', context=context)
        node.create_subscription(Collision, 'collision', heard, event_qos(100))
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        end = time.monotonic() + FIRST + PUSHES * PERIOD + 10.0
        while time.monotonic() < end and len(delays) < PUSHES:
            executor.spin_once(0.1)
        executor.shutdown()
        node.destroy_node()
        supervisor.stop()
        supervisor.wait(20.0)
    context.try_shutdown()
    return delays
