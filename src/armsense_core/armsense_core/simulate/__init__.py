"""Recorded or simulated readings, and monitors that watch them."""

from armsense_core.simulate.tape import Tape, Trace
from armsense_core.simulate.watch import link_torques, watch, watch_all

__all__ = ['Tape', 'Trace', 'link_torques', 'watch', 'watch_all']
