"""Contacts on a seven-joint arm, located by joints, by the base, and by both."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from armsense.base.cell_layout import CellLayout
from armsense.base.fusion import ContactFusion
from armsense.geometry.link_surface import link_shapes, Shape
from armsense.model import Arm
from armsense.types import Array
from bench.double_contact import DoubleContact

ARM = 'seven'
CELLS = ((0.2, 0.2), (-0.2, 0.2), (-0.2, -0.2), (0.2, -0.2))   # [m]
TORQUE_NOISE = 0.05        # [Nm] of a joint residual
CELL_NOISE = 0.05          # [N]
FORCE = (10.0, 30.0)       # [N]
FRICTION = 0.3             # largest sideways share of a push
LINKS = range(3, 8)        # links 1 and 2 move too few joints to tell a point
SUCCESS = 0.05             # [m]


def measure_two(count: int, seed: int = 1) -> dict[str, float]:
    """Two contacts at once, one on links 3 and 4, one on links 6 and 7: the worse error."""
    model, layout = Arm.load(ARM), CellLayout.upright(CELLS)
    double = DoubleContact(model, layout, np.eye(7) * TORQUE_NOISE**2,
                           layout.covariance(CELL_NOISE))
    rng = np.random.default_rng(seed)
    shapes = link_shapes(model)
    errors = []
    while len(errors) < count:
        q = rng.uniform(-1.5, 1.5, 7)
        pushes = [_push(model, shapes, q, int(rng.choice(links)), rng)
                  for links in ((3, 4), (6, 7))]
        if any(push is None for push in pushes):
            continue
        tau, felt = _noise(layout, rng)
        for push in pushes:
            assert push is not None
            tau, felt = tau + push.tau, felt + layout.felt(push.wrench)
        found = double.locate(q, tau, felt)
        points = np.array([push.point for push in pushes if push is not None])
        errors.append(float(np.linalg.norm(found.points - points, axis=1).max()))
    return {'median_error_m': float(np.median(errors)),
            'within_10_cm': float(np.mean(np.array(errors) < 0.1))}


class Push(NamedTuple):
    """A force on the arm and what it shows."""

    point: Array    # [m] base frame, (3,)
    tau: Array      # [Nm], (7,)
    wrench: Array   # on the support [N, Nm], (6,)


def _push(model: Arm, shapes: dict[str, list[Shape]], q: Array, link: int,
          rng: np.random.Generator) -> Push | None:
    """A random push on a link; None where another link covers the place."""
    places = shapes[f'link{link}'][0].sample(0.02)
    place = places[rng.integers(len(places))]
    T = model.frame_pose(q, f'link{link}')
    p, n = T[:3, :3] @ place.point + T[:3, 3], T[:3, :3] @ place.normal
    if _inside_another(model, shapes, q, link, p):
        return None
    side = np.cross(n, rng.standard_normal(3))
    force = rng.uniform(*FORCE) * (rng.uniform(0.0, FRICTION) * side / np.linalg.norm(side) - n)
    tau = model.point_jacobian(q, f'link{link}', place.point).T @ force
    return Push(p, tau, np.concatenate([force, np.cross(p, force)]))


def _noise(layout: CellLayout, rng: np.random.Generator) -> tuple[Array, Array]:
    return (TORQUE_NOISE * rng.standard_normal(7),
            layout.collect @ (CELL_NOISE * rng.standard_normal(layout.cells)))


def measure_fusion(count: int, seed: int = 0) -> dict[str, Any]:
    """Success, median error and rate of `count` random contacts."""
    model, layout = Arm.load(ARM), CellLayout.upright(CELLS)
    joint, base = np.eye(7) * TORQUE_NOISE**2, layout.covariance(CELL_NOISE)
    methods = {'both': ContactFusion(model, layout, joint, base),
               'joint_only': ContactFusion(model, layout, joint, None),
               'base_only': ContactFusion(model, layout, None, base)}
    rng = np.random.default_rng(seed)
    shapes = link_shapes(model)
    errors: dict[str, list[float]] = {name: [] for name in methods}
    seconds: list[float] = []
    while len(seconds) < count:
        q = rng.uniform(-1.5, 1.5, 7)
        push = _push(model, shapes, q, int(rng.integers(LINKS.start, LINKS.stop)), rng)
        if push is None:
            continue
        tau, felt = _noise(layout, rng)
        tau, felt = tau + push.tau, felt + layout.felt(push.wrench)
        for name, method in methods.items():
            begin = time.thread_time()
            touch = method.locate(q, tau, felt)
            if name == 'both':
                seconds.append(time.thread_time() - begin)
            errors[name].append(float(np.linalg.norm(touch.point - push.point)))
    figures = {name: {'success': float(np.mean(np.array(e) < SUCCESS)),
                      'median_error_m': float(np.median(e))} for name, e in errors.items()}
    return {**figures.pop('both'), 'rate_hz': round(1.0 / float(np.median(seconds))), **figures,
            'double': measure_two(max(count // 20, 10))}


def _inside_another(model: Arm, shapes: dict[str, list[Shape]], q: Array, link: int,
                    point: Array) -> bool:
    """Whether another link covers a point of the base frame: nobody can touch there."""
    for name, bodies in shapes.items():
        T = model.frame_pose(q, name)
        local = T[:3, :3].T @ (point - T[:3, 3])
        if name != f'link{link}' and any(body.inside(local) for body in bodies):
            return True
    return False
