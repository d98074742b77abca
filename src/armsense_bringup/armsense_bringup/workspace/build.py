"""`./armsense build`: install and build whatever the stamps say."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from armsense_bringup.command_line import set_up
from armsense_bringup.workspace.workspace import Workspace


def main() -> int:
    parser = argparse.ArgumentParser(prog='armsense build', description=__doc__)
    parser.add_argument('--clean', action='store_true', help='remove build/ and install/ first')
    options = parser.parse_args()
    workspace = Workspace(os.environ['ARMSENSE_ROOT'])
    if options.clean:
        for name in ('build', 'install'):
            shutil.rmtree(workspace.root / name, ignore_errors=True)
    return set_up(workspace.build)


if __name__ == '__main__':
    sys.exit(main())
