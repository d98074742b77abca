"""Two contacts at once, from joint residual and base residual together.

Two places and two forces are ten unknowns. Seven joints and three felt axes give ten equations, a
six-axis base thirteen: without redundancy the expected friction decides, so the result is weaker
than that of a single contact. Compare its misfit with that of one contact before believing it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armsense.base.cell_layout import CellLayout
from armsense.base.contact_places import (
    ContactPlaces,
    ContactResponse,
    force_wrench,
    PoseResponse,
    skew,
    surface_axes,
)
from armsense.base.fusion import FusionOptions
from armsense.model import Arm
from armsense.types import Array

STARTS = 6          # pairs of places that are refined
ITERATIONS = 12
DAMPING = 1e-3      # of Gauss-Newton, relative; grows where a step does not help
SPACING = 0.07      # [m] between the places tried; pairs are many
DEFAULT_OPTIONS = FusionOptions(spacing=SPACING, apart=2.5 * SPACING)
_SIDEWAYS = np.diag([0.0, 1.0, 1.0, 0.0, 1.0, 1.0])


class TwoTouches(NamedTuple):
    """Two contacts, the inner link's first."""

    links: tuple[str, str]
    points: Array     # [m] base frame, (2, 3)
    forces: Array     # [N] on the arm, base frame, (2, 3)
    misfit: float     # chi^2 of both residuals, with the cost of sideways forces


class _Pair(NamedTuple):
    """Two places in the frames of their links, and what is needed for the next step."""

    cost: float
    chosen: tuple[int, int]
    point: Array      # (2, 3)
    axes: Array       # (2, 3, 3)
    force: Array      # along the axes, (6,)
    B: Array          # residuals per force, (rows, 6)
    ridge: float


