"""Contact link, point and force from joint residual and base residual together.

A force F at p on link L shows in the joints up to L and in the felt base wrench,

    tau_i = z_i . ((p - o_i) x F),  i <= L      felt = S [F; p x F]

so that for a given place both are linear in F. Places on all links are tried at once by weighted
least squares; the best ones of each link are moved along the surface (Gauss-Newton), with
the covariances of both residuals. A contact pushes: F points inwards, within a friction cone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armsense_core.base.cell_layout import CellLayout
from armsense_core.base.link_surface import link_shapes, Shape
from armsense_core.base.sensitivity import force_response
from armsense_core.errors import ArmsenseError, BadValue
from armsense_core.model import ArmModel
from armsense_core.schema import quantity

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class FusionOptions:
    """How a contact is looked for."""

    spacing: float = quantity(0.07, unit='m', above=0, text='between the places tried first')
    friction: float = quantity(0.5, above=0, text='expected ratio of sideways to pushing force')
    candidates: int = quantity(3, low=1, text='places that are refined')
    iterations: int = quantity(1, low=0, text='of the refinement')


DEFAULT_OPTIONS = FusionOptions()
_EYE = np.eye(3)
_DAMPING = 1e-6 * np.eye(5)


class Touch(NamedTuple):
    """One contact."""

    link: str
    point: Array         # [m] base frame, (3,)
    force: Array         # [N] on the arm, base frame, (3,)
    normal: Array        # of the surface, outwards, (3,)
    misfit: float        # chi^2 of both residuals with this contact
    covariance: Array    # of the point [m^2], (3, 3)


class _Place(NamedTuple):
    link: int
    shape: Shape
    point: Array    # link frame, (3,)
    normal: Array   # (3,)


class _Response(NamedTuple):
    """Whitened residuals of a force at p on a link: (constant + slope p) F."""

    rotation: Array   # of the links, (n, 3, 3)
    origin: Array     # [m], (n, 3)
    constant: Array   # (n, rows, 3)
    slope: Array      # (n, rows, 3, 3): rows, force, point

    def at(self, link: NDArray[np.int64], point: Array) -> Array:
        """Of points (P, 3) on links (P,), (P, rows, 3)."""
        bent = (self.slope[link] @ point[:, None, :, None])[:, :, :, 0]
        return np.asarray(self.constant[link] + bent)


class _Best(NamedTuple):
    cost: float
    link: int
    point: Array
    force: Array
    outward: Array
    B: Array
    slope: Array
    weight: Array


class ContactFusion:
    """Locates a single contact; joints or base can be left out by None covariances."""

    def __init__(
        self, model: ArmModel, layout: CellLayout, joint_covariance: ArrayLike | None,
        base_covariance: ArrayLike | None, options: FusionOptions = DEFAULT_OPTIONS,
        links: tuple[str, ...] | None = None,
    ) -> None:
        """For an arm on its cells.

        Args:
            model: The arm; every joint turns.
            layout: Its cells.
            joint_covariance: Of the joint residual [Nm^2], (n, n); None: joints are not used.
            base_covariance: Of the felt residual, (k, k); None: the base is not used.
            options: How a contact is looked for.
            links: On which contacts are expected; None: all with a shape.
        """
        if joint_covariance is None and base_covariance is None:
            raise ArmsenseError('a contact needs the joint residual, the base residual or both')
        self.model, self.layout, self.options = model, layout, options
        k = len(layout.axes)
        self._joint = None if joint_covariance is None else _whitening(joint_covariance, model.n)
        self._base = None if base_covariance is None else _whitening(base_covariance, k)
        shapes = link_shapes(model)
        wanted = links if links is not None else tuple(name for name in shapes if shapes[name])
        self._places = [
            _Place(number, shape, place.point, place.normal)
            for number, name in enumerate(model.link_names) if name in wanted
            for shape in shapes[name] for place in shape.sample(options.spacing)
            if not _hidden(model, shapes, number, place.point, shape)]
        if not self._places:
            raise BadValue('links', wanted, f'links with a shape: '
                           f'{", ".join(name for name in shapes if shapes[name])}')
        self._link = np.array([place.link for place in self._places])               # (P,)
        self._point = np.array([place.point for place in self._places])             # (P, 3)
        self._normal = np.array([place.normal for place in self._places])           # (P, 3)
        gaps = self._point[:, None, :] - self._point
        self._neighbours = ((np.square(gaps).sum(axis=2) < (2.5 * options.spacing)**2)
                            & (self._link[:, None] == self._link))                   # (P, P)
        self._names = model.link_names
        # Axes of the joints in their own frames, which the pose does not change, (n, 3).
        rest = np.zeros(model.n)
        J = model.jacobian(rest, self._names[-1])
        self._axis = np.einsum('kji,kj->ki', model.joint_poses(rest)[:, :3, :3], J[3:].T)
        self._up_to = np.tri(model.n)[:, :, None]            # joints that move a link, (n, n, 1)
        rows = (model.n if self._joint is not None else 0) + (k if self._base is not None else 0)
        self._constant, self._slope = np.zeros((model.n, rows, 3)), np.zeros((model.n, rows, 3, 3))
        if self._base is not None:
            corners = force_response(layout, np.vstack([np.zeros(3), _EYE]))         # (4, k, 3)
            whitened = self._base @ corners
            self._constant[:, -k:] = whitened[0]
            self._slope[:, -k:] = (whitened[1:] - whitened[0]).transpose(1, 2, 0)    # (k, 3, 3)

    def locate(self, q: Array, tau: Array, felt: Array) -> Touch:
        """The contact that explains both residuals best.

        Args:
            q: Joint positions [rad], (n,).
            tau: Joint residual [Nm], (n,).
            felt: Residual of the felt base wrench [N, Nm], (k,).
        """
        response = self._response(q)
        y = self._whiten(tau, felt)
        chosen = self._choose(self._coarse(response, y))
        return self._refine(response, chosen, y)

    def noise_level(self, tau: Array, felt: Array) -> float:
        """chi^2 of both residuals without any contact."""
        y = self._whiten(tau, felt)
        return float(y @ y)

    # -- inside ------------------------------------------------------------------------------

    def _whiten(self, tau: Array, felt: Array) -> Array:
        parts = []
        if self._joint is not None:
            parts.append(self._joint @ tau)
        if self._base is not None:
            parts.append(self._base @ felt)
        return np.concatenate(parts)

    def _response(self, q: Array) -> _Response:
        """Residuals per newton, as linear functions of the point, for every link."""
        poses = self.model.joint_poses(q)
        R, o, n = poses[:, :3, :3], poses[:, :3, 3], self.model.n
        constant, slope = self._constant, self._slope      # the base's part never changes
        if self._joint is not None:      # z x (p - o), for the joints up to the link
            z = (R @ self._axis[:, :, None])[:, :, 0]
            turn = np.empty((n, 3, 4))
            turn[:, :, 0], turn[:, :, 1:] = _cross(o, z), _skew(z)
            masked = (self._joint @ (self._up_to * turn.reshape(n, 12))).reshape(n, n, 3, 4)
            constant[:, :n], slope[:, :n] = masked[..., 0], masked[..., 1:]
        return _Response(R, o, constant, slope)

    def _forces(self, B: Array, y: Array, outward: Array) -> tuple[Array, Array, Array]:
        """Best force at each place (P, 3), its cost (P,), and the sideways weights (P, 3, 3).

        A sideways force costs as if (F_across / (friction F))^2 were one more residual.
        """
        Bt = B.transpose(0, 2, 1)
        H, g = Bt @ B, Bt @ y
        size = 3.0 * (y @ y) / np.maximum(H[:, 0, 0] + H[:, 1, 1] + H[:, 2, 2], 1e-12)   # ~ F^2
        ridge = 1.0 / (self.options.friction**2 * np.maximum(size, 1e-12))
        weight = ridge[:, None, None] * (_EYE - outward[:, :, None] * outward[:, None, :])
        F = np.asarray(np.linalg.solve(H + weight + 1e-12 * _EYE, g[:, :, None])[:, :, 0], float)
        cost = y @ y - (F * g).sum(axis=1)
        # A contact cannot pull.
        return F, np.asarray(np.where((F * outward).sum(axis=1) < 0.0, cost, np.inf)), weight

    def _coarse(self, response: _Response, y: Array) -> Array:
        """Cost of every place, (P,)."""
        R = response.rotation[self._link]
        points = response.origin[self._link] + (R @ self._point[:, :, None])[:, :, 0]
        outward = (R @ self._normal[:, :, None])[:, :, 0]
        return self._forces(response.at(self._link, points), y, outward)[1]

    def _choose(self, cost: Array) -> list[int]:
        """The best places that are not neighbours: neighbours lead to the same contact."""
        chosen = [int(np.argmin(cost))]
        left = cost.copy()
        while len(chosen) < self.options.candidates:
            left[self._neighbours[chosen[-1]]] = np.inf
            index = int(np.argmin(left))
            if not np.isfinite(left[index]):
                break
            chosen.append(index)
        return chosen

    def _refine(self, response: _Response, chosen: list[int], y: Array) -> Touch:
        """Gauss-Newton over surface and force, for all chosen places at once."""
        link = self._link[chosen]
        R, o = response.rotation[link], response.origin[link]
        local, normal = self._point[chosen], self._normal[chosen]
        slope = response.slope[link]
        best = None
        for iteration in range(self.options.iterations + 1):
            point = o + (R @ local[:, :, None])[:, :, 0]
            outward = (R @ normal[:, :, None])[:, :, 0]
            B = response.at(link, point)
            F, cost, weight = self._forces(B, y, outward)
            top = int(np.argmin(cost))
            if best is None or cost[top] < best.cost:
                best = _Best(float(cost[top]), int(link[top]), point[top], F[top], outward[top],
                             B[top], slope[top], weight[top])
            if iteration == self.options.iterations:
                break
            T = _tangents(outward)                                        # (P, 3, 2)
            D = (slope.transpose(0, 1, 3, 2) @ F[:, None, :, None])[:, :, :, 0] @ T
            target = point + (T @ self._move(D, B, weight, y, F)[:, :, None])[:, :, 0]
            wanted = (R.transpose(0, 2, 1) @ (target - o)[:, :, None])[:, :, 0]
            nearest = [self._places[index].shape.nearest(place)
                       for index, place in zip(chosen, wanted, strict=True)]
            local = np.array([place.point for place in nearest])
            normal = np.array([place.normal for place in nearest])
        assert best is not None
        return self._touch(best)

    def _move(self, D: Array, B: Array, weight: Array, y: Array, F: Array) -> Array:
        """Steps along the two tangents [m], (P, 2), that Gauss-Newton takes with the force."""
        A = np.concatenate([D, B], axis=2)                                # (P, rows, 5)
        At = A.transpose(0, 2, 1)
        H = At @ A
        H[:, 2:, 2:] += weight
        rhs = (At @ (y - (B @ F[:, :, None])[:, :, 0])[:, :, None])[:, :, 0]
        rhs[:, 2:] -= (weight @ F[:, :, None])[:, :, 0]
        scale = np.sqrt(np.einsum('pii->pi', H)) + 1e-9
        damped = H / (scale[:, :, None] * scale[:, None, :]) + _DAMPING
        step = np.linalg.solve(damped, (rhs / scale)[:, :, None])[:, :2, 0] / scale[:, :2]
        length = np.sqrt((step * step).sum(axis=1))
        shorter = np.minimum(1.0, self.options.spacing / np.maximum(length, 1e-12))
        return np.asarray(step * shorter[:, None])

    def _touch(self, best: _Best) -> Touch:
        T = _tangents(best.outward[None])[0]
        A = np.hstack([np.tensordot(best.slope, best.force, axes=(1, 0)) @ T, best.B])
        H = A.T @ A
        H[2:, 2:] += best.weight
        C = np.linalg.inv(H + 1e-9 * np.diag(np.diag(H)) + 1e-12 * np.eye(5))[:2, :2]
        return Touch(self._names[best.link], best.point, best.force, best.outward, best.cost,
                     T @ C @ T.T)


def _hidden(model: ArmModel, shapes: dict[str, list[Shape]], link: int, point: Array,
            own: Shape) -> bool:
    """Whether a place lies inside its own or a neighbouring link, however the joints stand."""
    names = model.link_names
    if any(other.inside(point, 1e-6) for other in shapes[names[link]] if other is not own):
        return True
    for neighbour in (link - 1, link + 1):
        if not 0 <= neighbour < model.n:
            continue
        if all(_covered(model, shapes[names[neighbour]], link, neighbour, point, angle)
               for angle in (-1.0, 0.0, 1.0)):
            return True
    return False


def _covered(model: ArmModel, others: list[Shape], link: int, neighbour: int, point: Array,
             angle: float) -> bool:
    poses = model.joint_poses(np.where(np.arange(model.n) == max(link, neighbour), angle, 0.0))
    here, there = poses[link], poses[neighbour]
    place = there[:3, :3].T @ (here[:3, :3] @ point + here[:3, 3] - there[:3, 3])
    return any(other.inside(place, 1e-6) for other in others)


def _whitening(covariance: ArrayLike, size: int) -> Array:
    C = np.asarray(covariance, float)
    if C.shape != (size, size):
        raise BadValue('shape of a covariance', C.shape, f'({size}, {size})')
    try:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(C)), float)
    except np.linalg.LinAlgError:
        raise BadValue('covariance', C.tolist(), 'positive definite') from None


def _cross(a: Array, b: Array) -> Array:
    """Vector products along the last axis; a fraction of the time of np.cross."""
    a0, a1, a2 = a[..., 0], a[..., 1], a[..., 2]
    b0, b1, b2 = b[..., 0], b[..., 1], b[..., 2]
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    out[..., 0] = a1 * b2 - a2 * b1
    out[..., 1] = a2 * b0 - a0 * b2
    out[..., 2] = a0 * b1 - a1 * b0
    return out


def _skew(a: Array) -> Array:
    """[a]x of vectors, (P, 3) -> (P, 3, 3)."""
    out = np.zeros((len(a), 3, 3))
    out[:, [2, 0, 1], [1, 2, 0]] = a
    out[:, [1, 2, 0], [2, 0, 1]] = -a
    return out


def _tangents(normals: Array) -> Array:
    """Two directions along each surface, (P, 3) -> (P, 3, 2)."""
    helper = np.where(np.abs(normals[:, :1]) < 0.7, _EYE[0], _EYE[1])
    first = _cross(normals, helper)
    first /= np.sqrt((first * first).sum(axis=1))[:, None]
    return np.stack([first, _cross(normals, first)], axis=2)
