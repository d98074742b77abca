"""`./armsense shell [COMMAND ...]`: a shell, or one command, inside the built workspace."""

from __future__ import annotations

import os
import sys


def main() -> int:
    if sys.argv[1:2] in (['-h'], ['--help']):
        print(__doc__)
        return 0
    command = sys.argv[1:] or [os.environ.get('SHELL', '/bin/bash')]
    try:
        os.execvp(command[0], command)
    except FileNotFoundError:
        print(f'armsense: there is no command {command[0]!r}', file=sys.stderr)
        return 127


if __name__ == '__main__':
    sys.exit(main())