class DoubleContact:
    """Locates two contacts; made like `ContactFusion`."""

    def __init__(
        self, model: Arm, layout: CellLayout, joint_covariance: ArrayLike | None,
        base_covariance: ArrayLike | None, options: FusionOptions = DEFAULT_OPTIONS,
    ) -> None:
        """For an arm on its cells; arguments as for `ContactFusion`."""
        self.options = options
        self.response = ContactResponse(model, layout, joint_covariance, base_covariance)
        self.places = ContactPlaces.on(model, options.spacing)
        self._X = force_wrench(self.places.point, self.places.axes)
        self._near = self.places.near(options.apart)                          # (P, P)
        self._names = model.link_names

    def locate(self, q: Array, tau: Array, felt: Array) -> TwoTouches:
        """The two contacts that explain both residuals best; arguments as for `ContactFusion`."""
        response = self.response.at(q)
        y = self.response.whiten(tau, felt)
        pairs = [self._refine(response, y, start) for start in self._starts(response, y)]
        best = min(pairs, key=lambda pair: pair.cost)
        order = np.argsort(self.places.link[list(best.chosen)], kind='stable')
        link = self.places.link[list(best.chosen)]
        R = response.rotation[link]
        points = response.origin[link] + (R @ best.point[:, :, None])[:, :, 0]
        forces = (R @ best.axes @ best.force.reshape(2, 3, 1))[:, :, 0]
        first, second = (self._names[k] for k in link[order])
        return TwoTouches((first, second), points[order], forces[order], best.cost)

    def _starts(self, response: PoseResponse, y: Array) -> list[tuple[int, int]]:
        """The best pairs of places that differ from each other."""
        B = response.A[self.places.link] @ self._X                            # (P, rows, 3)
        first, second = np.nonzero(np.triu(~self._near, 1))
        pair = np.concatenate([B[first], B[second]], axis=2)                  # (Q, rows, 6)
        At = pair.transpose(0, 2, 1)
        H, g = At @ pair, At @ y
        ridge = self._ridge(np.einsum('qii->q', H), y)
        H += ridge[:, None, None] * _SIDEWAYS + 1e-9 * np.eye(6)
        F = np.linalg.solve(H, g[:, :, None])[:, :, 0]
        pushes = (F[:, 0] < 0.0) & (F[:, 3] < 0.0)
        cost = np.where(pushes, y @ y - (F * g).sum(axis=1), np.inf)
        chosen: list[tuple[int, int]] = []
        while len(chosen) < STARTS:
            best = int(np.argmin(cost))
            a, b = int(first[best]), int(second[best])
            chosen.append((a, b))
            cost[self._near[a][first] & self._near[b][second]] = np.inf
            if not np.isfinite(cost.min()):
                break
        return chosen

    def _ridge(self, trace: Array, y: Array) -> Array:
        """Weight of sideways forces [1/N^2] for pairs of this trace of B^T B."""
        size = 6.0 * float(y @ y) / np.maximum(trace, 1e-12)                  # about F^2
        return np.asarray(1.0 / (self.options.friction**2 * np.maximum(size, 1e-12)))

    def _refine(self, response: PoseResponse, y: Array, chosen: tuple[int, int]) -> _Pair:
        """Gauss-Newton over both places and both forces, damped."""
        index = list(chosen)
        best = self._evaluate(response, y, chosen, self.places.point[index],
                              self.places.axes[index])
        damping = DAMPING
        for _ in range(ITERATIONS):
            tried = self._evaluate(response, y, chosen, *self._step(response, y, best, damping))
            if tried.cost < best.cost:
                done = best.cost - tried.cost < 1e-3
                best, damping = tried, 0.3 * damping
                if done:
                    break
            else:
                damping *= 10.0
                if damping > 1e3:
                    break
        return best

    def _evaluate(self, response: PoseResponse, y: Array, chosen: tuple[int, int], point: Array,
                  axes: Array) -> _Pair:
        B = np.hstack(list(response.A[self.places.link[list(chosen)]] @ force_wrench(point, axes)))
        ridge = float(self._ridge(np.square(B).sum(), y))
        F = np.asarray(np.linalg.solve(B.T @ B + ridge * _SIDEWAYS + 1e-9 * np.eye(6), B.T @ y))
        cost = float(np.square(y - B @ F).sum() + ridge * (F @ _SIDEWAYS @ F))
        pushes = F[0] < 0.0 and F[3] < 0.0
        return _Pair(cost if pushes else float('inf'), chosen, point, axes, F, B, ridge)

    def _step(self, response: PoseResponse, y: Array, pair: _Pair,
              damping: float) -> tuple[Array, Array]:
        """Places after one step and the axes there, in their link frames."""
        tangents = pair.axes[:, :, 1:]                                        # (2, 3, 2)
        force = (pair.axes @ pair.force.reshape(2, 3, 1))[:, :, 0]
        moments = skew(force) @ -tangents                                     # t x F
        A = response.A[self.places.link[list(pair.chosen)]][:, :, 3:] @ moments
        system = np.hstack([A[0], A[1], pair.B])                              # (rows, 10)
        H, rhs = system.T @ system, system.T @ (y - pair.B @ pair.force)
        H[4:, 4:] += pair.ridge * _SIDEWAYS
        rhs[4:] -= pair.ridge * (_SIDEWAYS @ pair.force)
        scale = np.sqrt(np.diag(H)) + 1e-9
        step = np.linalg.solve(H / np.outer(scale, scale) + damping * np.eye(10),
                               rhs / scale)[:4] / scale[:4]
        moves = (tangents @ step.reshape(2, 2, 1))[:, :, 0]
        length = np.linalg.norm(moves, axis=1, keepdims=True)
        moves *= np.minimum(1.0, self.options.spacing / np.maximum(length, 1e-12))
        nearest = [self.places.shapes[index].nearest(place)
                   for index, place in zip(pair.chosen, pair.point + moves, strict=True)]
        return (np.array([place.point for place in nearest]),
                surface_axes(np.array([place.normal for place in nearest])))
