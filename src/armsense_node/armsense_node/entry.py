"""The executable of every node: a signal while it still imports ends it without a word.

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
    return int(node.main())
