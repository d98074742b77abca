"""The executable of every node: signals while it imports or ends say nothing.

Imports take a second, and a launch that fails stops everybody at once. What a half-imported node
said of that buried the cause.
"""

from importlib import import_module
import os
from pathlib import Path
import signal
import sys


def main() -> int:
    """Run `main` of the module PACKAGE.NAME_node; this is the script PACKAGE/NAME."""
    ending = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: os._exit(0)) for number in ending]
    script = Path(sys.argv[0])
    node = import_module(f'{script.parent.name}.{script.name}_node')
    for number, handler in zip(ending, before, strict=True):
        signal.signal(number, handler)
    status = int(node.main())
    for number in ending:   # it ends already: a signal would turn its status into a death
        signal.signal(number, signal.SIG_IGN)
    return status
