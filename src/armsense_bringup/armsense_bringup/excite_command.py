"""`./armsense excite design|run`."""

from __future__ import annotations

import sys

from armsense_bringup import excite_run
from armsense_identification import excite_command


def main() -> int:
    if sys.argv[1:2] == ['run']:
        return excite_run.main(sys.argv[2:])
    return excite_command.main(sys.argv[1:])


if __name__ == '__main__':
    if sys.argv[1:2] in (['-h'], ['--help']):
        print('usage: armsense excite design ... | armsense excite run FILE ...')
    sys.exit(main())
