"""`./armsense build`: install and build whatever the stamps say."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from armsense_bringup.workspace import end_on_sigterm, SetupError, Workspace


def main() -> int:
    parser = argparse.ArgumentParser(prog='armsense build', description=__doc__)
    parser.add_argument('--clean', action='store_true', help='remove build/ and install/ first')
    options = parser.parse_args()
    workspace = Workspace(os.environ['ARMSENSE_ROOT'])
    end_on_sigterm()
    if options.clean:
        for name in ('build', 'install'):
            shutil.rmtree(workspace.root / name, ignore_errors=True)
    try:
        workspace.build()
    except SetupError as error:
        print(f'armsense: {error}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
