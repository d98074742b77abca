"""Recorded or simulated readings, and monitors that watch them."""

from armsense.watch.stream import link_torques, watch, watch_all
from armsense.watch.tape import Tape, Trace

__all__ = ['Tape', 'Trace', 'link_torques', 'watch', 'watch_all']
