"""Recorded or simulated readings, and monitors that watch them."""

from armsense_core.simulate.tape import Tape, Trace
from armsense_core.simulate.watch import watch

__all__ = ['Tape', 'Trace', 'watch']
