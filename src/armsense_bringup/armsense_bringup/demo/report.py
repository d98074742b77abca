"""What a bag of the demo says: contacts as they were, collisions as they were felt."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcap.reader import make_reader
import numpy as np
from rclpy.serialization import deserialize_message

from armsense.model import Arm
from armsense.types import Array
from armsense_msgs.msg import Collision, ContactTruth, MotorStates, ReactionState, Residual

TYPES: dict[str, Any] = {
    '/motor_states': MotorStates, '/residual': Residual, '/collision': Collision,
    '/ground_truth': ContactTruth, '/dynamic_controller/reaction_state': ReactionState,
    '/joint_space_controller/reaction_state': ReactionState,
}
GAP = 0.2          # [s] without force between two contacts
SEARCH = 0.5       # [s] after the begin of a contact in which it must be felt


@dataclass(frozen=True)
class Touch:
    """One contact, true and felt."""

    begin: float            # [s]
    end: float              # [s]
    link: str               # that was touched
    peak: float             # [N]
    felt: float | None      # [s] stamp of the state that decided; None: missed
    felt_link: str
    q: Array                # [rad] links at its peak, (n,)
    force: Array            # [N] then, world frame, (3,)
    point: Array            # [m] world frame, (3,)

    @property
    def delay(self) -> float | None:
        """[s] from the first force to the decision."""
        return None if self.felt is None else self.felt - self.begin


@dataclass(frozen=True)
class Run:
    """One run, ready for table and figure; times count from the begin of the motion."""

    time: Array             # [s] (N,)
    position: Array         # [rad] (N, n)
    residual_time: Array    # [s] (M,)
    residual: Array         # [Nm] (M, n)
    threshold: Array        # [Nm] (M, n)
    contact_time: Array     # [s] (K,)
    contact_force: Array    # [N] (K,)
    touches: tuple[Touch, ...]
    false_alarms: int
    phases: tuple[tuple[float, str], ...]

    @property
    def resumed(self) -> bool:
        return any(phase == 'resuming' for _, phase in self.phases)


def read_run(bag: Path, start: float, end: float) -> Run:
    """Read a bag of the demo, whose motion began at `start` [s], up to `end` [s].

    What comes later is not part of the run: how much there is depends on the machine.
    """
    messages: dict[str, list[Any]] = {topic: [] for topic in TYPES}
    with next(bag.glob('*.mcap')).open('rb') as file:
        reader = make_reader(file)
        for _, channel, message in reader.iter_messages(topics=list(TYPES), log_time_order=False):
            read = deserialize_message(message.data, TYPES[channel.topic])
            if _stamp(read) <= end:
                messages[channel.topic].append(read)
    states = sorted(messages['/motor_states'], key=lambda m: m.seq)
    residuals = [m for m in messages['/residual'] if m.valid]
    truth = messages['/ground_truth']
    collisions = [(_stamp(m) - start, m.link) for m in messages['/collision']]
    touches = _touches(truth, collisions, states, start)
    phases = [m for topic, ms in messages.items() if topic.endswith('reaction_state') for m in ms]
    return Run(
        time=np.array([_stamp(m) - start for m in states]),
        position=np.array([m.position for m in states]),
        residual_time=np.array([_stamp(m) - start for m in residuals]),
        residual=np.array([m.filtered for m in residuals]),
        threshold=np.array([m.threshold for m in residuals]),
        contact_time=np.array([_stamp(m) - start for m in truth]),
        contact_force=np.array([_force(m) for m in truth]),
        touches=touches,
        false_alarms=sum(not any(t.begin <= stamp <= t.end + SEARCH for t in touches)
                         for stamp, _ in collisions),
        phases=tuple((_stamp(m) - start, m.state) for m in phases))


def why_not_named(touch: Touch, model: Arm, threshold: Array) -> str:
    """Why another link than the one that was hit is named; '': it is named, or was not felt."""
    if touch.felt is None or touch.felt_link == touch.link:
        return ''
    pose = model.frame_pose(touch.q, touch.link)
    place = pose[:3, :3].T @ (touch.point - pose[:3, 3])
    load = model.point_jacobian(touch.q, touch.link, place).T @ touch.force
    beyond = np.flatnonzero(np.abs(load) > threshold)
    outermost = model.joint_names[int(beyond[-1]) if len(beyond) else 0]
    return (f'{touch.link} was hit, {touch.felt_link} is named: the force puts '
            f'{", ".join(f"{tau:.2f}" for tau in load)} Nm on the joints, and none beyond '
            f'{outermost} feels more than its threshold; any link further out is as likely')


def _links(states: list[MotorStates], stamp: float) -> Array:
    """Link angles of the state nearest to a stamp [rad], (n,)."""
    state = min(states, key=lambda m: abs(_stamp(m) - stamp))
    return np.array(state.joint_position or state.position)


def _touches(truth: list[ContactTruth], collisions: list[tuple[float, str]],
             states: list[MotorStates], start: float) -> tuple[Touch, ...]:
    groups: list[list[ContactTruth]] = []
    for message in truth:
        if _force(message) <= 0.0:
            continue
        if not groups or _stamp(message) - _stamp(groups[-1][-1]) > GAP:
            groups.append([])
        groups[-1].append(message)
    touches = []
    for group in groups:
        begin, end = _stamp(group[0]) - start, _stamp(group[-1]) - start
        felt = next(((s, link) for s, link in collisions if begin <= s <= end + SEARCH), None)
        worst = max(group, key=_force)
        touches.append(Touch(
            begin, end, group[0].link, _force(worst), felt[0] if felt else None,
            felt[1] if felt else '', _links(states, _stamp(worst)),
            np.array([worst.force.x, worst.force.y, worst.force.z]),
            np.array([worst.point.x, worst.point.y, worst.point.z])))
    return tuple(touches)


def _stamp(message: Any) -> float:
    stamp = message.stamp if hasattr(message, 'stamp') else message.header.stamp
    return float(stamp.sec + 1e-9 * stamp.nanosec)


def _force(message: ContactTruth) -> float:
    f = message.force
    return float(np.sqrt(f.x**2 + f.y**2 + f.z**2))
