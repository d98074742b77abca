"""Seeded collision campaigns with simulated arms."""
