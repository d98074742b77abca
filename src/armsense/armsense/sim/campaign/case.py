"""One collision of a campaign: what touches the arm, where, how fast; drawn from a seed.

Human body parts are springs with a mass, with numbers that public sources quote from ISO/TS 15066
(hand 75 N/mm, 0.6 kg; chest 25 N/mm, 40 kg); they must be checked against the standard before
anybody relies on them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armsense.errors import ArmsenseError
from armsense.geometry.capsules import link_capsules, LinkCapsule
from armsense.model import Arm
from armsense.sim.campaign.free_motion import Poses
from armsense.trajectory import point_to_point, QuinticSpline
from armsense.types import Array

ATTEMPTS = 400
SLOWEST = 0.1              # [m/s] of the point that shall meet the obstacle
SPEED = 0.2, 0.6           # share of the limits
RADIUS = 0.02, 0.05        # [m] of obstacles
PUSH = 3.0, 60.0           # [N] of pushes
BEFORE = 0.3               # [s] at rest before the motion


class Body(NamedTuple):
    """What the arm meets."""

    name: str
    stiffness: float | None   # [N/m]; None: nothing stands there, a force pushes the arm
    mass: float | None        # [kg]; None: clamped


BODIES = (
    Body('foam', 1e3, None), Body('rubber', 10e3, None), Body('wood', 100e3, None),
    Body('steel', 300e3, None), Body('clamped hand', 75e3, None), Body('free hand', 75e3, 0.6),
    Body('clamped chest', 25e3, None), Body('free chest', 25e3, 40.0), Body('push', None, None),
)


class Case(NamedTuple):
    """A collision to be simulated."""

    seed: int
    body: Body
    motion: QuinticSpline
    start: Array           # [rad] (n,)
    time: float            # [s] of the motion, when the contact is planned
    link: str              # that is meant to be touched
    point: Array           # [m] on that link's capsule axis, link frame, (3,)
    place: Array           # [m] centre of the obstacle, base frame, (3,)
    radius: float          # [m] of the obstacle
    force: Array           # [N] of a push, base frame, (3,)
    speed: float           # [m/s] of the point at that time


class CaseMaker:
    """Draws cases for one arm."""

    def __init__(self, model: Arm) -> None:
        self.model, self.poses = model, Poses(model)
        self.capsules = link_capsules(model)
        config = model.config
        self._home = np.array(config.home) if config and config.home else np.zeros(model.n)

    def draw(self, seed: int, attempt: int = 0) -> Case:
        """The case of a seed; another `attempt` gives another where the first is impossible."""
        rng = np.random.default_rng([seed, 3, attempt])
        body = BODIES[seed % len(BODIES)]   # all of them equally often
        for _ in range(ATTEMPTS):
            start = self.poses.near(self._home, rng)
            goal = self.poses.near(start, rng)
            motion = point_to_point(start, goal, self.poses.limits, self.model,
                                    float(rng.uniform(*SPEED)))
            case = self._contact(seed, body, start, motion, rng)
            if case is not None:
                return case
        raise ArmsenseError(f'{self.model.name}: no collision of seed {seed} in {ATTEMPTS} draws')

    def _contact(self, seed: int, body: Body, start: Array, motion: QuinticSpline,
                 rng: np.random.Generator) -> Case | None:
        time = float(rng.uniform(0.35, 0.75)) * motion.duration
        now = motion.sample(time)
        capsule = self.capsules[int(rng.integers(len(self.capsules)))]
        a, b = np.array(capsule.start), np.array(capsule.end)
        local = a + float(rng.uniform(0.1, 1.0)) * (b - a)
        velocity = self.model.point_jacobian(now.q, capsule.link, local)[:3] @ now.dq
        across, point = self._across(now.q, capsule, local, velocity)
        speed = float(np.linalg.norm(across))
        if speed < SLOWEST:
            return None
        radius = float(rng.uniform(*RADIUS))
        way = across / speed
        force = -way * float(np.exp(rng.uniform(*np.log(PUSH))))
        return Case(seed, body, motion, start, time, capsule.link, local,
                    point + (capsule.radius + radius) * way, radius, force, speed)

    def _across(self, q: Array, capsule: LinkCapsule, local: Array,
                velocity: Array) -> tuple[Array, Array]:
        """Velocity of a point across its capsule, and the point, base frame, (3,) each."""
        T = self.model.frame_pose(q, capsule.link)
        axis = T[:3, :3] @ (np.array(capsule.end) - np.array(capsule.start))
        axis /= np.linalg.norm(axis)
        return velocity - (velocity @ axis) * axis, T[:3, :3] @ local + T[:3, 3]
