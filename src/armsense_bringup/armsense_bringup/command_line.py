"""`./armsense COMMAND`: finds the command, prepares the workspace, runs it.

Only the standard library is used: this runs before anything is installed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
import os
import shutil
import signal
import sys
from typing import NamedTuple

from armsense.cli.commands import COMMANDS as LIBRARY
from armsense.cli.commands import unknown, usage
from armsense_bringup.workspace import doctor
from armsense_bringup.workspace.machine import become, end_on_sigterm, SetupError
from armsense_bringup.workspace.workspace import Workspace


class Command(NamedTuple):
    work: str | Callable[[Workspace, list[str]], int]   # `python -m` in the workspace, or here
    text: str                                           # one line of help


def build(workspace: Workspace, arguments: list[str]) -> int:
    """Install and build whatever the stamps say."""
    parser = argparse.ArgumentParser(prog='armsense build', description=build.__doc__)
    parser.add_argument('--clean', action='store_true', help='remove build/ and install/ first')
    if parser.parse_args(arguments).clean:
        for name in ('build', 'install'):
            shutil.rmtree(workspace.root / name, ignore_errors=True)
    workspace.build()
    return 0


def shell(workspace: Workspace, arguments: list[str]) -> int:
    """`./armsense shell [COMMAND ...]`: a shell, or one command, inside the built workspace."""
    if arguments[:1] in (['-h'], ['--help']):
        print(shell.__doc__)
        return 0
    workspace.ensure()
    command = arguments or [os.environ.get('SHELL', '/bin/bash')]
    try:
        become(command, workspace.environment())
    except FileNotFoundError:
        print(f'armsense: there is no command {command[0]!r}', file=sys.stderr)
        return 127


COMMANDS = {
    'demo': Command('armsense_bringup.demo.command',
                    'everything simulated; ends with a figure and a table'),
    **{name: Command(*entry) for name, entry in LIBRARY.items()},
    'tables': Command('bench.papers.tables_command',
                      'published tables beside our own, simulated'),
    'arm': Command('armsense_control.arm_command',
                   'enable, stop, home or jog the arm that runs, or ask how it is'),
    'teach': Command('armsense_control.teach_command', 'lead the arm by hand, play it back'),
    'monitor': Command('armsense_monitor.monitor_command',
                       'a page in the browser: a running arm or a bag'),
    'test': Command('bench.checks', 'all checks: lint, types, unit and system tests'),
    'launch': Command('armsense_bringup.launch.runner', 'start the nodes of a launch file'),
    'nodes': Command('bench.node_reference',
                     'write docs/nodes.md and the security policy from the running nodes'),
    'bench': Command('bench', 'measure; `bench` alone lists what'),
    'build': Command(build, 'build the workspace again'),
    'shell': Command(shell, 'a shell with ROS 2 and the workspace in it'),
    'doctor': Command(doctor.main, 'what this machine has and lacks'),
}


def main(root: str, arguments: list[str]) -> int:
    """Become one command, or do it here; returns the exit code. What goes wrong is one line."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)   # a reader that goes (`| head`) ends it
    if not arguments or arguments[0] in ('help', '-h', '--help'):
        print(usage('./armsense', {name: command.text for name, command in COMMANDS.items()}))
        return 0
    name, rest = arguments[0], arguments[1:]
    if name not in COMMANDS:
        print(unknown(name, COMMANDS), file=sys.stderr)
        return 2
    end_on_sigterm()
    try:
        return run(Workspace(root), COMMANDS[name], rest)
    except SetupError as error:
        print(f'armsense: {error}', file=sys.stderr)
        return 1
    except OSError as error:   # such as a checkout that may not be written
        text = f'{error.filename}: {error.strerror}' if error.filename else str(error)
        print(f'armsense: {text}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('\narmsense: interrupted; start again to go on', file=sys.stderr)
        return 130


def run(workspace: Workspace, command: Command, arguments: list[str]) -> int:
    if not isinstance(command.work, str):
        return command.work(workspace, arguments)
    workspace.ensure()
    env = workspace.environment()
    if command.work.startswith('bench'):      # beside the product, not installed
        env['PYTHONPATH'] = os.pathsep.join(
            filter(None, (str(workspace.root), env.get('PYTHONPATH', ''))))
    become([str(workspace.python), '-m', command.work, *arguments], env)
