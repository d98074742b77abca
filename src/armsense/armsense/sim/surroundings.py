"""What is around an arm: obstacles, hands, pushes, and the forces they put on it.

MuJoCo finds where shapes overlap; the force is computed here by Hunt and Crossley's law and
applied to the bodies, for all obstacles alike. MuJoCo's own contacts scale their stiffness with
the effective mass at the contact, so no stiffness in N/m could be stated, and a campaign needs
one. Several contact points between one link and one obstacle count as one contact at their
depth-weighted centre.
"""

from dataclasses import dataclass, field, replace
import math
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import BadValue
from armsense.schema import check_known, vector
from armsense.sim.arm_spec import ARM, ArmSpec, OBSTACLE
from armsense.sim.pushes import Pull, Push
from armsense.types import Array

RIGID = 3e5            # [N/m] of an obstacle called rigid
REACH = 5e-3           # [m] distance at which fine steps begin
OVERLAP = 1e-3         # [m] more of it at the start would throw the arm away
SLIP_VELOCITY = 0.01   # [m/s] below which contact friction fades
TYPICAL_MASS = 0.1     # [kg] effective at a contact, for the choice of a step
COLOURS = {'obstacle': (0.24, 0.50, 0.62, 1.0), 'hand': (0.91, 0.72, 0.58, 1.0)}


@dataclass(frozen=True)
class HuntCrossley:
    """Contact force of Hunt and Crossley (thesis 000, eqs. 5.19-5.21).

        f = k x^n + lambda x^n dx,      lambda = 3/2 alpha k,      e = 1 - alpha v_i

    x is the penetration, dx its rate, f the force that pushes the bodies apart. The damping grows
    with the penetration, so the force starts and ends at zero without a jump; bodies never pull.
    The defaults are those of the document's collision test.
    """

    stiffness: float = 10e3    # k [N/m^n]
    dissipation: float = 0.04  # alpha [s/m]
    exponent: float = 1.0      # n: 1 flat on flat, 1.5 for round bodies

    def force(self, depth: float, rate: float) -> float:
        """Force [N] at a penetration [m] that grows at a rate [m/s], never negative."""
        if depth <= 0.0:
            return 0.0
        spring: float = self.stiffness * depth**self.exponent
        return max(0.0, spring * (1.0 + 1.5 * self.dissipation * rate))


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
        vector(f'position of obstacle {self.name!r}', self.position, 3)

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


def _merge(body: int, obstacle: int, parts: list[tuple[float, Array, Array]]) -> Touch:
    depth = max(part[0] for part in parts)
    if len(parts) == 1 or depth <= 0.0:
        return Touch(body, obstacle, depth, parts[0][1].copy(), parts[0][2].copy())
    weights = np.array([max(part[0], 0.0) for part in parts])
    normal = weights @ np.array([part[1] for part in parts])
    point = weights @ np.array([part[2] for part in parts]) / weights.sum()
    return Touch(body, obstacle, depth, normal / np.linalg.norm(normal), point)


def contact_force(touch: Touch, velocity: Array, obstacle: Obstacle) -> Array:
    """Force [N], (3,), on an arm that moves against an obstacle at the point [m/s], (3,)."""
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


class Contact(NamedTuple):
    """One true contact."""

    link: str       # link that is touched
    force: Array    # [N] on the arm, world frame, (3,)
    point: Array    # [m] world frame, (3,)
    cause: str      # name of the obstacle, 'push' or 'pull'


