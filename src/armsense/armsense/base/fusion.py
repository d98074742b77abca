"""Contact link, point and force from joint residual and base residual together.

Both residuals are linear in a force at a given place (see `contact_places`). Thousands of places
on all links are tried at once: what their least squares need is linear in the normal matrix of
their link, so that one product with a table per link gives all of them. The best ones are
moved along the surface (Gauss-Newton), with the covariances of both residuals. A contact pushes: F
points inwards, and sideways force costs what the expected friction makes unlikely.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armsense.base.cell_layout import CellLayout
from armsense.base.contact_places import (
    ContactPlaces,
    ContactResponse,
    force_wrench,
    PoseResponse,
    skew,
    surface_axes,
)
from armsense.model import Arm
from armsense.schema import quantity
from armsense.types import Array

UNIQUE = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))    # entries of a symmetric (3, 3)


class Pushes(NamedTuple):
    """One force for each of P places."""

    force: Array   # along normal and tangents [N], (3, P)
    cost: Array    # chi^2 that is left and the cost of sideways forces; inf: a pull, (P,)
    ridge: Array   # weight of the sideways components [1/N^2], (P,)


def best_pushes(H: Array, g: Array, power: float, friction: float) -> Pushes:
    """Minimise |y - B F|^2 + ridge |F sideways|^2 over F, for each place, in closed form.

    A sideways force costs as if (F_across / (friction F))^2 were one more residual. H are the
    entries UNIQUE of B^T B, normal first, (6, P), g is B^T y, (3, P), power y . y.
    """
    trace = H[0] + H[1] + H[2] + 1e-12
    ridge = trace / (3.0 * friction**2 * max(power, 1e-12))          # 1 / (friction^2 ~F^2)
    small = 1e-12 * trace
    a, b, c = H[0] + small, H[1] + (ridge + small), H[2] + (ridge + small)
    ab, ac, bc = H[3], H[4], H[5]
    # LDL^T with the tangents first: their ridge keeps the pivots from zero.
    u, v = bc / b, ab / b
    c = np.maximum(c - u * bc, small)
    w = (ac - u * ab) / c
    a = np.maximum(a - v * ab - w * w * c, small)
    second = g[2] - u * g[1]
    F = np.empty((3, len(trace)))
    F[0] = (g[0] - v * g[1] - w * second) / a
    F[2] = second / c - w * F[0]
    F[1] = g[1] / b - u * F[2] - v * F[0]
    cost = power - (F * g).sum(axis=0)
    return Pushes(F, np.where(F[0] < 0.0, cost, np.inf), ridge)


@dataclass(frozen=True, kw_only=True)
class FusionOptions:
    """How a contact is looked for."""

    spacing: float = quantity(0.035, unit='m', above=0, text='between the places tried')
    friction: float = quantity(0.5, above=0, text='expected ratio of sideways to pushing force')
    candidates: int = quantity(3, low=1, text='places that are refined')
    apart: float = quantity(0.1, unit='m', above=0, text='candidates on one link at least')
    iterations: int = quantity(1, low=0, text='of the refinement')


DEFAULT_OPTIONS = FusionOptions()
_I, _J = np.triu_indices(6)
_R, _S = np.array(UNIQUE).T
_D = np.arange(5)


class Touch(NamedTuple):
    """One contact."""

    link: str
    point: Array         # [m] base frame, (3,)
    force: Array         # [N] on the arm, base frame, (3,)
    normal: Array        # of the surface, outwards, (3,)
    misfit: float        # chi^2 of both residuals with this contact
    covariance: Array    # of the point [m^2], (3, 3)
    force_covariance: Array   # [N^2], (3, 3)


class _Spot(NamedTuple):
    """The best place so far, in its link frame."""

    cost: float
    link: int
    point: Array         # (3,)
    axes: Array          # (3, 3)
    force: Array         # along the axes, (3,)
    ridge: float


class _Table(NamedTuple):
    """Of the places on one link: entries of B^T B and B^T y from those of A^T A and A^T y."""

    link: int
    part: slice          # of the places
    quadratic: Array     # (6 P, 21)
    linear: Array        # (3 P, 6)


class ContactFusion:
    """Locates a single contact; joints or base can be left out by None covariances."""

    def __init__(self, model: Arm, layout: CellLayout, joint_covariance: ArrayLike | None,
                 base_covariance: ArrayLike | None, options: FusionOptions = DEFAULT_OPTIONS,
                 links: tuple[str, ...] | None = None) -> None:
        """As `ContactResponse`; contacts are expected on some links, None: on all with a shape."""
        self.model, self.layout, self.options = model, layout, options
        self.response = ContactResponse(model, layout, joint_covariance, base_covariance)
        self.places = ContactPlaces.on(model, options.spacing, links)
        self._tables = _tables(self.places)
        self._near = [np.flatnonzero(row) for row in self.places.near(options.apart)]
        self._names = model.link_names

    def locate(self, q: Array, tau: Array, felt: Array) -> Touch:
        """The contact that explains joint (n,) [Nm] and felt residual (k,) [N, Nm] best."""
        response = self.response.at(q)
        y = self.response.whiten(tau, felt)
        At = response.A.transpose(0, 2, 1)
        H, b, power = At @ response.A, At @ y, float(y @ y)           # (n, 6, 6), (n, 6)
        chosen = self._choose(self._try_all(H, b, power))
        spot = self._refine(chosen, H, b, power)
        return self._touch(response, H[spot.link], spot)

    # -- inside ------------------------------------------------------------------------------

    def _try_all(self, H: Array, b: Array, power: float) -> Array:
        """Cost of every place, (P,)."""
        entries, P = H[:, _I, _J], len(self.places.link)
        quadratic, linear = np.empty((6, P)), np.empty((3, P))
        for table in self._tables:
            quadratic[:, table.part] = (table.quadratic @ entries[table.link]).reshape(6, -1)
            linear[:, table.part] = (table.linear @ b[table.link]).reshape(3, -1)
        return best_pushes(quadratic, linear, power, self.options.friction).cost

    def _choose(self, cost: Array) -> list[int]:
        """The best places that are not near each other: near ones lead to the same contact."""
        chosen = [int(np.argmin(cost))]
        left = cost.copy()
        while len(chosen) < self.options.candidates:
            left[self._near[chosen[-1]]] = np.inf
            index = int(np.argmin(left))
            if not np.isfinite(left[index]):
                break
            chosen.append(index)
        return chosen

    def _refine(self, chosen: list[int], H: Array, b: Array, power: float) -> _Spot:
        """Gauss-Newton over surface and force, for all chosen places at once."""
        link = self.places.link[chosen]
        H, b = H[link], b[link]
        point, axes = self.places.point[chosen], self.places.axes[chosen]
        X = force_wrench(point, axes)
        pushes = _push_at(X, H, b, power, self.options.friction)
        best = _best(None, link, point, axes, pushes)
        for _ in range(self.options.iterations):
            move = self._step(X, axes, pushes, H, b)
            target = point + (axes[:, :, 1:] @ move[:, :, None])[:, :, 0]
            nearest = [self.places.shapes[index].nearest(place)
                       for index, place in zip(chosen, target, strict=True)]
            point = np.array([place.point for place in nearest])
            axes = surface_axes(np.array([place.normal for place in nearest]))
            X = force_wrench(point, axes)
            pushes = _push_at(X, H, b, power, self.options.friction)
            best = _best(best, link, point, axes, pushes)
        return best

    def _step(self, X: Array, axes: Array, pushes: Pushes, H: Array, b: Array) -> Array:
        """Steps along the two tangents [m], (P, 2), that Gauss-Newton takes with the force."""
        F = pushes.force.T[:, :, None]                                          # (P, 3, 1)
        normal, E = _normal_matrix(X, axes, F, H, pushes.ridge)
        rhs = (E.transpose(0, 2, 1) @ (b[:, :, None] - H @ (X @ F)))[:, :, 0]
        rhs[:, 3:] -= pushes.ridge[:, None] * F[:, 1:, 0]
        scale = np.sqrt(normal[:, _D, _D]) + 1e-9
        damped = normal / (scale[:, :, None] * scale[:, None, :])
        damped[:, _D, _D] += 1e-6
        step = np.linalg.solve(damped, (rhs / scale)[:, :, None])[:, :2, 0] / scale[:, :2]
        length = np.sqrt((step * step).sum(axis=1))
        longest = 3.0 * self.options.spacing
        return np.asarray(step * np.minimum(1.0, longest / np.maximum(length, 1e-12))[:, None])

    def _touch(self, response: PoseResponse, H: Array, spot: _Spot) -> Touch:
        X = force_wrench(spot.point[None], spot.axes[None])
        normal, _ = _normal_matrix(X, spot.axes[None], spot.force[None, :, None], H[None],
                                   np.array([spot.ridge]))
        normal[:, _D, _D] *= 1.0 + 1e-9
        normal[:, _D, _D] += 1e-12
        C = np.linalg.inv(normal[0])
        R = response.rotation[spot.link]
        axes = R @ spot.axes
        return Touch(self._names[spot.link], response.origin[spot.link] + R @ spot.point,
                     axes @ spot.force, axes[:, 0], spot.cost,
                     axes[:, 1:] @ C[:2, :2] @ axes[:, 1:].T, axes @ C[2:, 2:] @ axes.T)


def _normal_matrix(X: Array, axes: Array, F: Array, H: Array,
                   ridge: Array) -> tuple[Array, Array]:
    """Of two tangential moves and the force, (P, 5, 5), and their wrenches, (P, 6, 5)."""
    E = np.zeros((len(X), 6, 5))
    E[:, 3:, :2] = skew((axes @ F)[:, :, 0]) @ -axes[:, :, 1:]
    E[:, :, 2:] = X
    normal = E.transpose(0, 2, 1) @ H @ E
    normal[:, 3, 3] += ridge
    normal[:, 4, 4] += ridge
    return normal, E


def _push_at(X: Array, H: Array, b: Array, power: float, friction: float) -> Pushes:
    Xt = X.transpose(0, 2, 1)
    quadratic = (Xt @ H @ X)[:, _R, _S].T
    return best_pushes(quadratic, (Xt @ b[:, :, None])[:, :, 0].T, power, friction)


def _best(so_far: _Spot | None, link: NDArray[np.int64], point: Array, axes: Array,
          pushes: Pushes) -> _Spot:
    top = int(np.argmin(pushes.cost))
    if so_far is not None and not pushes.cost[top] < so_far.cost:
        return so_far
    return _Spot(float(pushes.cost[top]), int(link[top]), point[top], axes[top],
                 pushes.force[:, top], float(pushes.ridge[top]))


def _tables(places: ContactPlaces) -> list[_Table]:
    tables = []
    for link in np.unique(places.link).tolist():
        first, last = np.searchsorted(places.link, [link, link + 1])
        part = slice(int(first), int(last))
        X = force_wrench(places.point[part], places.axes[part])                 # (P, 6, 3)
        # Entry r, s of X^T H X: every H_ij off the diagonal counts twice, as ij and as ji.
        ij = X[:, _I][:, :, _R] * X[:, _J][:, :, _S]                              # (P, 21, 6)
        ji = X[:, _J][:, :, _R] * X[:, _I][:, :, _S]
        both = ij + np.where((_I != _J)[:, None], ji, 0.0)
        tables.append(_Table(int(link), part, both.transpose(2, 0, 1).reshape(-1, 21),
                             X.transpose(2, 0, 1).reshape(-1, 6)))
    return tables
