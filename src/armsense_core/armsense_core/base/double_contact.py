"""Two contacts at once, from joint residual and base residual together.

Two places and two forces are ten unknowns. Seven joints and three felt axes give ten equations, a
six-axis base thirteen: without redundancy the expected friction decides, so the result is weaker
than that of a single contact. Compare its misfit with that of one contact before believing it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armsense_core.base.fusion import _EYE, _Response, _tangents, ContactFusion

Array = NDArray[np.float64]

STARTS = 6          # pairs of places that are refined
ITERATIONS = 12
DAMPING = 1e-3      # of Gauss-Newton, relative; grows where a step does not help


class TwoTouches(NamedTuple):
    """Two contacts, the inner link's first."""

    links: tuple[str, str]
    points: Array     # [m] base frame, (2, 3)
    forces: Array     # [N] on the arm, (2, 3)
    misfit: float     # chi^2 of both residuals, with the cost of sideways forces


class _Pair(NamedTuple):
    cost: float
    chosen: tuple[int, int]
    local: Array      # (2, 3)
    normal: Array     # (2, 3)
    points: Array     # (2, 3)
    forces: Array     # (2, 3)


class DoubleContact(ContactFusion):
    """Locates two contacts; made like `ContactFusion`."""

    def locate_two(self, q: Array, tau: Array, felt: Array) -> TwoTouches:
        """The two contacts that explain both residuals best; arguments as for `locate`."""
        response = self._response(q)
        y = self._whiten(tau, felt)
        pairs = [self._refine_pair(response, y, start) for start in self._starts(response, y)]
        best = min(pairs, key=lambda pair: pair.cost)
        order = sorted((0, 1), key=lambda k: self._link[best.chosen[k]])
        links = [self._names[self._link[best.chosen[k]]] for k in order]
        return TwoTouches((links[0], links[1]), best.points[order], best.forces[order], best.cost)

    def _starts(self, response: _Response, y: Array) -> list[tuple[int, int]]:
        """The best pairs of places that differ from each other."""
        R = response.rotation[self._link]
        points = response.origin[self._link] + (R @ self._point[:, :, None])[:, :, 0]
        outward = (R @ self._normal[:, :, None])[:, :, 0]
        B = response.at(self._link, points)
        weight = self._forces(B, y, outward)[2]
        first, second = np.nonzero(np.triu(~self._neighbours, 1))
        pair = np.concatenate([B[first], B[second]], axis=2)                  # (Q, rows, 6)
        At = pair.transpose(0, 2, 1)
        H, g = At @ pair + 1e-9 * np.eye(6), At @ y
        H[:, :3, :3] += weight[first]
        H[:, 3:, 3:] += weight[second]
        F = np.linalg.solve(H, g[:, :, None])[:, :, 0]
        cost = y @ y - (F * g).sum(axis=1)
        pushes = (((F[:, :3] * outward[first]).sum(axis=1) < 0.0)
                  & ((F[:, 3:] * outward[second]).sum(axis=1) < 0.0))
        cost = np.where(pushes, cost, np.inf)
        chosen: list[tuple[int, int]] = []
        while len(chosen) < STARTS:
            best = int(np.argmin(cost))
            a, b = int(first[best]), int(second[best])
            chosen.append((a, b))
            cost[self._neighbours[a][first] & self._neighbours[b][second]] = np.inf
            if not np.isfinite(cost.min()):
                break
        return chosen

    def _refine_pair(self, response: _Response, y: Array, chosen: tuple[int, int]) -> _Pair:
        """Gauss-Newton over both places and both forces, damped."""
        index = list(chosen)
        local, normal = self._point[index], self._normal[index]
        best = self._evaluate(response, y, chosen, local, normal)
        damping = DAMPING
        for _ in range(ITERATIONS):
            local, normal = self._step(response, y, best, damping)
            tried = self._evaluate(response, y, chosen, local, normal)
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

    def _system(self, response: _Response, y: Array, chosen: tuple[int, int],
                points: Array, outward: Array) -> tuple[Array, Array]:
        """B of both forces, (rows, 6), and the sideways weights, (6, 6)."""
        B = response.at(self._link[list(chosen)], points)                     # (2, rows, 3)
        size = y @ y / max(float(np.square(B).sum()) / 6.0, 1e-12)            # about F^2
        ridge = 1.0 / (self.options.friction**2 * max(float(size), 1e-12))
        weight = np.zeros((6, 6))
        for k in (0, 1):
            across = _EYE - np.outer(outward[k], outward[k])
            weight[3 * k:3 * k + 3, 3 * k:3 * k + 3] = ridge * across
        return np.hstack([B[0], B[1]]), weight

    def _evaluate(self, response: _Response, y: Array, chosen: tuple[int, int], local: Array,
                  normal: Array) -> _Pair:
        link = self._link[list(chosen)]
        R = response.rotation[link]
        points = response.origin[link] + (R @ local[:, :, None])[:, :, 0]
        outward = (R @ normal[:, :, None])[:, :, 0]
        B, weight = self._system(response, y, chosen, points, outward)
        F = np.linalg.solve(B.T @ B + weight + 1e-9 * np.eye(6), B.T @ y)
        cost = float(np.square(y - B @ F).sum() + F @ weight @ F)
        forces = np.asarray(F.reshape(2, 3), float)
        if ((forces * outward).sum(axis=1) >= 0.0).any():
            cost = float('inf')
        return _Pair(cost, chosen, local, normal, points, forces)

    def _step(self, response: _Response, y: Array, pair: _Pair,
              damping: float) -> tuple[Array, Array]:
        """Places after one step, in their link frames."""
        link = self._link[list(pair.chosen)]
        R, o = response.rotation[link], response.origin[link]
        outward = (R @ pair.normal[:, :, None])[:, :, 0]
        T = _tangents(outward)                                                # (2, 3, 2)
        B, weight = self._system(response, y, pair.chosen, pair.points, outward)
        D = [np.tensordot(response.slope[link[k]], pair.forces[k], axes=(1, 0)) @ T[k]
             for k in (0, 1)]
        A = np.hstack([*D, B])                                                # (rows, 10)
        F = pair.forces.reshape(6)
        H, rhs = A.T @ A, A.T @ (y - B @ F)
        H[4:, 4:] += weight
        rhs[4:] -= weight @ F
        scale = np.sqrt(np.diag(H)) + 1e-9
        step = np.linalg.solve(H / np.outer(scale, scale) + damping * np.eye(10),
                               rhs / scale)[:4] / scale[:4]
        moves = [T[k] @ step[2 * k:2 * k + 2] for k in (0, 1)]
        places = []
        for k in (0, 1):
            length = float(np.linalg.norm(moves[k]))
            move = moves[k] * min(1.0, self.options.spacing / max(length, 1e-12))
            shape = self._places[pair.chosen[k]].shape
            places.append(shape.nearest(R[k].T @ (pair.points[k] + move - o[k])))
        return np.array([p.point for p in places]), np.array([p.normal for p in places])
