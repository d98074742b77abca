"""Identification of an arm's dynamics from recorded motion."""
