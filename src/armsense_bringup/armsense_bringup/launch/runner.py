"""`ros2 launch` for machines without the launch packages.

```
./armsense launch arm.launch.xml hardware:=sim
./armsense launch armsense_bringup arm.launch.xml --show-args
```
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import os
from pathlib import Path
import signal
import sys

from armsense_bringup.launch.language import LaunchError, Mistake, number, package_share
from armsense_bringup.launch.output import Echo
from armsense_bringup.launch.plan import Argument, declared_arguments, load
from armsense_bringup.launch.supervisor import Supervisor, Timeouts

DEFAULT_PACKAGE = 'armsense_bringup'


def main(argv: Sequence[str] | None = None) -> int:
    """Run a launch file; the exit code is 0, 1 if a process failed, or 2 for a mistake in use."""
    options = _parser().parse_args(argv)
    try:
        words = [word for word in options.words if ':=' not in word]
        path = find_launch_file(words)
        if options.show_args:
            print(format_arguments(declared_arguments(path)))
            return 0
        plan = load(path, parse_arguments([w for w in options.words if ':=' in w]))
        if options.dry_run:
            print('\n'.join(process.describe() for process in plan))
            return 0
    except (LaunchError, Mistake) as error:
        print(f'launch: {error}', file=sys.stderr)
        return 2
    timeouts = Timeouts(options.sigterm_timeout, options.sigkill_timeout)
    return run(Supervisor(plan, Echo(sys.stdout), timeouts))


def run(supervisor: Supervisor) -> int:
    """Supervise until all processes have ended; SIGINT, SIGTERM and SIGHUP stop them."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {
        number: signal.signal(number, lambda *_: supervisor.stop()) for number in numbers}
    try:
        return supervisor.start().wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def find_launch_file(words: Sequence[str]) -> Path:
    """The launch file that `file` or `package file` on a command line means.

    Raises:
        Mistake: There are too few or too many words, or nothing of that name is installed.
    """
    if not 1 <= len(words) <= 2:
        raise Mistake(f'one launch file expected, got {" ".join(words) or "none"!r}; '
                      'use [PACKAGE] FILE [NAME:=VALUE ...]')
    if len(words) == 1 and Path(words[0]).is_file():
        return Path(words[0])
    package, name = words if len(words) == 2 else (DEFAULT_PACKAGE, words[0])
    files = sorted(package_share(package, os.environ).rglob('*.launch.xml'))
    matches = [path for path in files if path.name == name]
    if len(matches) > 1:
        raise Mistake(f'package {package!r} has {name!r} more than once: '
                      f'{", ".join(map(str, matches))}')
    if not matches:
        known = ', '.join(path.name for path in files) or 'none'
        raise Mistake(f'package {package!r} has no launch file {name!r}; known: {known}')
    return matches[0]


def parse_arguments(words: Sequence[str]) -> dict[str, str]:
    """`name:=value` words as a dictionary; the last of equal names wins.

    Raises:
        Mistake: A name or a value is missing.
    """
    arguments = {}
    for word in words:
        name, _, value = word.partition(':=')
        if not name or not value:
            raise Mistake(f'argument {word!r}: NAME:=VALUE expected (leave it out for its '
                          'default)')
        arguments[name] = value
    return arguments


def format_arguments(arguments: Sequence[Argument]) -> str:
    """The arguments of a launch file for a reader."""
    lines = ["Arguments (pass as '<name>:=<value>'):"]
    for argument in arguments:
        lines += ['', f"    '{argument.name}':"]
        lines += [f'        {argument.description}'] if argument.description else []
        if argument.choices:
            lines.append(f'        one of: {", ".join(map(repr, argument.choices))}')
        default = 'a value is needed' if argument.default is None else (
            f'default: {argument.default!r}')
        lines.append(f'        ({default})')
    return '\n'.join(lines if arguments else [*lines, '', '    none'])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='launch', description='Start the processes of an XML launch file.')
    parser.add_argument(
        'words', nargs='+', metavar='[PACKAGE] FILE [NAME:=VALUE ...]',
        help=f'a launch file (a bare name is looked up in {DEFAULT_PACKAGE}) and its arguments')
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        '-s', '--show-args', '--show-arguments', action='store_true',
        help='show the arguments of the launch file')
    what.add_argument(
        '-p', '--print', '--dry-run', dest='dry_run', action='store_true',
        help='print the processes instead of starting them')
    default = Timeouts()
    parser.add_argument(
        '--sigterm-timeout', type=number, default=default.sigterm, metavar='S',
        help='seconds from SIGINT to SIGTERM (default %(default)s)')
    parser.add_argument(
        '--sigkill-timeout', type=number, default=default.sigkill, metavar='S',
        help='seconds from SIGTERM to SIGKILL (default %(default)s)')
    return parser


if __name__ == '__main__':
    sys.exit(main())
