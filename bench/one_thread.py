"""One BLAS thread, so that seconds mean the same on every machine and next to other work."""

from __future__ import annotations

import os
import sys


def one_thread(module: str) -> None:
    """Start the module again with one BLAS thread; it is read only when numpy is loaded."""
    if os.environ.get('OMP_NUM_THREADS') != '1':
        os.environ['OMP_NUM_THREADS'] = '1'
        os.execv(sys.executable, [sys.executable, '-m', module, *sys.argv[1:]])
