"""`./armsense monitor`: a page in the browser that shows a running arm, or a bag.

    monitor                              # the arm that runs on this machine
    monitor --bag out/demo/laas4/resume/bag
    monitor --host 0.0.0.0               # from a phone in the same network

The page is read-only. The token that is printed at the start unlocks its buttons.
"""

from __future__ import annotations

import argparse
import sys

from armsense_monitor.web_monitor_node import WebMonitorNode
from armsense_node.loop import run_node


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog='armsense monitor', description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    out.add_argument('--arm', default='laas4', help='arm by name or yaml file (default laas4)')
    out.add_argument('--bag', default='', help='show this bag instead of a running arm')
    out.add_argument('--at', type=float, default=-1.0, metavar='S',
                     help='go there in the bag and pause (default: play it)')
    out.add_argument('--bags', default='out', help='folder of the bag picker (default out)')
    out.add_argument('--host', default='127.0.0.1',
                     help='address to listen at; 0.0.0.0: the whole network (default 127.0.0.1)')
    out.add_argument('--port', type=int, default=8080, help='or the next free one (default 8080)')
    out.add_argument('--token', default='', help='that unlocks the buttons (default: random)')
    out.add_argument('--namespace', default='', help='of the arm')
    out.add_argument('--controller', default='dynamic_controller', help='node that moves the arm')
    out.add_argument('--jogging', action='store_true',
                     help='joints can be moved from the page; meant for simulation')
    return out


def ros_arguments(options: argparse.Namespace) -> list[str]:
    """The command line of the node."""
    values = vars(options)
    parameters = [f'{key}:={_yaml(value)}' for key, value in values.items() if key != 'namespace']
    words = ['monitor', '--ros-args']
    for parameter in parameters:
        words += ['-p', parameter]
    if options.namespace:
        words += ['-r', f'__ns:=/{options.namespace.strip("/")}']
    return words


def _yaml(value: object) -> str:
    """Text in quotes: a token of digits must stay text."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).lower()


def main() -> int:
    return run_node(WebMonitorNode, ros_arguments(parser().parse_args()))


if __name__ == '__main__':
    sys.exit(main())
