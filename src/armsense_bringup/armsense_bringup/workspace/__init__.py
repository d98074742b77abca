"""The checkout: set up, built, checked."""
