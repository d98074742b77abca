"""Where an arm was hit: link, force and point of a contact, from the residual of one moment.

A force f at the point x(s) of a link loads the joints by r = J(x(s))^T f + noise. Links are given
as capsules; s runs along a capsule's axis from 0 to 1. The force has a wide normal prior (only its
order is known beforehand), so for each s the best force, its covariance and the evidence for s are
those of linear least squares in closed form:

    r ~ N(0, A P A^T + S),     A = J^T (n, 3),  P: prior of f,  S: covariance of r.

The evidence along all capsules of the link is the distribution of the contact point, found on a
grid that narrows where the evidence is; force and point are its means, with their covariance. What
the residual does not tell stays as uncertain as the prior, and is reported as not observable: two
joints cannot give a force in space, and a force through the joints' axes gives nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armsense.errors import ArmsenseError, BadValue
from armsense.geometry.capsules import LinkCapsule
from armsense.model import Arm
from armsense.types import Array

SHORTEST_LEVER = 0.03   # [m] less is a link's own thickness
_LIKELY = 12.0  # log evidence below the maximum that still counts


class Isolation(NamedTuple):
    """Link and direction of a contact."""

    joint: int  # that moves the link
    link: str
    loaded: int  # last joint above its threshold: the same joint or one before it
    direction: int  # sign of that joint's residual: where the environment pushes it
    margin: float  # its residual over its threshold
    runner_up: float  # the same of the next joints outward, below one; 0: there is none
    probability: Array | None = None  # (n,) of the link of each joint; None: not computed


def touchable(model: Arm, capsules: Sequence[LinkCapsule]) -> tuple[int, ...]:
    """For every joint the joint whose link is hit when it is the last one loaded, (n,).

    A link that lies along its own joint's axis, such as a forearm that turns about itself, cannot
    load that joint: the contact is on the next link then.
    """
    rest, levers = np.zeros(model.n), np.zeros(model.n)
    for capsule in capsules:
        j = model.moving_joint(capsule.link)
        for end in (capsule.start, capsule.end):
            speed = model.point_jacobian(rest, capsule.link, end)[:3, j]   # per rad/s
            levers[j] = max(levers[j], float(np.linalg.norm(speed)))
    out = list(range(model.n))
    for j in range(model.n - 2, -1, -1):
        if levers[j] < SHORTEST_LEVER:
            out[j] = out[j + 1]
    return tuple(out)


def isolate(model: Arm, residual: Array, threshold: Array, ratio: float = 1.0,
            links: Sequence[int] | None = None) -> Isolation | None:
    """The link that a residual points to [Nm], (n,); None: no joint is above its threshold.

    It is the one that the last loaded joint moves (thesis 000, eq. 5.17). A force that passes
    through a joint's axis does not load that joint, so the contact may lie further out than the
    link named here, never further in. `ratio` is the share of the threshold that counts: once a
    collision is certain, less than one names the outer link sooner, while its residual still
    rises. `links` are as `touchable` gives them; None: every joint stands for its own link.
    """
    if residual.shape != threshold.shape or residual.shape != (model.n,):
        raise BadValue('shapes of residual, threshold', (residual.shape, threshold.shape),
                       f'({model.n},) each')
    relative = np.abs(residual) / threshold
    loaded = np.flatnonzero(relative > ratio)
    if len(loaded) == 0:
        return None
    last = int(loaded[-1])
    joint = last if links is None else links[last]
    outer = relative[last + 1:]
    return Isolation(joint, model.link_names[joint], last, int(np.sign(residual[last])),
                     float(relative[last]), float(outer.max(initial=0.0)))


@dataclass(frozen=True, kw_only=True)
class ContactOptions:
    """What counts as known."""

    force_prior: float = 100.0  # [N] standard deviation of each component before the contact
    axial_ratio: float = 1.0  # prior along the link over across it; less where contacts slide
    force_error: float = 0.25  # largest standard deviation, as a share of the force ...
    force_floor: float = 1.0  # [N] ... or absolute, to call the force observable
    point_error: float = 0.03  # [m] largest standard deviation to call the point observable
    grid: int = 33  # places along a capsule
    refinements: int = 5  # times the grid may narrow; 0 saves time where the point is vague anyway


DEFAULT_CONTACT = ContactOptions()


class ContactEstimate(NamedTuple):
    """Force on the arm and where, in the base frame."""

    force: Array  # [N], (3,), on the arm
    force_covariance: Array  # [N^2], (3, 3)
    force_observable: bool
    point: Array  # [m], (3,), on the surface
    point_covariance: Array  # [m^2], (3, 3)
    point_observable: bool
    link: str
    joint: int  # last joint that moves the link
    confidence: float  # that the contact is on this link, among the capsules' links

    def __repr__(self) -> str:
        force = f'{np.linalg.norm(self.force):.1f} N' if self.force_observable else 'force unknown'
        point = f'{np.round(self.point, 3).tolist()} m' if self.point_observable else 'no point'
        return f'<ContactEstimate {self.link}: {force} at {point}>'


class _Lines(NamedTuple):
    """The capsules at the present posture, L of them: A(s) = A0 + s A1, x(s) = x0 + s x1."""

    A0: Array  # (L, n, 3)
    A1: Array  # (L, n, 3)
    x0: Array  # (L, 3)
    x1: Array  # (L, 3)
    precision: Array  # (L, 3, 3) [1/N^2] of the force's prior
    radius: Array  # (L,)


class _Posterior(NamedTuple):
    """Of G places along each of L capsules."""

    log_evidence: Array  # (L, G), including the length each place stands for
    force: Array  # (L, G, 3)
    covariance: Array  # (L, G, 3, 3)
    point: Array  # (L, G, 3) on the surface


def estimate_contact(model: Arm, q: Array, residual: Array, noise: ArrayLike,
                     capsules: Sequence[LinkCapsule], joint: int,
                     options: ContactOptions = DEFAULT_CONTACT) -> ContactEstimate:
    """Force and point of a contact on the link that `joint` moves, as `isolate` gives it.

    At q [rad], (n,), from a residual [Nm], (n,); its noise, as standard deviations [Nm] (n,) or
    covariance (n, n), stands for model errors too. Capsules are those of all links that can be
    touched.
    """
    W = _precision(noise, model.n)
    if residual.shape != (model.n,) or not np.isfinite(residual).all():
        raise BadValue('residual', residual.tolist(), f'finite, ({model.n},)')
    joints = np.array([model.moving_joint(capsule.link) for capsule in capsules])
    here = np.flatnonzero(joints == joint)
    if len(here) == 0:
        known = ', '.join(sorted({c.link for c in capsules}))
        raise ArmsenseError(f'no capsule moves with joint {joint}; capsules: {known}')
    lines = _lines(model, q, capsules, options)
    posterior = _posterior(lines, residual, W, options)
    best = here[np.argmax(posterior.log_evidence[here].max(axis=1))]
    confidence = _confidence(_link_evidence(posterior, lines, joints), joint)
    return _summary(_Posterior(*(part[here] for part in posterior)), capsules[best].link, joint,
                    confidence, options)


def link_probabilities(model: Arm, q: Array, torque: Array, noise: ArrayLike,
                       capsules: Sequence[LinkCapsule],
                       options: ContactOptions = DEFAULT_CONTACT) -> Array:
    """Probability that a contact is on the link that each joint moves, (n,).

    The likelihood of a torque [Nm], (n,), along all shapes; arguments as of `estimate_contact`.
    Links without a shape have none.
    """
    joints = np.array([model.moving_joint(capsule.link) for capsule in capsules])
    lines = _lines(model, q, capsules, options)
    totals = _link_evidence(_posterior(lines, torque, _precision(noise, model.n), options), lines,
                            joints)
    out = np.zeros(model.n)
    out[list(totals)] = np.exp(np.array(list(totals.values())) - max(totals.values()))
    return np.asarray(out / out.sum())


def _summary(posterior: _Posterior, link: str, joint: int, confidence: float,
             options: ContactOptions) -> ContactEstimate:
    log_evidence = posterior.log_evidence.ravel()
    w = np.exp(log_evidence - log_evidence.max())
    w /= w.sum()
    forces, points = posterior.force.reshape(-1, 3), posterior.point.reshape(-1, 3)
    force, point = w @ forces, w @ points
    within = (w @ posterior.covariance.reshape(-1, 9)).reshape(3, 3)
    force_covariance = within + _spread(w, forces - force)
    point_covariance = _spread(w, points - point)
    force_std = float(np.sqrt(np.linalg.eigvalsh(force_covariance)[-1]))
    point_std = float(np.sqrt(max(np.trace(point_covariance), 0.0)))
    limit = max(options.force_error * float(np.linalg.norm(force)), options.force_floor)
    return ContactEstimate(force, force_covariance, force_std <= limit, point, point_covariance,
                           point_std <= options.point_error, link, joint, confidence)


def _posterior(lines: _Lines, residual: Array, W: Array, options: ContactOptions) -> _Posterior:
    """Along each capsule on a grid that narrows to where the evidence is."""
    # Information of the force, quadratic in s, and of the residual, linear in s.
    WA0, WA1 = W @ lines.A0, W @ lines.A1
    A0T, A1T = lines.A0.transpose(0, 2, 1), lines.A1.transpose(0, 2, 1)
    quadratic = A0T @ WA0 + lines.precision, A0T @ WA1 + A1T @ WA0, A1T @ WA1
    linear = residual @ WA0, residual @ WA1
    low, width = np.zeros(len(lines.radius)), np.ones(len(lines.radius))
    grid, places = options.grid, np.linspace(0.0, 1.0, options.grid)
    s = low[:, None] + width[:, None] * places
    log_evidence, force, covariance = _evidence(quadratic, linear, s)
    for _ in range(options.refinements):
        likely = log_evidence > log_evidence.max(axis=1, keepdims=True) - _LIKELY
        narrow = likely.sum(axis=1) <= grid // 4
        if not narrow.any():
            break
        first = np.maximum(likely.argmax(axis=1) - 1, 0)
        last = np.minimum(grid - likely[:, ::-1].argmax(axis=1), grid - 1)
        step = width / (grid - 1)
        low = np.where(narrow, low + first * step, low)
        width = np.where(narrow, (last - first) * step, width)
        s = low[:, None] + width[:, None] * places
        log_evidence, force, covariance = _evidence(quadratic, linear, s)
    # Any place of a link's length is as likely as any other beforehand.
    length = np.linalg.norm(lines.x1, axis=1)
    log_evidence = log_evidence + np.log(width / (grid - 1) * length)[:, None]
    return _Posterior(log_evidence, force, covariance, _surface(lines, s, force))


def _evidence(quadratic: tuple[Array, Array, Array], linear: tuple[Array, Array],
              s: Array) -> tuple[Array, Array, Array]:
    """Log evidence (L, G), mean force (L, G, 3) and its covariance (L, G, 3, 3) at the places s.

    Terms that are the same for all places and capsules are left out of the evidence.
    """
    t = s[..., None, None]
    L0, L1, L2 = (part[:, None] for part in quadratic)
    information = L0 + t * (L1 + t * L2)
    b = linear[0][:, None] + s[..., None] * linear[1][:, None]  # (L, G, 3)
    covariance = np.asarray(np.linalg.inv(information), np.float64)
    force = np.asarray((covariance @ b[..., None])[..., 0])
    log_evidence = 0.5 * ((b * force).sum(axis=-1) - np.log(np.linalg.det(information)))
    return log_evidence, force, covariance


def _surface(lines: _Lines, s: Array, force: Array) -> Array:
    """Points on the surface, on the side that the force comes from, (L, G, 3)."""
    axis = (lines.x1 / np.linalg.norm(lines.x1, axis=1, keepdims=True))[:, None]
    across = force - (force * axis).sum(axis=-1, keepdims=True) * axis
    size = np.linalg.norm(across, axis=-1, keepdims=True)
    outward = np.divide(-across, size, out=np.zeros_like(across), where=size > 1e-9)
    return np.asarray(lines.x0[:, None] + s[..., None] * lines.x1[:, None]
                      + lines.radius[:, None, None] * outward)


def _lines(model: Arm, q: Array, capsules: Sequence[LinkCapsule],
           options: ContactOptions) -> _Lines:
    parts: list[tuple[Array, ...]] = []
    for capsule in capsules:
        T, J = model.frame_pose(q, capsule.link), model.jacobian(q, capsule.link)
        start = T[:3, :3] @ np.asarray(capsule.start, float)
        x1 = T[:3, :3] @ np.asarray(capsule.end, float) - start
        length = float(np.linalg.norm(x1))
        if not length > 0.0:
            raise BadValue(f'length of the capsule on {capsule.link}', length, '> 0 m')
        # A point at r moves by J_lin + J_ang x r.
        A0, A1 = J[:3].T + J[3:].T @ _cross(start), J[3:].T @ _cross(x1)
        axis = x1 / length
        across = np.eye(3) - np.outer(axis, axis)
        precision = (across + np.outer(axis, axis) / options.axial_ratio**2) \
            / options.force_prior**2
        parts.append((A0, A1, start + T[:3, 3], x1, precision, np.array(capsule.radius)))
    return _Lines(*(np.array(column) for column in zip(*parts, strict=True)))


def _cross(r: Array) -> Array:
    """[r] with w @ [r] = w x r, (3, 3)."""
    x, y, z = r.tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _link_evidence(posterior: _Posterior, lines: _Lines,
                   joints: NDArray[np.intp]) -> dict[int, float]:
    """Log evidence for the link of each joint; all links start equally likely."""
    length = np.linalg.norm(lines.x1, axis=1)
    return {k: float(np.logaddexp.reduce(posterior.log_evidence[joints == k].ravel())
                     - np.log(length[joints == k].sum())) for k in set(joints.tolist())}


def _confidence(totals: dict[int, float], joint: int) -> float:
    """Probability of the link that `joint` moves."""
    top = max(totals.values())
    return float(np.exp(totals[joint] - top) / sum(np.exp(t - top) for t in totals.values()))


def _precision(noise: ArrayLike, n: int) -> Array:
    """Inverse covariance of the residual, (n, n)."""
    array = np.asarray(noise, float)
    if array.shape == (n,) and (array > 0.0).all():
        return np.diag(array**-2)
    if array.shape == (n, n):
        return np.linalg.inv(array)
    raise BadValue('noise', array.tolist(), f'positive standard deviations ({n},) or ({n}, {n})')


def _spread(w: Array, offsets: Array) -> Array:
    return np.asarray((w[:, None] * offsets).T @ offsets)
