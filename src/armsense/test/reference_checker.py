"""Whether what a controller followed keeps an arm's limits, from its positions alone."""

import numpy as np


class ReferenceChecker:
    """Finite differences of `controller.reference`, joint by joint, in every cycle.

    None across a cycle in which a joint's reference begins anew, which it may only where the arm
    is, between there and where it was led before, or in the latter place. Jerk counts where the
    reference is of a plan.
    """

    def __init__(self, controller, dt):
        self._controller, self._dt = controller, dt
        self._rows = np.full((4, len(controller.limits.lower)), np.nan)
        self._planned, self._restarts = 0, controller.restarts
        self.worst = np.zeros(3)   # velocity, acceleration, jerk over their limits
        self.restarts = 0          # cycles in which some joint began anew

    def note(self):
        """Look at the reference of this cycle."""
        controller, limits = self._controller, self._controller.limits
        if controller.reference is None:
            self._rows[:] = np.nan
            return
        q = controller.reference.q
        assert (q >= limits.lower - 1e-9).all()
        assert (q <= limits.upper + 1e-9).all()
        anew = controller.restarts != self._restarts
        self._expect_beginning_here(q, anew)
        self._restarts = controller.restarts
        self._rows[:, anew] = np.nan
        self._rows = np.vstack([self._rows[1:], q])
        self._planned = self._planned + 1 if controller.planned else 0
        for order, limit in enumerate((limits.velocity, limits.acceleration, limits.jerk), 1):
            if order == 3 and self._planned < 4:
                continue
            value = np.diff(self._rows[-order - 1:], order, axis=0)[0] / self._dt**order
            self.worst[order - 1] = np.nanmax([self.worst[order - 1], *np.abs(value / limit)])

    def _expect_beginning_here(self, q, anew):
        controller, dt = self._controller, self._dt
        self.restarts += bool(anew.any())
        near = controller.limits.acceleration * dt**2 + 1e-9
        before = self._rows[-1]
        fine = ~anew | (np.abs(q - before) <= controller.limits.velocity * dt)
        for place in (controller.state.q, controller.state.theta):   # laws follow either
            away = q - controller.limits.inside(place)
            fine |= (np.abs(away) <= near) | ((q - before) * away < 0.0)
        assert fine.all(), (q, controller.state.q)

    def expect_kept(self, slack=0.02):
        """No limit was passed by more than the planner's grid may miss."""
        assert (self.worst <= 1.0 + slack).all(), self.worst
