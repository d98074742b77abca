"""Measurements: each module prints a table and, with --json, an object as its last line."""
