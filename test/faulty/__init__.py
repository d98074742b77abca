"""Nodes with a fault in their step, for `test_process.py`."""
