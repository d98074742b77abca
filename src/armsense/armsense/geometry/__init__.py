"""Shapes of links: capsules, and distances between them."""
