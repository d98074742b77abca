"""Joints and base check each other: which single cause explains both residuals?

An arm at rest or in slow motion with residuals beyond noise was touched, or a sensor is wrong:

- contact: the joints up to a link and the base agree on one force (`fusion`);
- encoder i reads an angle that is wrong by d: both models use it, so that
      tau = dg/dq_i d,    felt = -dG/dq_i d;
- drive i reports a wrong torque: one joint residual, nothing at the base;
- cell j reports a wrong force: nothing in the joints, one direction at the base.

Residuals that noise explains have no cause. Causes with fewer unknowns are preferred unless the
data speak clearly (Bayesian information criterion). Averaging the two residuals would hide exactly
what this names.

The two residuals pass low passes of different gains. Each passes the other's as well, so that both
show the same instant of a force that changes; some time constants after a collision event they are
explained by one cause. A second look follows, for what begins with a jump (an encoder that slips)
looks like a blow at first.

While a contact lasts, what it has been explained by is known: of a further event only the rest is
explained, else an old contact on one link would bend force and point of a new one on another.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from armsense.base.cell_layout import CellLayout
from armsense.base.fusion import ContactFusion, FusionOptions, Touch
from armsense.model import Arm
from armsense.types import Array
from armsense.watch.collision_monitor import IMPACT_ERROR, NOISE

CONTACT_UNKNOWNS = 5.0   # two on the surface, three of the force
CHANCE = 0.9999          # probability that noise alone stays below what counts as a cause
STEP = 1e-5              # [rad] for derivatives
SETTLED = 3.0            # time constants of both low passes from the event to the first look
SECOND = 4.0             # times as long from the first look to the second
FALL = 0.2               # [s] in which what is known falls with a contact that becomes weaker


class Cause(NamedTuple):
    """One explanation."""

    kind: str            # 'nothing', 'contact', 'encoder', 'drive' or 'cell'
    name: str            # joint, link or number of the cell (from 1); '' for nothing
    size: float          # [rad] of an encoder, [Nm] of a drive, [N] of a cell or contact
    misfit: float        # chi^2 that is left
    score: float         # misfit + unknowns ln(residuals); the least is the best
    touch: Touch | None  # of a contact


class Explanation(NamedTuple):
    """The best cause and its rivals."""

    best: Cause
    causes: tuple[Cause, ...]   # best first
    probability: float          # of the best against its rivals
    consistent: bool            # whether what the best cause leaves looks like noise


class Explainer:
    """Finds the cause of residuals."""

    def __init__(self, model: Arm, layout: CellLayout, joint_covariance: ArrayLike,
                 base_covariance: ArrayLike) -> None:
        """For an arm on its cells; covariances of joint (n, n) and felt (k, k) residuals."""
        self.model, self.layout = model, layout
        self.fusion = ContactFusion(model, layout, joint_covariance, base_covariance,
                                    FusionOptions(iterations=4))

    def explain(self, q: Array, tau: Array, felt: Array) -> Explanation:
        """The cause of a joint residual [Nm], (n,), and a felt residual [N, Nm], (k,)."""
        y = self.fusion.response.whiten(tau, felt)
        nothing = self._cause('nothing', '', 0.0, float(y @ y), 0.0)
        noise = stats.chi2.ppf(CHANCE, len(y))
        if nothing.misfit < noise:
            return Explanation(nothing, (nothing,), 1.0, True)
        causes = [nothing, *self._single(q, y)]
        touch = self.fusion.locate(q, tau, felt)
        causes.append(self._cause('contact', touch.link, float(np.linalg.norm(touch.force)),
                                  touch.misfit, CONTACT_UNKNOWNS, touch))
        causes.sort(key=lambda cause: cause.score)
        weights = [math.exp(-0.5 * min(c.score - causes[0].score, 700.0)) for c in causes]
        return Explanation(causes[0], tuple(causes), 1.0 / sum(weights),
                           bool(causes[0].misfit < noise))

    def _single(self, q: Array, y: Array) -> list[Cause]:
        """Causes with one unknown."""
        n, names = self.model.n, self.model.joint_names
        none_felt, none_driven = np.zeros(len(self.layout.axes)), np.zeros(n)
        columns = [('encoder', names[i], *self._of_encoder(q, i)) for i in range(n)]
        columns += [('drive', names[i], np.eye(n)[i], none_felt) for i in range(n)]
        columns += [('cell', str(j + 1), none_driven, self.layout.collect[:, j])
                    for j in range(self.layout.cells)]
        causes = []
        for kind, name, tau, felt in columns:
            a = self.fusion.response.whiten(tau, felt)
            power = float(a @ a)
            if power > 1e-12:
                size = float(a @ y) / power
                causes.append(self._cause(kind, name, size, float(y @ y) - size**2 * power, 1.0))
        return causes

    def _of_encoder(self, q: Array, i: int) -> tuple[Array, Array]:
        """Residuals per radian of a wrong angle of joint i."""
        rest, step = np.zeros(self.model.n), np.zeros(self.model.n)
        step[i] = STEP
        torque = self.model.gravity_torque(q + step) - self.model.gravity_torque(q - step)
        _, after = self.model.base_momentum(q + step, rest)
        _, before = self.model.base_momentum(q - step, rest)
        return torque / (2.0 * STEP), self.layout.felt(before - after) / (2.0 * STEP)

    def _cause(self, kind: str, name: str, size: float, misfit: float, unknowns: float,
               touch: Touch | None = None) -> Cause:
        rows = self.model.n + len(self.layout.axes)
        # The logarithm makes room for how many causes of a kind are tried.
        return Cause(kind, name, size, misfit, misfit + unknowns * (1.0 + math.log(rows)), touch)


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
        """One cycle of `dt` [s]; explains an event when it has settled, and once more later.

        Joint positions [rad], (n,), both residuals, and whether one of them has announced a
        collision in this cycle.
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
        self._explainer.fusion.response.weigh(_covariance(tau, joints.threshold),
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
