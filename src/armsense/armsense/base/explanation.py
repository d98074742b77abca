"""Joints and base check each other: which single cause explains both residuals?

An arm at rest or in slow motion with residuals beyond noise has been touched, or something lies:

- contact: the joints up to a link and the base agree on one force (`fusion`);
- encoder i reads an angle that is wrong by d: both models use it, so that
      tau = dg/dq_i d,    felt = -dG/dq_i d;
- drive i reports a wrong torque: one joint residual, nothing at the base;
- cell j reports a wrong force: nothing in the joints, one direction at the base.

Residuals that noise explains have no cause. Causes with fewer unknowns are preferred unless the
data speak clearly (Bayesian information criterion). Averaging the two residuals would hide exactly
what this names.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from armsense.base.cell_layout import CellLayout
from armsense.base.fusion import ContactFusion, FusionOptions, Touch
from armsense.model import Arm
from armsense.types import Array

CONTACT_UNKNOWNS = 5.0   # two on the surface, three of the force
NOISE = 0.9999           # probability that noise alone stays below what counts as a cause
STEP = 1e-5              # [rad] for derivatives


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
                 base_covariance: ArrayLike, options: FusionOptions | None = None) -> None:
        """For an arm on its cells; covariances of joint (n, n) and felt (k, k) residuals."""
        self.model, self.layout = model, layout
        self.fusion = ContactFusion(model, layout, joint_covariance, base_covariance,
                                    options or FusionOptions(iterations=4))

    def weigh(self, joint_covariance: ArrayLike, base_covariance: ArrayLike) -> None:
        """Use other covariances from now on."""
        self.fusion.response.weigh(joint_covariance, base_covariance)

    def explain(self, q: Array, tau: Array, felt: Array) -> Explanation:
        """The cause of a joint residual [Nm], (n,), and a felt residual [N, Nm], (k,)."""
        y = self.fusion.response.whiten(tau, felt)
        nothing = self._cause('nothing', '', 0.0, float(y @ y), 0.0)
        if nothing.misfit < stats.chi2.ppf(NOISE, len(y)):
            return Explanation(nothing, (nothing,), 1.0, True)
        causes = [nothing, *self._single(q, y)]
        touch = self.fusion.locate(q, tau, felt)
        causes.append(self._cause('contact', touch.link, float(np.linalg.norm(touch.force)),
                                  touch.misfit, CONTACT_UNKNOWNS, touch))
        causes.sort(key=lambda cause: cause.score)
        weights = [math.exp(-0.5 * min(c.score - causes[0].score, 700.0)) for c in causes]
        fits = bool(causes[0].misfit < stats.chi2.ppf(NOISE, len(y)))
        return Explanation(causes[0], tuple(causes), 1.0 / sum(weights), fits)

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
