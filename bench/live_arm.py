"""The real nodes of a simulated arm: what they cost by the clock, and how fast lock-step is."""

from __future__ import annotations

from pathlib import Path
import time
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from mcap.reader import make_reader
import numpy as np

from armsense.model import Arm
from armsense_bringup.launch.plan import load
from armsense_bringup.launch.supervisor import Supervisor
from armsense_bringup.workspace.own_domain import keep_apart
from armsense_msgs.msg import Collision, DriverMode
from armsense_node.arm_client import ArmClient
from armsense_node.health import parts_of, TOPIC
from armsense_node.qos import event_qos
from bench.cpu_time import cpu_seconds

LAUNCH = Path(__file__).resolve().parents[1] / 'launch' / 'arm.launch.xml'
PUSHES = 40            # of which every one is an event
PERIOD = 0.5           # [s] between them
FORCE = 12.0           # [N], for 0.2 s
SETTLING = 3.0         # [s] between enabling and the first push
CONTROLLER = 'dynamic_controller'
STREAMS = ('/motor_states', '/motor_commands', '/residual')
VIRTUAL = 4.0          # [s] of a run in lock-step


class NotMeasured(SystemExit):
    """A benchmark that could not measure fails, and says why."""


class LiveRun(NamedTuple):
    """By the clock, 1 kHz."""

    cpu_percent: float              # of a core: driver, controller and observers
    command_us: dict[str, float]    # from the hand-over of a state to its command, p50 and p99
    event_us: dict[str, float]      # from the stamp of a state to its collision, p50 and p99
    missed_percent: float           # of the driver's periods
    events: int


def run_live(arm: str, process: str = 'many', base: bool = False) -> LiveRun:
    """Push the resting arm and listen.

    Raises:
        NotMeasured: The arm did not start, braked, or felt less than half of the pushes.
    """
    keep_apart()
    plan = load(LAUNCH, {'arm': arm, 'process': process, 'base': str(base).lower(),
                         'reaction': 'ignore', 'lockstep': 'false', 'realtime': 'true'})
    chain = [spec.name for spec in plan if spec.name != 'simulator']
    with Supervisor(plan) as supervisor, ArmClient(
            'bench', failure=lambda: supervisor.failure) as client:
        listener = _Listener(client, arm)
        client.wait(lambda: client.mode is not None and client.mode.mode in (
            DriverMode.ENABLED, DriverMode.DAMPING), what='enabling')
        time.sleep(SETTLING)
        pids = {name: supervisor.pid(name) for name in chain}
        before, begin = cpu_seconds(pids), time.monotonic()
        for _ in range(PUSHES):
            listener.push()
            time.sleep(PERIOD)
        used = sum(cpu_seconds(pids).values()) - sum(before.values())
        share = 100.0 * used / (time.monotonic() - begin)
        time.sleep(1.5)      # for the last diagnostics
        return listener.result(share)


class _Listener:
    def __init__(self, client: ArmClient, arm: str) -> None:
        self._client = client
        self._delays: list[float] = []                   # [us]
        self._loops: dict[str, Any] = {}                 # values of the newest diagnostics
        client.listen_to_mode()
        node = client.node
        node.create_subscription(Collision, 'collision', self._on_collision, event_qos(100))
        node.create_subscription(DiagnosticArray, TOPIC, self._on_health, 100)
        self._hand = node.create_publisher(WrenchStamped, 'simulator/push', event_qos())
        self._push = WrenchStamped()
        self._push.header.frame_id = Arm.load(arm).link_names[-1]
        self._push.wrench.force.y = FORCE

    def push(self) -> None:
        self._hand.publish(self._push)

    def result(self, cpu_percent: float) -> LiveRun:
        mode = self._client.mode
        if mode is None or mode.mode != DriverMode.ENABLED or len(self._delays) < PUSHES // 2:
            raise NotMeasured(f'{len(self._delays)} of {PUSHES} pushes were felt; the driver: '
                              f'{mode.explanation if mode else "silent"}')
        missing = {'motor_board', CONTROLLER} - self._loops.keys()
        if missing:
            raise NotMeasured(f'no diagnostics of {", ".join(missing)}')
        driver, controller = (self._loops[name] for name in ('motor_board', CONTROLLER))
        cycles, missed = int(driver['cycles']), int(driver['missed'])
        response = {key: float(controller[f'response {key} [us]']) for key in ('p50', 'p99')}
        p50, p99 = np.quantile(self._delays, (0.5, 0.99)).tolist()
        return LiveRun(
            cpu_percent, response, {'p50': p50, 'p99': p99},
            100.0 * missed / max(cycles + missed, 1), len(self._delays))

    def _on_collision(self, message: Collision) -> None:
        state, out = message.header.stamp, message.published
        if message.source == 'joints':
            self._delays.append(1e6 * (out.sec - state.sec) + 1e-3 * (out.nanosec - state.nanosec))

    def _on_health(self, message: DiagnosticArray) -> None:
        for node, part in parts_of(message):
            if part.part == 'loop':
                self._loops[node] = part.values


def run_lockstep(arm: str, process: str, folder: Path) -> tuple[float, dict[str, list[bytes]]]:
    """Wall clock of a resting arm in virtual time [s], and the bytes of its streams."""
    keep_apart()
    plan = load(LAUNCH, {'arm': arm, 'process': process, 'lockstep': 'true', 'record': 'true',
                         'real_time_factor': '0', 'bag': str(folder / process)})
    with Supervisor(plan) as supervisor, ArmClient(
            'bench', failure=lambda: supervisor.failure) as client:
        client.listen()
        client.wait_enabled()
        start, begin = client.time, time.monotonic()
        client.wait(lambda: client.time > start + VIRTUAL, what='virtual time')
        wall = (time.monotonic() - begin) * VIRTUAL / (client.time - start)
    return wall, _streams(folder / process, VIRTUAL)


def _streams(bag: Path, end: float) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {topic: [] for topic in STREAMS}
    with next(bag.glob('*.mcap')).open('rb') as file:
        for _, channel, message in make_reader(file).iter_messages(topics=list(STREAMS)):
            if message.log_time <= end * 1e9:
                found[channel.topic].append(message.data)
    return found
