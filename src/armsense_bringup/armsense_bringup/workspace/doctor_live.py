"""`./armsense doctor --live`: listens to a running arm and says what is wrong with it.

Exit code 0: all is well; 1: something is not.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
import contextlib
import json
import sys
import time
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticArray

from armsense.boards.mode import Mode
from armsense.errors import ArmsenseError
from armsense_msgs.msg import MotorCommands, MotorStates, Residual
from armsense_node.arm_client import ArmClient
from armsense_node.health import Health, Level, parts_of, worst
from armsense_node.health import TOPIC as DIAGNOSTICS
from armsense_node.qos import stream_qos

STREAMS = {'motor_states': MotorStates, 'motor_commands': MotorCommands, 'residual': Residual}
PATIENCE = 5.0   # [s] until a driver is found, if one runs
NOT_DRIVING = 'no motor_states: neither motor_board nor ros2_control_bridge runs here (start ' \
    './armsense launch arm.launch.xml), or they use another ROS_DOMAIN_ID or namespace'


class Snapshot(NamedTuple):
    """What was heard in some seconds."""

    seconds: float
    nodes: list[str]
    rates: dict[str, float]            # [Hz] of the streams
    publishers: dict[str, int]         # of the streams
    parts: list[tuple[str, Health]]    # by node, the newest of each part
    mode: str = ''                     # of the driver
    fault: str = ''


class Finding(NamedTuple):
    level: Level
    text: str


def judge(heard: Snapshot) -> list[Finding]:
    """What is wrong, worst first; empty: nothing."""
    findings = []
    if not heard.rates.get('motor_states'):
        findings.append(Finding(Level.ERROR, NOT_DRIVING))
    elif not heard.rates.get('motor_commands'):
        findings.append(Finding(Level.WARN, 'motor_states flow, but no controller answers them '
                                'with motor_commands'))
    for topic, count in heard.publishers.items():
        if count > 1:
            findings.append(Finding(Level.ERROR, f'{count} nodes publish {topic}: only one may'))
    for name, count in Counter(heard.nodes).items():
        if count > 1:
            findings.append(Finding(Level.ERROR, f'{count} nodes are called {name}'))
    if heard.fault:
        findings.append(Finding(Level.ERROR, f'the driver is in {heard.mode}: {heard.fault}; '
                                'remove the cause, then call ~/clear_fault and ~/enable'))
    findings += [Finding(part.level, f'{node}, {part.part}: {part.message}')
                 for node, part in heard.parts if part.level != Level.OK
                 and not (heard.fault and part.part == 'arm')]
    return sorted(findings, key=lambda finding: -finding.level)


class Listener:
    """Gathers a snapshot."""

    def __init__(self, arm: ArmClient) -> None:
        self._arm = arm
        self._counts = Counter[str]()
        self._parts: dict[tuple[str, str], Health] = {}
        arm.listen_to_mode()
        for topic, kind in STREAMS.items():
            arm.node.create_subscription(kind, topic, self._counter(topic), stream_qos(), raw=True)
        arm.node.create_subscription(DiagnosticArray, DIAGNOSTICS, self._take_diagnostics, 10)

    def listen(self, seconds: float) -> Snapshot:
        """Hear for some seconds of wall clock, from the first word of a driver."""
        with contextlib.suppress(ArmsenseError):
            self._arm.wait(lambda: self._arm.mode is not None)
        self._counts.clear()
        start = time.monotonic()
        time.sleep(seconds)
        elapsed = time.monotonic() - start
        mode, node = self._arm.mode, self._arm.node
        return Snapshot(
            elapsed, [name for name in node.get_node_names()
                      if name != node.get_name() and not name.startswith('_')],
            {topic: self._counts[topic] / elapsed for topic in STREAMS},
            {topic: node.count_publishers(topic) for topic in STREAMS},
            [(node, part) for (node, _), part in sorted(self._parts.items())],
            Mode(mode.mode).name if mode else '', mode.explanation if mode else '')

    def _counter(self, topic: str) -> Callable[[bytes], None]:
        def count(_: bytes) -> None:
            self._counts[topic] += 1
        return count

    def _take_diagnostics(self, message: DiagnosticArray) -> None:
        for node, part in parts_of(message, self._arm.node.get_namespace()):
            self._parts[node, part.part] = part


def show(heard: Snapshot, findings: list[Finding]) -> None:
    rates = ', '.join(f'{topic} {rate:.0f} Hz' for topic, rate in heard.rates.items() if rate)
    print(f'nodes     {", ".join(sorted(heard.nodes)) or "none"}')
    print(f'streams   {rates or "none"}')
    print(f'driver    {heard.mode or "silent"}')
    for node, part in heard.parts:
        print(f'{part.level.name:<9} {node}, {part.part}: {part.message}')
    for finding in findings:
        print(f'PROBLEM: {finding.text}')
    if not findings:
        print('all is well')


def main() -> int:
    parser = argparse.ArgumentParser(prog='armsense doctor --live', description=__doc__)
    parser.add_argument('--seconds', type=float, default=3.0, help='how long to listen')
    parser.add_argument('--namespace', default='', help='of the arm')
    parser.add_argument('--json', action='store_true', help='one JSON object')
    options = parser.parse_args()
    try:
        with ArmClient('doctor', options.namespace, PATIENCE) as arm:
            heard = Listener(arm).listen(options.seconds)
    except KeyboardInterrupt:
        return 130
    findings = judge(heard)
    if options.json:
        print(json.dumps({
            'state': worst([Level.OK, *(finding.level for finding in findings)]).name,
            'nodes': heard.nodes, 'rates_hz': heard.rates, 'mode': heard.mode,
            'problems': [finding.text for finding in findings]}))
    else:
        show(heard, findings)
    return 1 if findings else 0


if __name__ == '__main__':
    sys.exit(main())
