"""The 1 kHz loop between processes: armsense_node.loop against rclpy's executor.

Runs of the same length:

- ours: driver and controller on our loop; the driver takes the newest command at its next tick;
- waking: the same, but the driver waits for each answer, to see the round trip;
- ordinary: like waking, without privileges (`realtime:=false`, as where the arm is simulated);
- stock: the same two written with timer, subscription and `rclpy.spin`;
- chain: driver, controller, observer and base reaction on our loop.

Then the nodes of an arm as they are (laas4, simulated boards in a process of their own, pushed and
feeling it), in many processes and in one (`process:=one`), by the clock and in lock-step; and what
a step of every law costs over the bare Pinocchio calls.

Ours run as on a real arm: with `realtime:=true` (SCHED_FIFO, where the system allows it) and each
process on one core (`cpu`). Only messages are exchanged, nothing is computed. Beside the pairs a
bare sleep loop runs, and the load of everything else on the machine is measured: both tell how far
to trust the figures.

    ./armsense bench loop --seconds 60 --json
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
import contextlib
import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, NamedTuple

from armsense.control.config import ControllerConfig
from armsense.model import Arm
from armsense_bringup.workspace.own_domain import free_domain
from bench.control_cost import step_costs
from bench.cpu_time import busy_seconds, cpu_seconds
from bench.live_arm import NotMeasured, run_live, run_lockstep
from bench.report import emit

ROOT = Path(__file__).resolve().parent.parent
START_LIMIT = 60.0  # [s]
CHAIN = ('driver', 'controller', 'observer', 'base_reaction')
DOMAIN = free_domain()
ARM = 'laas4'
ROUNDS = 200   # of the cost of each law


class Role(NamedTuple):
    name: str    # in the report
    module: str  # in bench
    role: str


class Run(NamedTuple):
    """One measurement; CPU in percent of one core."""

    cpu: dict[str, float]
    figures: dict[str, dict[str, Any]]
    others_cpu: float   # of all other processes of the machine

    @property
    def total(self) -> float:
        return sum(share for name, share in self.cpu.items() if name != 'bare')


def ours(role: str, name: str = '') -> Role:
    return Role(name or role, 'bench.loop_ours', role)


WAKING = (ours('waking_driver', 'driver'), ours('controller'), ours('bare'))
RUNS = {
    'ours': (ours('driver'), ours('controller'), ours('bare')),
    'waking': WAKING,
    'ordinary': WAKING,
    'stock': (Role('driver', 'bench.loop_stock', 'driver'),
              Role('controller', 'bench.loop_stock', 'controller'), ours('bare')),
    'chain': tuple(ours(name) for name in CHAIN)}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog='armsense bench loop', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--seconds', type=float, default=20.0, help='length of each run')
    parser.add_argument('--json', action='store_true', help='JSON object as the last line')
    parser.add_argument('--no-realtime', action='store_true', help='ask for no SCHED_FIFO')
    options = parser.parse_args(argv)
    nodes = measure_nodes()
    runs = {name: measure(roles, options.seconds, not options.no_realtime and name != 'ordinary')
            for name, roles in RUNS.items()}
    result = {**summarise(options.seconds, runs), **nodes}
    emit('1 kHz between processes (CPU: percent of one core)', COLUMNS, table(result), result,
         options.json, notes(result))
    return 0


def measure(roles: Sequence[Role], seconds: float, realtime: bool) -> Run:
    """Starts the processes, lets them run, and collects what they used and report."""
    with contextlib.ExitStack() as stack:
        processes = {role.name: stack.enter_context(started(role, realtime, k))
                     for k, role in enumerate(roles)}
        for name, process in processes.items():
            wait_for_begin(name, process)
        pids = {name: process.pid for name, process in processes.items()}
        before, all_before, begin = cpu_seconds(pids), busy_seconds(), time.monotonic()
        time.sleep(seconds)
        after, all_after, end = cpu_seconds(pids), busy_seconds(), time.monotonic()
        figures = {name: finish(name, process) for name, process in processes.items()}
    used = {name: 100.0 * (after[name] - before[name]) / (end - begin) for name in pids}
    others = 100.0 * (all_after - all_before) / (end - begin) - sum(used.values())
    return Run(used, figures, max(others, 0.0))


@contextlib.contextmanager
def started(role: Role, realtime: bool, number: int) -> Iterator[subprocess.Popen[str]]:
    """A process; those of a run take the cores in turn."""
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(DOMAIN)}
    # Field checks are for tests: a user's nodes run without.
    environment.pop('ROS_PYTHON_CHECK_FIELDS', None)
    command = [sys.executable, '-m', role.module, role.role]
    command += ['--ros-args', '-p', f'realtime:={str(realtime).lower()}',
                '-p', f'cpu:={number % (os.cpu_count() or 1)}']
    process = subprocess.Popen(command, cwd=ROOT, env=environment, text=True,
                               stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for_begin(name: str, process: subprocess.Popen[str]) -> None:
    """Until a role streams: one that is interrupted before has nothing to report."""
    assert process.stdout is not None
    watchdog = threading.Timer(START_LIMIT, process.kill)
    watchdog.start()
    try:
        line = process.stdout.readline()
    finally:
        watchdog.cancel()
    if line != 'begin\n':
        raise NotMeasured(f'bench loop: {name} did not begin within {START_LIMIT:.0f} s')


def finish(name: str, process: subprocess.Popen[str]) -> dict[str, Any]:
    """Interrupts a role and returns what it reports."""
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=START_LIMIT)
    if not out:
        raise NotMeasured(f'bench loop: {name} ended with {process.returncode} and no report')
    return dict(json.loads(out.splitlines()[-1]))


def measure_nodes() -> dict[str, Any]:
    """The nodes of an arm in one process beside many, in one run."""
    many, one = (run_live(ARM, process, base=True) for process in ('many', 'one'))
    with tempfile.TemporaryDirectory() as folder:
        (slow, streams), (fast, same) = (run_lockstep(ARM, process, Path(folder))
                                         for process in ('many', 'one'))
    laws = ControllerConfig.of(Arm.load(ARM)).laws
    return {
        'one': {**one._asdict(), 'share_of_many': one.cpu_percent / many.cpu_percent},
        'many': many._asdict(), 'lockstep_speedup': slow / fast, 'identical': streams == same,
        'step_ratio': {law: cost.ratio for law, cost in
                       step_costs(ARM, list(laws), ROUNDS).items()}}


def summarise(seconds: float, runs: dict[str, Run]) -> dict[str, Any]:
    our, waking, ordinary, stock = (
        summarise_pair(runs[name]) for name in ('ours', 'waking', 'ordinary', 'stock'))
    chain = runs['chain']
    return {
        'seconds': seconds,
        'cpu_ratio': stock['cpu_percent']['total'] / our['cpu_percent']['total'],
        # The executor skips ticks instead of using more than it gets: per tick it costs more.
        'cpu_ratio_per_tick': stock['cpu_us_per_tick'] / our['cpu_us_per_tick'],
        'rtt_us': {key: waking['rtt_us'][key] for key in ('p50', 'p99')},
        'missed_percent': our['missed_percent'],
        'chain_cpu_percent': chain.total,
        'stock': stock,
        'ours': {**our, 'waking': waking, 'ordinary': ordinary},
        'chain': {
            'cpu_percent': chain.cpu, 'others_cpu_percent': chain.others_cpu,
            'missed_percent': chain.figures['driver']['missed_percent'],
            'answered_percent': chain.figures['driver']['answered_percent'],
            'response_us': {n: chain.figures[n]['response_us'] for n in CHAIN[1:]}},
        'privileges': runs['ours'].figures['driver']['privileges'],
    }


def summarise_pair(run: Run) -> dict[str, Any]:
    driver = run.figures['driver']
    return {
        'cpu_percent': {**{n: run.cpu[n] for n in ('driver', 'controller')}, 'total': run.total},
        'cpu_us_per_tick': 10.0 * run.total / (1.0 - driver['missed_percent'] / 100.0),
        'rtt_us': driver.get('rtt_us'),
        'missed_percent': driver['missed_percent'],
        'bare': run.figures['bare'],
        'others_cpu_percent': run.others_cpu}


COLUMNS = ('', 'driver', 'controller', 'all', 'trip p50 us', 'trip p99 us', 'missed %',
           'bare missed %', 'other load')


def table(result: dict[str, Any]) -> Iterator[list[Any]]:
    yield pair_row('our loop', result['ours'])
    yield pair_row('our loop, waking', result['ours']['waking'])
    yield pair_row('the same, ordinary priority', result['ours']['ordinary'])
    yield pair_row('rclpy executor', result['stock'])
    chain = result['chain']
    cpu = chain['cpu_percent']
    yield ['chain of four', cpu['driver'], cpu['controller'], result['chain_cpu_percent'],
           None, None, chain['missed_percent'], None, chain['others_cpu_percent']]
    for name in ('many', 'one'):
        nodes = result[name]
        yield [f'nodes of an arm, process:={name}', None, None, nodes['cpu_percent'],
               nodes['command_us']['p50'], nodes['command_us']['p99'], nodes['missed_percent'],
               None, None]


def pair_row(text: str, pair: dict[str, Any]) -> list[Any]:
    cpu, trip = pair['cpu_percent'], pair['rtt_us'] or {}
    return [text, cpu['driver'], cpu['controller'], cpu['total'], trip.get('p50'), trip.get('p99'),
            pair['missed_percent'], pair['bare']['missed_percent'], pair['others_cpu_percent']]


def notes(result: dict[str, Any]) -> Iterator[str]:
    yield (f'{result["cpu_ratio"]:.1f} times less CPU than rclpy\'s executor, '
           f'{result["cpu_ratio_per_tick"]:.1f} times less per tick; in the chain '
           f'{result["chain"]["answered_percent"]:.1f} % of the commands were in time')
    one = result['one']
    yield (f'one process needs {100.0 * one["share_of_many"]:.0f} % of the CPU of many; a '
           f'collision is told {one["event_us"]["p50"]:.0f} us after its state, p99 '
           f'{one["event_us"]["p99"]:.0f} us; lock-step is {result["lockstep_speedup"]:.1f} times '
           f'as fast, {"with" if result["identical"] else "but NOT with"} the same bytes')
    privileges = result['privileges']
    fifo = bool(privileges and privileges['fifo'])
    yield (f'our loops under {"SCHED_FIFO" if fifo else "ordinary scheduling"}, bound to one core '
           'each; the bare loop at the same priority, unbound')
    if privileges and privileges['explanation']:
        yield privileges['explanation']


if __name__ == '__main__':
    sys.exit(main())
