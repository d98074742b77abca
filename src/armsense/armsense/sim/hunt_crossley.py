"""Contact force of Hunt and Crossley (thesis 000, eqs. 5.19-5.21).

    f = k x^n + lambda x^n dx,      lambda = 3/2 alpha k,      e = 1 - alpha v_i

x is the penetration, dx its rate, f the force that pushes the bodies apart. The damping grows with
the penetration, so the force starts and ends at zero without a jump; bodies never pull.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HuntCrossley:
    """Material of a contact; the defaults are those of the document's collision test."""

    stiffness: float = 10e3    # k [N/m^n]
    dissipation: float = 0.04  # alpha [s/m]
    exponent: float = 1.0      # n: 1 flat on flat, 1.5 for round bodies

    def force(self, depth: float, rate: float) -> float:
        """Force that parts the bodies [N], never negative.

        Args:
            depth: Penetration [m]; not positive without contact.
            rate: Its derivative [m/s], positive while the bodies approach.
        """
        if depth <= 0.0:
            return 0.0
        spring: float = self.stiffness * depth**self.exponent
        return max(0.0, spring * (1.0 + 1.5 * self.dissipation * rate))

    def restitution(self, impact_velocity: float) -> float:
        """Speed after an impact over the speed before (eq. 5.20), for small alpha v_i."""
        return 1.0 - self.dissipation * impact_velocity
