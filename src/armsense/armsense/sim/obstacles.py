"""Things an arm can run into, and the force they make.

MuJoCo finds where shapes overlap; the force is computed here by Hunt and Crossley's law and
applied to the bodies, for all obstacles alike. MuJoCo's own contacts scale their stiffness with
the effective mass at the contact, so no stiffness in N/m could be stated, and a campaign needs
one. Several contact points between one link and one obstacle count as one contact at their
depth-weighted centre.
"""

from __future__ import annotations

from dataclasses import dataclass, field
import math
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import BadValue
from armsense.sim.arm_spec import ARM, OBSTACLE
from armsense.sim.hunt_crossley import HuntCrossley
from armsense.types import Array

RIGID = 3e5            # [N/m] of an obstacle called rigid
REACH = 5e-3           # [m] distance at which fine steps begin
SLIP_VELOCITY = 0.01   # [m/s] below which contact friction fades
TYPICAL_MASS = 0.1     # [kg] effective at a contact, for the choice of a step
COLOURS = {'obstacle': (0.24, 0.50, 0.62, 1.0), 'hand': (0.91, 0.72, 0.58, 1.0)}


@dataclass(frozen=True)
class Obstacle:
    """A sphere or a box, fixed or with the mass of a human hand."""

    name: str
    position: Array                        # [m] world frame, (3,)
    radius: float | None = None            # [m] of a sphere
    box: tuple[float, float, float] | None = None   # [m] full sides of a box
    material: HuntCrossley = field(default_factory=HuntCrossley)
    friction: float = 0.0                  # coefficient between obstacle and arm
    mass: float | None = None              # [kg] None: fixed
    hold_stiffness: float = 0.0            # [N/m] of the spring that holds a movable one
    hold_damping: float = 0.0              # [N s/m]

    def __post_init__(self) -> None:
        if (self.radius is None) == (self.box is None):
            raise BadValue(f'shape of obstacle {self.name!r}', (self.radius, self.box),
                           'either a radius or a box')
        sizes = (self.radius,) if self.box is None else self.box
        if not all(size is not None and math.isfinite(size) and size > 0 for size in sizes):
            raise BadValue(f'size of obstacle {self.name!r}', sizes, '> 0 m')
        if not (math.isfinite(self.material.stiffness) and self.material.stiffness > 0):
            raise BadValue(f'stiffness of obstacle {self.name!r}', self.material.stiffness,
                           '> 0 N/m')
        if self.position.shape != (3,) or not np.isfinite(self.position).all():
            raise BadValue(f'position of obstacle {self.name!r}', self.position.tolist(),
                           'three finite numbers')

    @property
    def step(self) -> float:
        """Longest step that resolves the contact [s]: a sixtieth of a bounce."""
        return 0.1 * math.sqrt(TYPICAL_MASS / self.material.stiffness)

    def add_to(self, spec: mujoco.MjSpec) -> None:
        """Add the body to a model."""
        body = spec.worldbody.add_body(name=self.name, pos=self.position,
                                       mocap=self.mass is None)
        kind, size = mujoco.mjtGeom.mjGEOM_SPHERE, np.array([self.radius or 0.0, 0.0, 0.0])
        if self.box is not None:
            kind, size = mujoco.mjtGeom.mjGEOM_BOX, 0.5 * np.array(self.box)
        colour = COLOURS['obstacle' if self.mass is None else 'hand']
        # A margin this low keeps the overlap in the contact list but out of the solver.
        body.add_geom(name=self.name, type=kind, size=size, contype=OBSTACLE, conaffinity=ARM,
                      margin=-10.0, gap=10.0 + REACH, rgba=colour, mass=self.mass or 0.0)
        if self.mass is None:
            return
        body.gravcomp = 1.0   # the person carries the hand
        for axis, letter in zip(np.eye(3), 'xyz', strict=True):
            body.add_joint(name=f'{self.name}_{letter}', type=mujoco.mjtJoint.mjJNT_SLIDE,
                           axis=axis, stiffness=(self.hold_stiffness, 0.0, 0.0),
                           damping=(self.hold_damping, 0.0, 0.0))


class Touch(NamedTuple):
    """Overlap of one arm body with one obstacle."""

    body: int         # MuJoCo body of the arm
    obstacle: int     # MuJoCo body of the obstacle
    depth: float      # [m] negative: still apart
    normal: Array     # from the obstacle to the arm, (3,)
    point: Array      # [m] (3,)


def touches(model: mujoco.MjModel, data: mujoco.MjData, first_obstacle: int) -> list[Touch]:
    """Overlaps and near misses in MuJoCo's contact list.

    Args:
        model: Compiled model.
        data: Its state, positions computed.
        first_obstacle: Number of the first obstacle's body; the arm's come before.
    """
    pairs: dict[tuple[int, int], list[tuple[float, Array, Array]]] = {}
    contact = data.contact
    depths, frames, points = (-contact.dist).tolist(), contact.frame, contact.pos
    bodies = model.geom_bodyid[contact.geom].tolist()              # (ncon, 2)
    for k, (one, two) in enumerate(bodies):
        normal = frames[k, :3]                                     # from one to two
        if one < first_obstacle:
            one, two, normal = two, one, -normal
        pairs.setdefault((two, one), []).append((depths[k], normal, points[k]))
    return [_merge(body, obstacle, parts) for (body, obstacle), parts in pairs.items()]


def _merge(body: int, obstacle: int, parts: list[tuple[float, Array, Array]]) -> Touch:
    depth = max(part[0] for part in parts)
    if len(parts) == 1 or depth <= 0.0:
        return Touch(body, obstacle, depth, parts[0][1].copy(), parts[0][2].copy())
    weights = np.array([max(part[0], 0.0) for part in parts])
    normal = weights @ np.array([part[1] for part in parts])
    point = weights @ np.array([part[2] for part in parts]) / weights.sum()
    return Touch(body, obstacle, depth, normal / np.linalg.norm(normal), point)


def contact_force(touch: Touch, velocity: Array, obstacle: Obstacle) -> Array:
    """Force on the arm [N], (3,).

    Args:
        touch: The overlap.
        velocity: Of the arm relative to the obstacle at the point [m/s], (3,).
        obstacle: What is touched.
    """
    away = float(velocity @ touch.normal)
    size = obstacle.material.force(touch.depth, -away)
    force = size * touch.normal
    if obstacle.friction > 0.0 and size > 0.0:
        slip = velocity - away * touch.normal
        speed = math.sqrt(float(slip @ slip) + SLIP_VELOCITY**2)
        force = force - obstacle.friction * size / speed * slip
    return force


def point_velocity(model: mujoco.MjModel, data: mujoco.MjData, body: int, point: ArrayLike,
                   buffer: Array) -> Array:
    """Velocity of a body's point [m/s], (3,); `buffer` is (6,) scratch."""
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, buffer, 0)
    return np.asarray(buffer[3:] + cross(buffer[:3], point - data.xpos[body]))


def cross(a: Array, b: Array) -> Array:
    """Vector product, (3,); numpy's own is ten times slower for single vectors."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return np.array((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx))
