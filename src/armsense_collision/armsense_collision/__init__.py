"""Collision observer and base reaction nodes."""
