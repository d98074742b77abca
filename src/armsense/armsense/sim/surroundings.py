"""What is around an arm: obstacles, hands, pushes, and the forces they put on it."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import BadValue, UnknownName
from armsense.sim.arm_spec import ArmSpec
from armsense.sim.obstacles import (
    contact_force,
    cross,
    Obstacle,
    point_velocity,
    Touch,
    touches,
)
from armsense.sim.plant import Contact
from armsense.types import Array

OVERLAP = 1e-3   # [m] more of it at the start would throw the arm away


class Push(NamedTuple):
    """An external force on a link."""

    link: str
    body: int
    point: Array           # [m] body frame, (3,)
    force: Array           # [N] world frame, (3,)
    until: float           # [s]


class Surroundings:
    """Obstacles and pushes of one arm.

    Obstacles are part of the specification, so one that comes or goes needs a compilation, after
    which `bind` must be called.
    """

    def __init__(self, arm: ArmSpec) -> None:
        self._arm = arm
        self._first_obstacle = len(arm.spec.bodies)   # the arm's bodies come first
        self.obstacles: dict[str, Obstacle] = {}
        self.pushes: list[Push] = []
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
        self.require(name)
        del self.obstacles[name]
        self._arm.spec.delete(self._arm.spec.body(name))

    def move(self, name: str, position: ArrayLike) -> None:
        """Move an obstacle to a position [m]; a hand rests there."""
        self.require(name)
        where = np.asarray(position, float)
        if where.shape != (3,) or not np.isfinite(where).all():
            raise BadValue(f'position of obstacle {name!r}', where.tolist(),
                           'three finite numbers')
        body = self._model.body(name).id
        slot = self._model.body_mocapid[body]
        self._arm.spec.body(name).pos = where
        self.obstacles[name] = dataclasses.replace(self.obstacles[name], position=where)
        self._by_body[body] = self.obstacles[name]
        if slot >= 0:
            self._data.mocap_pos[slot] = where
            return
        self._model.body_pos[body] = where
        where_it_is = self._movable[body]
        self._data.qpos[where_it_is] = self._data.qvel[where_it_is] = 0.0

    def require(self, name: str) -> None:
        """Raise where there is no obstacle of that name."""
        if name not in self.obstacles:
            raise UnknownName('obstacle', name, self.obstacles)

    def overlap(self, name: str) -> str:
        """Link that is inside an obstacle and how deep, as text; '' where none is."""
        for touch in self._touches():
            if self._by_body[touch.obstacle].name == name and touch.depth > OVERLAP:
                link = self._link_of[touch.body] or 'the base'
                return f'{link} would be {touch.depth:.3f} m inside it'
        return ''

    def push(self, link: str, point: ArrayLike, force: ArrayLike, until: float) -> None:
        """Push a link at a point of its frame [m] until a time [s]."""
        where, vector = np.asarray(point, float), np.asarray(force, float)
        for what, value in (('point', where), ('force', vector)):
            if value.shape != (3,) or not np.isfinite(value).all():
                raise BadValue(what, value.tolist(), 'three finite numbers')
        body, local = self._arm.attachment(link, where)
        self.pushes.append(Push(link, self._model.body(body).id, local, vector, until))

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
            self._apply(push.body, point, push.force)
            self.contacts.append(Contact(push.link, push.force, point, 'push'))

    def _touches(self) -> list[Touch]:
        if not self._data.ncon:
            return []
        return touches(self._model, self._data, self._first_obstacle)

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
