"""`./armsense excite design|run|friction|iterate`."""

from __future__ import annotations

import importlib
import sys

COMMANDS = {
    'design': 'an optimal, safe motion for identification, with a preview figure',
    'run': 'moves the arm along a motion and records a bag, checked at the end',
    'friction': 'constant velocities both ways, joint by joint, and a table of friction',
    'iterate': 'identify, design again with the found model, until nothing changes',
}


def main(arguments: list[str]) -> int:
    """Run one subcommand; returns the exit code."""
    name, rest = (arguments or [''])[0], arguments[1:]
    if name == 'design':
        module = importlib.import_module('armsense.cli.excite_command')
        return int(module.main(arguments))
    if name in COMMANDS:   # each loads much of its own
        return int(importlib.import_module(f'armsense_bringup.excite_{name}').main(rest))
    asked = name in ('-h', '--help')
    lines = ['usage: ./armsense excite COMMAND [arguments]', '']
    lines += [f'  {known:<9} {text}' for known, text in COMMANDS.items()]
    print('\n'.join(lines), file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 2


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
