"""An arm in DART, Gazebo's engine, loaded from the description that Gazebo gets.

Everything comes from that URDF text: joints, home and order from its block for ros2_control,
masses, friction, limits from its links and joints, as gz-physics sets them. Nothing of the models
that nodes compute with is used, so the two can be held against each other.
"""

from __future__ import annotations

import math
from pathlib import Path
import tempfile
import xml.etree.ElementTree as ElementTree

import dartpy as dart
import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import ArmsenseError, BadValue, UnknownName
from armsense.sim.coordinates import PlantState, Readings
from armsense.sim.dart_world import add_world
from armsense.sim.surroundings import Contact
from armsense.types import Array

STEP = 1e-3                      # [s] as in config/worlds
GRAVITY = (0.0, 0.0, -9.81)      # [m/s^2] world frame
PUSH = 'push'


class DartPlant:
    """A simulated arm with rigid joints; what it does is what `MujocoPlant` does."""

    def __init__(self, urdf: str, world: str | Path | None = None) -> None:
        """Load an arm and let it rest at its home position.

        Args:
            urdf: Description with a block for ros2_control, `gazebo_description.description`.
            world: SDF file with things to bump into; None: an empty world.
        """
        robot = ElementTree.fromstring(urdf)
        joints = robot.findall('ros2_control/joint')
        if not joints:
            raise ArmsenseError('the description has no block for ros2_control')
        self.names = tuple(joint.get('name', '') for joint in joints)
        self.n = len(self.names)
        self.home = np.array([_initial(joint) for joint in joints])   # [rad], (n,)
        self._arm = _load(urdf)
        found = [self._arm.getDof(k).getName() for k in range(self._arm.getNumDofs())]
        if sorted(found) != sorted(self.names):
            raise BadValue('joints of the description', found, f'those that move: {self.names}')
        self._order = [found.index(name) for name in self.names]
        moving = [self._arm.getJoint(name) for name in self.names]
        self._axes = np.array([joint.getAxis() for joint in moving])           # (n, 3)
        self._bodies = [joint.getChildBodyNode() for joint in moving]
        for joint in moving:
            joint.setLimitEnforcement(True)          # as gz-physics does
        self._touchable = {body.getName() for body in self._bodies}
        self._base = self._bodies[0].getParentBodyNode()
        self._world = dart.simulation.World()
        self._world.setTimeStep(STEP)
        self._world.setGravity(GRAVITY)
        self._world.setCollisionDetector(dart.collision.OdeCollisionDetector())   # Gazebo's
        self._world.addSkeleton(self._arm)
        self.obstacles = add_world(self._world, world) if world is not None else ()
        self._pushes: list[tuple[str, Array, Array, float]] = []    # link, point, force, until
        self._forces = np.zeros(self.n)
        self.reset(self.home)

    # -- state -------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """[s]."""
        return float(self._world.getTime())

    @property
    def q(self) -> Array:
        """Positions [rad], (n,)."""
        return np.asarray(self._arm.getPositions()[self._order])

    @property
    def dq(self) -> Array:
        """Velocities [rad/s], (n,)."""
        return np.asarray(self._arm.getVelocities()[self._order])

    @property
    def state(self) -> PlantState:
        """State now."""
        return PlantState(self.time, self.q, self.dq, self.q, self.dq, np.zeros(self.n))

    @property
    def readings(self) -> Readings:
        """State now, for sensors."""
        q, dq = self.q.tolist(), self.dq.tolist()
        return Readings(q, dq, q, [0.0] * self.n)

    @property
    def transmitted(self) -> Array:
        """Torque that each joint passed on in the last step, friction taken off [Nm], (n,).

        What gz_ros2_control reports as effort (since 1.2.12): the axis' part of the wrench from
        parent to child link.
        """
        return np.array([axis @ body.getBodyForce()[:3]
                         for axis, body in zip(self._axes, self._bodies, strict=True)])

    @property
    def base_wrench(self) -> Array:
        """Wrench of the arm, base link included, on its support, base frame [N, Nm], (6,)."""
        moment_force = -np.asarray(self._base.getBodyForce())
        return np.concatenate([moment_force[3:], moment_force[:3]])

    @property
    def energy(self) -> float:
        """Kinetic and gravitational energy of the arm [J]."""
        return float(self._arm.computeKineticEnergy() + self._arm.computePotentialEnergy())

    @property
    def mass_matrix(self) -> Array:
        """M(q) as the engine has it, (n, n)."""
        return np.asarray(self._arm.getMassMatrix()[np.ix_(self._order, self._order)])

    @property
    def contact(self) -> list[Contact]:
        """Contacts in the last step, pushes included."""
        found = [Contact(link, force, self._body(link).getTransform().multiply(point), PUSH)
                 for link, point, force, _ in self._pushes]
        result = self._world.getLastCollisionResult()
        for touch in (result.getContact(k) for k in range(result.getNumContacts())):
            # The force acts on the first of the two.
            bodies = [shape.asShapeNode().getBodyNodePtr() for shape in (
                touch.collisionObject1.getShapeFrame(), touch.collisionObject2.getShapeFrame())]
            for body, other, sign in ((bodies[0], bodies[1], 1.0), (bodies[1], bodies[0], -1.0)):
                if body.getName() in self._touchable and np.any(touch.force):
                    found.append(Contact(body.getName(), sign * np.asarray(touch.force),
                                         np.asarray(touch.point), other.getSkeleton().getName()))
        return found

    # -- time --------------------------------------------------------------------------------

    def reset(self, q: ArrayLike) -> None:
        """Rest at joint positions q [rad]; pushes end."""
        goal = np.asarray(q, float)
        if goal.shape != (self.n,) or not np.isfinite(goal).all():
            raise BadValue('joint positions', goal.tolist(), f'{self.n} finite numbers')
        positions = np.zeros(self.n)
        positions[self._order] = goal
        self._arm.setPositions(positions)
        self._arm.setVelocities(np.zeros(self.n))
        self._pushes.clear()

    def step(self, motor_torque: ArrayLike, dt: float = STEP) -> None:
        """Advance by dt [s], whole milliseconds, under torques [Nm] before friction, (n,)."""
        self._forces[self._order] = motor_torque
        for _ in range(max(1, round(dt / STEP))):
            self._arm.setForces(self._forces)
            for link, point, force, _ in self._pushes:
                self._body(link).addExtForce(force, point, False, True)
            self._world.step()
            self._pushes = [push for push in self._pushes if push[3] > self.time + 1e-9]
        if not math.isfinite(float(self._arm.getVelocities().sum())):
            raise ArmsenseError(f'the simulation left all bounds at {self.time:.3f} s under '
                                f'{np.asarray(motor_torque).tolist()} Nm')

    def hold(self, dt: float = STEP) -> None:
        """Advance by dt [s] while something holds every joint where it is."""
        here, forces = self._arm.getPositions(), self._arm.getGravityForces()
        for _ in range(max(1, round(dt / STEP))):
            self._arm.setForces(forces)
            self._world.step()
            self._arm.setPositions(here)
            self._arm.setVelocities(np.zeros(self.n))

    def apply_force(self, link: str, point: ArrayLike, force: ArrayLike,
                    duration: float | None = None) -> None:
        """Push a link at a point of its frame [m] with a force [N] in the world frame."""
        self._body(link)
        until = math.inf if duration is None else self.time + duration
        self._pushes.append((link, np.asarray(point, float), np.asarray(force, float), until))

    def release(self) -> None:
        """End all pushes."""
        self._pushes.clear()

    def _body(self, link: str) -> dart.dynamics.BodyNode:
        body = self._arm.getBodyNode(link)
        if body is None:
            raise UnknownName('link', link, [b.getName() for b in self._bodies], 'description')
        return body


def state_period(rate: float) -> float:
    """Between two joint states of Gazebo [s] for a rate [Hz]: whole steps, no shorter."""
    return math.ceil(1.0 / rate / STEP - 1e-9) * STEP


def _load(urdf: str) -> dart.dynamics.Skeleton:
    """The arm, bolted down; frames have no mass (the loader would give them 1 kg)."""
    options = dart.utils.DartLoaderOptions()
    options.mDefaultRootJointType = dart.utils.DartLoaderRootJointType.FIXED
    options.mDefaultInertia = dart.dynamics.Inertia(1e-9, np.zeros(3), 1e-12 * np.eye(3))
    loader = dart.utils.DartLoader()
    loader.setOptions(options)
    with tempfile.NamedTemporaryFile('w', suffix='.urdf') as file:
        file.write(urdf)
        file.flush()
        arm = loader.parseSkeleton(file.name)
    if arm is None:
        raise ArmsenseError('DART cannot read the description')
    return arm


def _initial(joint: ElementTree.Element) -> float:
    value = joint.find("state_interface[@name='position']/param[@name='initial_value']")
    return 0.0 if value is None or value.text is None else float(value.text)
