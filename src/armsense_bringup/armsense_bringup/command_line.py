"""`./armsense COMMAND`: finds the command, prepares the workspace, runs it.

Only the standard library is used: this runs before anything is installed.
"""

from __future__ import annotations

from collections.abc import Callable
import difflib
import os
from pathlib import Path
import sys
from typing import NamedTuple, NoReturn

from armsense_bringup.workspace.machine import end_on_sigterm, SetupError
from armsense_bringup.workspace.workspace import Workspace


class Command(NamedTuple):
    module: str              # run as `python -m module`
    text: str                # one line of help
    workspace: bool = True   # needs the installed and built workspace


COMMANDS = {
    'demo': Command('armsense_bringup.demo.command',
                    'everything simulated; ends with a figure and a table'),
    'identify': Command('armsense.cli.identify_command',
                        'a recorded motion in, a physically consistent model out'),
    'tables': Command('bench.papers.tables_command',
                      'published tables beside our own, simulated'),
    'excite': Command('armsense_bringup.excite.command',
                      'design a motion that shows the dynamics, and drive it'),
    'calibrate': Command('armsense.cli.calibrate_command',
                         'thresholds for a rate of false alarms, from free motion'),
    'replay': Command('armsense.cli.replay_command',
                      'would this configuration have tripped? a bag through the observer'),
    'campaign': Command('armsense.cli.campaign_command',
                        'many simulated collisions and hours of free motion, judged'),
    'description': Command('armsense.cli.description_command',
                           'the URDF of an arm, as it is or was identified, for Gazebo'),
    'teach': Command('armsense_control.teach_command', 'lead the arm by hand, play it back'),
    'monitor': Command('armsense_monitor.monitor_command',
                       'a page in the browser: a running arm or a bag'),
    'test': Command('armsense_bringup.workspace.tests',
                    'all checks: lint, types, unit and system tests'),
    'launch': Command('armsense_bringup.launch.runner', 'start the nodes of a launch file'),
    'nodes': Command('bench.node_reference',
                     'write docs/nodes.md and the security policy from the running nodes'),
    'bench': Command('armsense_bringup.workspace.bench', 'measure; `bench` alone lists what'),
    'build': Command('armsense_bringup.workspace.build', 'build the workspace again',
                     workspace=False),
    'shell': Command('armsense_bringup.workspace.shell',
                     'a shell with ROS 2 and the workspace in it'),
    'doctor': Command('armsense_bringup.workspace.doctor', 'what this machine has and lacks',
                      workspace=False),
}


def usage() -> str:
    width = max(map(len, COMMANDS))
    lines = ['usage: ./armsense COMMAND [arguments]', '']
    lines += [f'  {name:<{width}}  {command.text}' for name, command in COMMANDS.items()]
    lines += ['', './armsense COMMAND --help tells more.']
    return '\n'.join(lines)


def main(root: str, arguments: list[str]) -> int:
    """Become one command; returns an exit code where it cannot be started."""
    if not arguments or arguments[0] in ('help', '-h', '--help'):
        print(usage())
        return 0
    name, rest = arguments[0], arguments[1:]
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f'; did you mean {near[0]!r}?' if near else ''
        print(f'armsense: unknown command {name!r}{hint} Known: {", ".join(COMMANDS)}',
              file=sys.stderr)
        return 2
    return set_up(lambda: run(Workspace(root), COMMANDS[name], rest))


def set_up(work: Callable[[], None]) -> int:
    """Exit code of what sets the workspace up; what goes wrong is one line."""
    end_on_sigterm()
    try:
        work()
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
    return 0


def run(workspace: Workspace, command: Command, arguments: list[str]) -> NoReturn:
    if command.workspace:
        workspace.ensure()
        python, env = str(workspace.python), workspace.environment()
    else:
        python, env = sys.executable, dict(os.environ)
        env['ARMSENSE_ROOT'] = str(workspace.root)
        env['PYTHONPATH'] = str(Path(__file__).resolve().parents[1])
    if command.module.startswith('bench.'):      # beside the product, not installed
        paths = str(workspace.root), env.get('PYTHONPATH', '')
        env['PYTHONPATH'] = os.pathsep.join(filter(None, paths))
    become([python, '-m', command.module, *arguments], env)


def become(command: list[str], environment: dict[str, str]) -> NoReturn:
    """Replace this process, so that whoever ends it by a signal ends the command itself."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(command[0], command, environment)
