"""What the web monitor costs: its CPU with and without a page open, and the driver's misses.

    ./armsense bench monitor [--arm laas4] [--seconds 20] [--json]

The simulated arm runs in real time at its own rate, three times as long: without a monitor, with
one that nobody looks at, and with one whose page is open in a real browser (Chromium without a
window). The browser draws in software and belongs on another machine: here it runs at the lowest
priority, and its load is told apart.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
import contextlib
import os
from pathlib import Path
import shutil
import sys
import time
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticArray
from playwright.sync_api import sync_playwright
import rclpy
from rclpy.node import Node

from armsense_bringup.launch.plan import load
from armsense_bringup.launch.supervisor import Supervisor
from armsense_bringup.workspace.own_domain import keep_apart
from armsense_node.health import Health, parts_of
from bench.cpu_time import busy_seconds, cpu_seconds
from bench.report import emit

ROOT = Path(__file__).resolve().parents[1]
START_LIMIT = 120.0     # [s]
SETTLE = 5.0            # [s] for what has just begun
NICEST = 19
BROWSER = ('--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader')
SIZE: Any = {'width': 1280, 'height': 800}
NODES = ('motor_board', 'dynamic_controller', 'collision_observer')


class Cost(NamedTuple):
    """One measurement; CPU in percent of one core."""

    monitor_cpu_percent: float | None      # None: no monitor runs
    arm_cpu_percent: float                 # driver, controller and observer
    driver_missed_percent: float           # of its periods
    others_cpu_percent: float              # at least: simulator, browser, other people
    arm: str                               # enabled, or why not: then the figures mean little


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog='armsense bench monitor', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--arm', default='laas4')
    parser.add_argument('--seconds', type=float, default=20.0, help='length of each run')
    parser.add_argument('--json', action='store_true', help='JSON object as the last line')
    options = parser.parse_args(argv)
    keep_apart()
    os.environ.pop('ROS_PYTHON_CHECK_FIELDS', None)     # for tests: a user's nodes run without
    with ear() as node:
        costs = measure_all(node, options.arm, options.seconds)
    result = {'arm': options.arm, 'seconds': options.seconds,
              **{name.replace(' ', '_'): cost._asdict() for name, cost in costs.items()}}
    emit(f'web monitor of {options.arm} in real time (CPU: percent of one core)',
         ('', 'monitor', 'driver, controller, observer', 'driver missed %', 'all else', 'arm'),
         [(name, *cost._replace(
             driver_missed_percent=round(cost.driver_missed_percent, 3)))
          for name, cost in costs.items()], result, options.json)
    return 0


def measure_all(node: Node, arm: str, seconds: float) -> dict[str, Cost]:
    with running(arm, 'none') as supervisor:
        costs = {'no monitor': measure(node, supervisor, seconds)}
    with running(arm, 'web') as supervisor:
        address = supervisor.wait_for_line('page: http', START_LIMIT).text.split('page: ')[1]
        costs['no page'] = measure(node, supervisor, seconds)
        with page(address):
            costs['page open'] = measure(node, supervisor, seconds)
            if said(node, 'web_monitor', 'page').values['pages'] != '1':
                raise SystemExit('bench monitor: the browser has lost the page')
    return costs


@contextlib.contextmanager
def running(arm: str, monitor: str) -> Iterator[Supervisor]:
    """An enabled arm."""
    plan = load(ROOT / 'launch' / 'arm.launch.xml', {
        'arm': arm, 'monitor': monitor, 'web_port': '0', 'lockstep': 'false'})
    with Supervisor(plan) as supervisor:
        supervisor.wait_for_line('ENABLED', START_LIMIT, name='motor_board')
        yield supervisor


@contextlib.contextmanager
def page(address: str) -> Iterator[None]:
    """The page in a browser at the lowest priority."""
    program = shutil.which('chromium') or shutil.which('google-chrome')
    if program is None:
        raise SystemExit('bench monitor: no browser on this machine: apt install chromium')
    os.nice(NICEST)     # inherited by the browser; the arm runs already
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(BROWSER))
        opened = browser.new_page(viewport=SIZE)
        opened.goto(address, timeout=1e3 * START_LIMIT)
        opened.get_by_text('armsense').first.wait_for(timeout=1e3 * START_LIMIT)
        yield
        browser.close()


@contextlib.contextmanager
def ear() -> Iterator[Node]:
    rclpy.init()
    node = rclpy.create_node('bench_monitor')
    try:
        yield node
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def measure(node: Node, supervisor: Supervisor, seconds: float) -> Cost:
    """Let it run for some seconds."""
    names = [name for name in (*NODES, 'web_monitor') if name in supervisor.running()]
    pids = {name: supervisor.pid(name) for name in names}
    time.sleep(SETTLE)
    cycles, missed = driver_loop(node)
    before, all_before, begin = cpu_seconds(pids), busy_seconds(), time.monotonic()
    time.sleep(seconds)
    after, all_after, end = cpu_seconds(pids), busy_seconds(), time.monotonic()
    cycles_after, missed_after = driver_loop(node)
    used = {name: 100.0 * (after[name] - before[name]) / (end - begin) for name in names}
    others = 100.0 * (all_after - all_before) / (end - begin) - sum(used.values())
    periods = cycles_after - cycles + missed_after - missed
    # The kernel samples the load of all, and misses most of what sleeps a thousand times a second.
    return Cost(used.get('web_monitor'), sum(used[name] for name in NODES),
                100.0 * (missed_after - missed) / periods, max(others, 0.0),
                said(node, 'motor_board', 'arm').message.split(' (')[0])


def driver_loop(node: Node) -> tuple[int, int]:
    """Cycles and misses of the driver so far."""
    values = said(node, 'motor_board', 'loop').values
    return int(str(values['cycles'])), int(str(values['missed']))


def said(node: Node, name: str, part: str) -> Health:
    """What a node says of one of its parts, from now on."""
    found: list[Health] = []

    def take(message: DiagnosticArray) -> None:
        found.extend(health for who, health in parts_of(message)
                     if (who, health.part) == (name, part))

    subscription = node.create_subscription(DiagnosticArray, 'diagnostics', take, 10)
    deadline = time.monotonic() + START_LIMIT
    while not found:
        if time.monotonic() > deadline:
            raise SystemExit(f'bench monitor: {name} says nothing')
        rclpy.spin_once(node, timeout_sec=0.1)
    node.destroy_subscription(subscription)
    return found[-1]


if __name__ == '__main__':
    sys.exit(main())
