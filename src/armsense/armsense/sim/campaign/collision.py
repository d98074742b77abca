"""One collision of a campaign: what touches the arm, where, how fast; drawn from a seed.

Human body parts are springs with a mass, with numbers that public sources quote from ISO/TS 15066
(hand 75 N/mm, 0.6 kg; chest 25 N/mm, 40 kg); they must be checked against the standard before
anybody relies on them. A simulation gives the tape of the boards and the truth about the contact.
"""

from typing import NamedTuple

import numpy as np

from armsense.control.goal import GoalRefused
from armsense.errors import ArmsenseError, BadValue
from armsense.geometry.capsules import link_capsules, LinkCapsule
from armsense.model import Arm
from armsense.sim.campaign.free_motion import Poses
from armsense.sim.campaign.individual import Individual, Recorder, TrueContact
from armsense.trajectory import point_to_point, QuinticSpline
from armsense.types import Array
from armsense.watch import Tape

ATTEMPTS = 400
SLOWEST = 0.1              # [m/s] of the point that shall meet the obstacle
SPEED = 0.2, 0.6           # share of the limits
RADIUS = 0.02, 0.05        # [m] of obstacles
PUSH = 3.0, 60.0           # [N] of pushes
BEFORE = 0.3               # [s] at rest before the motion
AFTER = 0.25               # [s] recorded after the first touch; a collision must be felt within
OBSTACLE = 'obstacle'
RETRIES = 12
HAND_LIMIT, INNER_LIMIT = 5.0, 10.0   # [N] that must be felt at the hand, on the inner links
SUDDEN = 2e-3              # [s] within which a hard impact reaches that force


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
        self._home = np.array(model.config.home or [0.0] * model.n)

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


class Truth(NamedTuple):
    """What happened, from the plant."""

    body: str
    begin: int              # number of the last reading before the touch
    link: str               # touched first
    joint: int              # that moves it
    point: Array            # [m] at the peak, base frame, (3,)
    force: Array            # [N] on the arm at the peak, base frame, (3,)
    torque: Array           # [Nm] of that force at the joints, (n,)
    forces: Array           # [N] on that link after each reading from `begin` on, (M, 3)
    points: Array           # [m] where, (M, 3)
    speed: float            # [m/s] at which they were meant to meet
    hard: bool              # the force to be felt was there within `SUDDEN`

    @property
    def peak(self) -> float:
        """[N]."""
        return float(np.linalg.norm(self.force))

    def reached(self, number: int) -> float:
        """Largest force up to a reading [N]."""
        sizes = np.linalg.norm(self.forces[:max(number - self.begin, 1)], axis=1)
        return float(sizes.max(initial=0.0))

    @property
    def lever(self) -> float:
        """Largest joint torque per force [m]."""
        return float(np.abs(self.torque).max() / self.peak)


def record_collision(maker: CaseMaker, individual: Individual, seed: int) -> tuple[Tape, Truth]:
    """Simulate the case of a seed; one that misses the arm is drawn again."""
    for attempt in range(RETRIES):
        case = maker.draw(seed, attempt)
        try:
            recorder = _run(case, individual)
        except (GoalRefused, BadValue):   # the way is not free, or the obstacle stands in the arm
            continue
        if recorder.contacts:
            return recorder.tape(), _truth(case, recorder, maker.model)
    raise ArmsenseError(f'{maker.model.name}: none of {RETRIES} cases of seed {seed} touched')


def _run(case: Case, individual: Individual) -> Recorder:
    recorder = Recorder(individual.loop(case.start, case.seed))
    plant = recorder.loop.plant
    if case.body.stiffness is not None and case.body.mass is None:
        plant.place_obstacle(OBSTACLE, case.place, radius=case.radius,
                             stiffness=case.body.stiffness)
    elif case.body.stiffness is not None and case.body.mass is not None:
        plant.place_hand(case.place, mass=case.body.mass, stiffness=case.body.stiffness,
                         radius=case.radius, name=OBSTACLE)
    recorder.run(BEFORE)
    if case.body.stiffness is None:
        recorder.follow(case.motion, BEFORE + case.time)
        plant.apply_force(case.link, case.point, case.force)
    else:
        recorder.loop.controller.follow(case.motion)
    end = BEFORE + case.motion.duration + AFTER
    while recorder.time < end:
        recorder.step()
        if recorder.contacts:
            end = min(end, recorder.contacts[0].number * recorder.loop.dt + AFTER)
    return recorder


def _truth(case: Case, recorder: Recorder, model: Arm) -> Truth:
    first = recorder.contacts[0]
    link, begin = first.contact.link, first.number
    contacts = [c for c in recorder.contacts if c.contact.link == link]
    peak = max(contacts, key=lambda c: float(np.linalg.norm(c.contact.force)))
    forces, points = np.zeros((2, recorder.count - begin, 3))
    for c in contacts:
        forces[c.number - begin], points[c.number - begin] = c.contact.force, c.contact.point
    limit = force_to_feel(model, link)
    sudden = np.linalg.norm(forces[:round(SUDDEN / recorder.loop.dt)], axis=1)
    return Truth(case.body.name, begin, link, model.moving_joint(link), peak.contact.point,
                 peak.contact.force, _torque(model, peak), forces, points, case.speed,
                 bool(sudden.max() >= limit))


def force_to_feel(model: Arm, link: str) -> float:
    """Force that must not be missed on a link [N]."""
    return HAND_LIMIT if model.moving_joint(link) == model.n - 1 else INNER_LIMIT


def _torque(model: Arm, contact: TrueContact) -> Array:
    """Joint torques of a true force [Nm], (n,)."""
    link, point, force = contact.contact.link, contact.contact.point, contact.contact.force
    T = model.frame_pose(contact.q, link)
    local = T[:3, :3].T @ (point - T[:3, 3])
    return np.asarray(model.point_jacobian(contact.q, link, local)[:3].T @ force)
