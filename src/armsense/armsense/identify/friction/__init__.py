"""Friction and rotors of the drives: columns of the fit, sweeps that show them."""
