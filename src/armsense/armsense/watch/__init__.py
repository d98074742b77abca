"""Recorded or simulated readings, and monitors that watch them."""

from armsense.watch.tape import link_torques, Tape, Trace, watch, watch_all

__all__ = ['Tape', 'Trace', 'link_torques', 'watch', 'watch_all']
