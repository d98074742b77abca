"""Commands that need no ROS, by the module behind each; only the standard library is used."""

from collections.abc import Collection
import difflib
from typing import NamedTuple


class Entry(NamedTuple):
    module: str   # its `main` takes the arguments
    text: str     # one line of help


COMMANDS = {
    'identify': Entry('armsense.cli.identify_command',
                      'a recorded motion in, a physically consistent model out'),
    'excite': Entry('armsense.cli.excite_group',
                    'design a motion that shows the dynamics, and drive it'),
    'calibrate': Entry('armsense.cli.calibrate_command',
                       'thresholds for a rate of false alarms, from free motion'),
    'replay': Entry('armsense.cli.replay_command',
                    'would this configuration have tripped? a bag through the observer'),
    'campaign': Entry('armsense.cli.campaign_command',
                      'many simulated collisions and hours of free motion, judged'),
    'robots': Entry('armsense.cli.robots_command',
                    'robots that are ready to use, what is known of them and what assumed'),
    'description': Entry('armsense.cli.description_command',
                         'the URDF of an arm, as it is or was identified, for Gazebo'),
}


def usage(program: str, texts: dict[str, str]) -> str:
    """What stands below the program's name."""
    width = max(map(len, texts))
    lines = [f'usage: {program} COMMAND [arguments]', '']
    lines += [f'  {name:<{width}}  {text}' for name, text in texts.items()]
    return '\n'.join([*lines, '', f'{program} COMMAND --help tells more.'])


def unknown(name: str, known: Collection[str]) -> str:
    """One line to a command that does not exist."""
    near = difflib.get_close_matches(name, known, n=1)
    hint = f'; did you mean {near[0]!r}?' if near else '.'
    return f'armsense: unknown command {name!r}{hint} Known: {", ".join(known)}'
