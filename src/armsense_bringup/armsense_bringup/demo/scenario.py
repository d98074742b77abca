"""What happens in the demo: where the arm goes, what stands in its way, who pushes it.

Everything is in virtual time from the start of the simulation, so two runs of the same seed are
the same run.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from armsense.model import Arm
from armsense.trajectory import Limits, point_to_point

START = 2.0          # [s] of virtual time; motors are enabled after 0.2 s, then the goal is sent
REAL_START = 5.0     # [s] about when the motion begins by the wall clock
SWING = 0.8          # [s] for the motion, where the arm is fast enough
REMOVED = 2.2        # [s] after the start of the motion, the obstacle is taken away
RESTING = 7.5        # swings after the start, the arm rests again, and somebody pushes it
AFTER = 0.9          # [s] after that push
STRUCK_END = 1.6     # [s] after the start: without a reaction only the obstacle is of interest
ANGLE = 0.6          # [rad] of the first joint, from its home
STRUCK = 0.35         # [rad] where the hand meets the obstacle
RADIUS = 0.05        # [m]
STIFFNESS = 20e3     # [N/m] of the obstacle: hard rubber
PUSH = 12.0          # [N]


@dataclass(frozen=True)
class Demo:
    """Scenario and goal for one arm."""

    arm: str
    home: tuple[float, ...]                                  # [rad] where the motion begins
    goal: tuple[float, ...]                                  # [rad] where it ends
    swing: float                                             # [s] for the motion
    obstacle: tuple[float, float, float]                     # [m]
    pushed_link: str
    push_point: tuple[float, float, float]                   # [m] in the link's frame
    push: tuple[float, float, float]                         # [N]

    @classmethod
    def of(cls, arm: str) -> Demo:
        """The demo of an arm: its first joint swings the hand against a sphere."""
        model = Arm.load(arm)
        home = np.array(model.config.home or [0.0] * model.n)
        there, struck = home.copy(), home.copy()
        there[0] += ANGLE
        struck[0] += STRUCK
        hand = model.frame_pose(struck)[:3, 3]
        last = model.link_names[-1]
        to_tool = np.linalg.inv(model.frame_pose(home, last)) @ model.frame_pose(home)
        # At its goal the hand is pushed back, against the swing of the first joint.
        side = model.jacobian(there)[:3, 0]
        side = -PUSH * side / np.linalg.norm(side)
        fastest = point_to_point(home, there, Limits.of(model), model).duration
        return cls(
            arm=arm, home=tuple(home.tolist()), goal=tuple(there.tolist()),
            swing=max(SWING, round(1.05 * fastest, 2)),
            obstacle=tuple(hand.tolist()), pushed_link=last,
            push_point=tuple(to_tool[:3, 3].tolist()), push=tuple(side.tolist()))

    @property
    def pushed(self) -> float:
        """When the resting arm is pushed [s], after the start."""
        return RESTING * self.swing

    def write_scenario(self, path: Path, start: float) -> None:
        """Events for the simulator; start: of the motion [s]."""
        events = [
            {'time': 0.0, 'place': {'name': 'obstacle', 'position': list(self.obstacle),
                                    'radius': RADIUS, 'stiffness': STIFFNESS}},
            {'time': start + REMOVED, 'remove': 'obstacle'},
            {'time': start + self.pushed, 'push': {
                'link': self.pushed_link, 'point': list(self.push_point),
                'force': list(self.push), 'duration': 0.3}},
        ]
        path.write_text(yaml.safe_dump({'events': events}))
