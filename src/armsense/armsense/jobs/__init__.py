"""Whole tasks: a recording in, a model out."""
