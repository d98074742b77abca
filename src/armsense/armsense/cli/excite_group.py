"""`armsense excite design|run|friction|iterate`; all but the first move an arm, by ROS."""

import importlib
import sys

COMMANDS = {   # module, and one line of help
    'design': ('armsense.cli.excite_command',
               'an optimal, safe motion for identification, with a preview figure'),
    'run': ('armsense_bringup.excite.run',
            'moves the arm along a motion and records a bag, checked at the end'),
    'friction': ('armsense_bringup.excite.friction',
                 'constant velocities both ways, joint by joint, and a table of friction'),
    'iterate': ('armsense_bringup.excite.iterate',
                'identify, design again with the found model, until nothing changes'),
}


def main(arguments: list[str]) -> int:
    """Run one subcommand; returns the exit code."""
    name = (arguments or [''])[0]
    if name in COMMANDS:   # each loads much of its own
        try:
            module = importlib.import_module(COMMANDS[name][0])
        except ModuleNotFoundError as error:
            if error.name != 'armsense_bringup':
                raise
            print(f'armsense excite {name}: moving an arm needs ROS; a checkout of armsense has '
                  f'it as ./armsense excite {name}', file=sys.stderr)
            return 1
        return int(module.main(arguments[1:]))
    asked = name in ('-h', '--help')
    lines = ['usage: ./armsense excite COMMAND [arguments]', '']
    lines += [f'  {known:<9} {text}' for known, (_, text) in COMMANDS.items()]
    print('\n'.join(lines), file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 2


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
