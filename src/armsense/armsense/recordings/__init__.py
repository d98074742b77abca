"""Anybody's bags and tables, read into arrays."""
