"""After a collision event: what do joints and base say together?

The two residuals pass low passes of different gains. Each passes the other's as well, so that both
show the same instant of a force that changes; some time constants after the event they are
explained by one cause: a contact, with link, point and force, or something that lies. A second
look follows, for what begins with a jump (an encoder that slips) looks like a blow at first.

While a contact lasts, what it has been explained by is known: of a further event only the rest is
explained, else an old contact on one link would bend force and point of a new one on another.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from armsense.base.cell_layout import CellLayout
from armsense.base.explanation import Explainer, Explanation
from armsense.model import Arm
from armsense.types import Array
from armsense.watch.collision_monitor import IMPACT_ERROR, NOISE

SETTLED = 3.0     # time constants of both low passes from the event to the first look
SECOND = 4.0      # times as long from the first look to the second
FALL = 0.2        # [s] in which what is known falls with a contact that becomes weaker


class Side(NamedTuple):
    """A residual with its thresholds, of the joints [Nm], (n,), or of the felt axes, (k,)."""

    residual: Array
    threshold: Array
    valid: bool
    lasting: bool = False   # a contact lasts, as its detector says


class ContactWatch:
    """Waits for events and explains them."""

    def __init__(self, model: Arm, layout: CellLayout, joint_gain: float,
                 base_gain: float) -> None:
        """For an arm on its cells; gains [1/s] of the low passes of both residuals."""
        n, k = model.n, len(layout.axes)
        self._explainer = Explainer(model, layout, np.eye(n), np.eye(k))
        self._gains = joint_gain, base_gain
        self._settle = SETTLED * (1.0 / joint_gain + 1.0 / base_gain)
        self._tau, self._felt = np.zeros(n), np.zeros(k)
        self._known = np.zeros(n + k)   # of both, what was explained before this event
        self._explained = np.zeros(n + k)
        self._due = math.inf      # [s] until the next look
        self._looks = 0           # since the event

    def step(self, q: Array, joints: Side, base: Side, event: bool,
             dt: float) -> Explanation | None:
        """One cycle; the explanation of an event when it has settled, and once more later.

        Args:
            q: Joint positions [rad], (n,).
            joints: Residual of the joints.
            base: Residual of the felt axes.
            event: Whether one of the two has announced a collision in this cycle.
            dt: Time since the cycle before [s].
        """
        if not (joints.valid and base.valid):
            self._tau, self._felt, self._due = 0.0 * self._tau, 0.0 * self._felt, math.inf
            return None
        joint_gain, base_gain = self._gains
        self._tau = self._tau - math.expm1(-base_gain * dt) * (joints.residual - self._tau)
        self._felt = self._felt - math.expm1(-joint_gain * dt) * (base.residual - self._felt)
        self._follow_known(joints.lasting or base.lasting, dt)
        if event and (math.isinf(self._due) or self._looks):
            self._due, self._looks = self._settle, 0
            self._known = self._explained
        self._due -= dt
        if self._due > 0.0:
            return None
        self._due = math.inf if self._looks else SECOND * self._settle
        self._looks += 1
        self._explained = np.concatenate([self._tau, self._felt])
        tau, felt = np.split(self._explained - self._known, [len(self._tau)])
        self._explainer.weigh(_covariance(tau, joints.threshold),
                              _covariance(felt, base.threshold))
        return self._explainer.explain(q, tau, felt)

    def _follow_known(self, lasting: bool, dt: float) -> None:
        """Forget what was explained with the contact; let it fall with one that becomes weaker."""
        if not (lasting or math.isfinite(self._due)):
            self._explained = 0.0 * self._explained
            return
        now, known = np.concatenate([self._tau, self._felt]), self._explained
        weaker = now * known < known**2
        self._explained = known - math.expm1(-dt / FALL) * weaker * (now - known)


def _covariance(residual: Array, threshold: Array) -> Array:
    """A calibrated threshold is some standard deviations; an impact adds a share of its height."""
    highest = float((np.abs(residual) / threshold).max())
    return np.diag(np.square(threshold * math.hypot(NOISE, IMPACT_ERROR * highest)))
