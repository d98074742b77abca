"""`./armsense monitor`: a page in the browser that shows a running arm, or a bag.

    monitor                              # the arm that runs on this machine
    monitor --bag out/demo/laas4/resume/bag
    monitor --host 0.0.0.0               # from a phone in the same network

The page is read-only. The token that is printed at the start unlocks its buttons.
"""

import argparse
from dataclasses import fields
import sys

from armsense_monitor.web_monitor_node import Settings, WebMonitorNode
from armsense_node.loop import run_node
from armsense_node.parameters import meaning


def parser() -> argparse.ArgumentParser:
    """Every parameter of the node is an option."""
    out = argparse.ArgumentParser(prog='armsense monitor', description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    for field in fields(Settings):
        name, text = f'--{field.name}', f'{meaning(field)} (default {field.default!r})'
        if isinstance(field.default, bool):
            out.add_argument(name, action='store_true', help=meaning(field))
        else:
            out.add_argument(name, type=type(field.default), default=field.default, help=text)
    out.add_argument('--namespace', default='', help='of the arm')
    return out


def ros_arguments(options: argparse.Namespace) -> list[str]:
    """The command line of the node."""
    words = ['monitor', '--ros-args']
    for field in fields(Settings):
        words += ['-p', f'{field.name}:={_yaml(getattr(options, field.name))}']
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