class Surroundings:
    """Obstacles and pushes of one arm.

    Obstacles are part of the specification, so one that comes or goes needs a compilation, after
    which `bind` must be called.
    """

    def __init__(self, arm: ArmSpec) -> None:
        self._arm = arm
        self._first_obstacle = len(arm.spec.bodies)   # the arm's bodies come first
        self.obstacles: dict[str, Obstacle] = {}
        self.pushes: list[Push | Pull] = []
        self.contacts: list[Contact] = []
        self._by_body: dict[int, Obstacle] = {}
        self._movable: dict[int, slice] = {}   # place of a hand in qpos and qvel, by body

    def hands(self) -> dict[str, tuple[Array, Array]]:
        """Displacement [m] and velocity [m/s] of what can be moved, by name."""
        return {self._by_body[body].name: (self._data.qpos[where].copy(),
                                           self._data.qvel[where].copy())
                for body, where in self._movable.items()}

    def bind(self, model: mujoco.MjModel, data: mujoco.MjData,
             hands: dict[str, tuple[Array, Array]]) -> None:
        """Work on a newly compiled model; `hands` go on where they were."""
        self._model, self._data = model, data
        self._wrenches, self._centers = data.xfrc_applied, data.xipos
        self._buffer = np.zeros(6)
        self._link_of = [self._arm.link_of(model.body(k).name)
                         for k in range(self._first_obstacle)]
        self._by_body = {model.body(name).id: obstacle
                         for name, obstacle in self.obstacles.items()}
        self._movable = {body: slice(model.body_dofadr[body], model.body_dofadr[body] + 3)
                         for body, obstacle in self._by_body.items()
                         if obstacle.mass is not None}
        for body, where in self._movable.items():
            name = self._by_body[body].name
            if name in hands:
                data.qpos[where], data.qvel[where] = hands[name]

    @property
    def active(self) -> bool:
        """Whether anything may touch the arm."""
        return bool(self.obstacles or self.pushes)

    @property
    def step(self) -> float:
        """Longest step that resolves every contact [s]."""
        return min((obstacle.step for obstacle in self.obstacles.values()), default=np.inf)

    def add(self, obstacle: Obstacle) -> None:
        """Add or replace an obstacle in the specification."""
        taken = {body.name for body in self._arm.spec.bodies} - set(self.obstacles)
        if obstacle.name in taken:
            raise BadValue('name of an obstacle', obstacle.name, 'no part of the arm')
        if obstacle.name in self.obstacles:
            self.remove(obstacle.name)
        self.obstacles[obstacle.name] = obstacle
        obstacle.add_to(self._arm.spec)

    def remove(self, name: str) -> None:
        """Take an obstacle out of the specification."""
        check_known('obstacle', name, self.obstacles)
        del self.obstacles[name]
        self._arm.spec.delete(self._arm.spec.body(name))

    def move(self, name: str, position: ArrayLike) -> None:
        """Move an obstacle to a position [m]; a hand rests there."""
        check_known('obstacle', name, self.obstacles)
        where = vector(f'position of obstacle {name!r}', position, 3)
        body = self._model.body(name).id
        slot = self._model.body_mocapid[body]
        self._arm.spec.body(name).pos = where
        self.obstacles[name] = replace(self.obstacles[name], position=where)
        self._by_body[body] = self.obstacles[name]
        if slot >= 0:
            self._data.mocap_pos[slot] = where
            return
        self._model.body_pos[body] = where
        where_it_is = self._movable[body]
        self._data.qpos[where_it_is] = self._data.qvel[where_it_is] = 0.0

    def overlap(self, name: str) -> str:
        """Link that is inside an obstacle and how deep, as text; '' where none is."""
        for touch in self._touches():
            if self._by_body[touch.obstacle].name == name and touch.depth > OVERLAP:
                link = self._link_of[touch.body] or 'the base'
                return f'{link} would be {touch.depth:.3f} m inside it'
        return ''

    def push(self, link: str, point: ArrayLike, force: ArrayLike, until: float) -> None:
        """Push a link at a point of its frame [m] until a time [s]."""
        where, pushing = vector('point', point, 3), vector('force', force, 3)
        body, local = self._arm.attachment(link, where)
        self.pushes.append(Push(link, self._model.body(body).id, local, pushing, until))

    def pull(self, link: str, point: ArrayLike, target: ArrayLike, stiffness: float,
             until: float) -> None:
        """Pull a point of a link's frame [m] towards a target [m], world frame, until a time."""
        where, goal = vector('point', point, 3), vector('target', target, 3)
        if not (math.isfinite(stiffness) and stiffness > 0.0):
            raise BadValue('stiffness of a pull', stiffness, '> 0 N/m')
        body, local = self._arm.attachment(link, where)
        self.pushes.append(Pull(link, self._model.body(body).id, local, goal, stiffness, until))

    def release(self) -> None:
        """End all pushes and contacts."""
        self.pushes.clear()
        self.contacts = []
        self._wrenches[:] = 0.0

    def end_pushes(self, time: float) -> None:
        """Forget the pushes whose time has come."""
        self.pushes = [push for push in self.pushes if push.until > time - 1e-9]
        if not self.active:
            self._wrenches[:] = 0.0

    def touch(self) -> None:
        """Put the forces of this moment on the bodies; positions must be computed."""
        self._wrenches[:] = 0.0
        self.contacts = []
        for touch in self._touches():
            if touch.depth > 0.0:
                self._collide(touch)
        data = self._data
        for push in self.pushes:
            if push.until <= data.time + 1e-9:
                continue
            point = data.xpos[push.body] + data.xmat[push.body].reshape(3, 3) @ push.point
            force = push.force_at(point, point_velocity(self._model, data, push.body, point,
                                                        self._buffer))
            self._apply(push.body, point, force)
            self.contacts.append(Contact(push.link, force, point, push.cause))

    def _touches(self) -> list[Touch]:
        """Overlaps and near misses in MuJoCo's contact list; bodies of the arm come first."""
        if not self._data.ncon:
            return []
        contact = self._data.contact
        pairs: dict[tuple[int, int], list[tuple[float, Array, Array]]] = {}
        depths, frames, points = (-contact.dist).tolist(), contact.frame, contact.pos
        bodies = self._model.geom_bodyid[contact.geom].tolist()    # (ncon, 2)
        for k, (one, two) in enumerate(bodies):
            normal = frames[k, :3]                                 # from one to two
            if one < self._first_obstacle:
                one, two, normal = two, one, -normal
            pairs.setdefault((two, one), []).append((depths[k], normal, points[k]))
        return [_merge(body, obstacle, parts) for (body, obstacle), parts in pairs.items()]

    def _collide(self, touch: Touch) -> None:
        model, data, buffer = self._model, self._data, self._buffer
        obstacle = self._by_body[touch.obstacle]
        velocity = point_velocity(model, data, touch.body, touch.point, buffer)
        if obstacle.mass is not None:
            velocity -= point_velocity(model, data, touch.obstacle, touch.point, buffer)
        force = contact_force(touch, velocity, obstacle)
        self._apply(touch.body, touch.point, force)
        if obstacle.mass is not None:
            self._apply(touch.obstacle, touch.point, -force)
        self.contacts.append(Contact(self._link_of[touch.body], force, touch.point,
                                     obstacle.name))

    def _apply(self, body: int, point: Array, force: Array) -> None:
        wrench = self._wrenches[body]
        wrench[:3] += force
        wrench[3:] += cross(point - self._centers[body], force)
