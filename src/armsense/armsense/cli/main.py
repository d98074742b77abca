"""`armsense COMMAND`, as `pip install armsense` puts it on the path: what needs no ROS."""

from collections.abc import Sequence
import importlib
import sys

from armsense.cli.commands import COMMANDS, unknown, usage
from armsense.extras import lacking

WORKSPACE = ('arm', 'build', 'demo', 'doctor', 'launch', 'monitor', 'nodes', 'shell', 'tables',
             'teach', 'test')


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    name = (words or ['help'])[0]
    if name in ('help', '-h', '--help'):
        print(usage('armsense', {name: entry.text for name, entry in COMMANDS.items()}))
        return 0
    if name in WORKSPACE:
        print(f'armsense: {name} needs ROS: a checkout of armsense has it as ./armsense {name}',
              file=sys.stderr)
        return 2
    if name not in COMMANDS:
        print(unknown(name, COMMANDS), file=sys.stderr)
        return 2
    try:
        return int(importlib.import_module(COMMANDS[name].module).main(words[1:]))
    except ModuleNotFoundError as error:
        print(f'armsense {name}: {lacking(error)}', file=sys.stderr)
        return 1
