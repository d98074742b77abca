"""The simulated arm as a node."""
