"""Whether what a controller followed keeps an arm's limits, from its positions alone."""

import numpy as np


class ReferenceChecker:
    """Finite differences of `controller.reference`; none across a start where the arm is."""

    def __init__(self, controller, dt):
        self._controller, self._dt = controller, dt
        self._rows, self._restarts = [], controller.restarts
        self.worst = np.zeros(3)   # velocity, acceleration, jerk over their limits

    def note(self):
        """Look at the reference of this cycle."""
        controller, limits = self._controller, self._controller.limits
        if controller.reference is None or controller.restarts != self._restarts:
            self._rows, self._restarts = [], controller.restarts
        if controller.reference is None:
            return
        q = controller.reference.q
        assert (q >= limits.lower - 1e-9).all()
        assert (q <= limits.upper + 1e-9).all()
        self._rows = [*self._rows[-3:], q]
        for order, limit in enumerate((limits.velocity, limits.acceleration, limits.jerk), 1):
            if len(self._rows) > order:
                value = np.diff(self._rows[-order - 1:], order, axis=0)[0] / self._dt**order
                self.worst[order - 1] = max(self.worst[order - 1], np.abs(value / limit).max())

    def expect_kept(self, slack=0.02):
        """No limit was passed by more than the planner's grid may miss."""
        assert (self.worst <= 1.0 + slack).all(), self.worst
