"""Simulates one collision: the tape of the boards and the truth about the contact."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armsense.control.goal import GoalRefused
from armsense.errors import ArmsenseError, BadValue
from armsense.model import Arm
from armsense.sim.campaign.case import BEFORE, Case, CaseMaker
from armsense.sim.campaign.individual import Individual
from armsense.sim.campaign.recorder import Recorder, TrueContact
from armsense.types import Array
from armsense.watch import Tape

AFTER = 0.25     # [s] recorded after the first touch; a collision must be felt within
OBSTACLE = 'obstacle'
RETRIES = 12
HAND_LIMIT, INNER_LIMIT = 5.0, 10.0   # [N] that must be felt at the hand, on the inner links
SUDDEN = 2e-3    # [s] within which a hard impact reaches that force


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


class RecordedCollision(NamedTuple):
    """Tape and truth of one case."""

    seed: int
    tape: Tape
    truth: Truth


def record_collision(maker: CaseMaker, individual: Individual, seed: int) -> RecordedCollision:
    """Simulate the case of a seed; one that misses the arm is drawn again."""
    for attempt in range(RETRIES):
        case = maker.draw(seed, attempt)
        try:
            recorder = _run(case, individual)
        except (GoalRefused, BadValue):   # the way is not free, or the obstacle stands in the arm
            continue
        if recorder.contacts:
            return RecordedCollision(seed, recorder.tape(), _truth(case, recorder, maker.model))
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
