"""The runs of the demo: where the arm goes, what stands in its way, who pushes it; the nodes.

Everything is in virtual time from the start of the simulation, so two runs of the same seed are
the same run.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
from dataclasses import dataclass
from pathlib import Path
import re

import numpy as np
import yaml

from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.trajectory import ErrorCode, Limits, point_to_point
from armsense_bringup.launch.plan import load
from armsense_bringup.launch.supervisor import Supervisor
from armsense_node.arm_client import ArmClient, Waypoint

START = 2.0          # [s] of virtual time; motors are enabled after 0.2 s, then the goal is sent
REAL_START = 5.0     # [s] about when the motion begins by the wall clock
SWING = 0.8          # [s] for the motion, where the arm is fast enough
REMOVED = 2.2        # [s] after the start of the motion, the obstacle is taken away
RESTING = 6.0        # [s] after the start, the arm rests again, and somebody pushes it
AFTER = 0.9          # [s] after that push
ANGLE = 0.6          # [rad] of the first joint, from its home
STRUCK = 0.35         # [rad] where the hand meets the obstacle
RADIUS = 0.05        # [m]
STIFFNESS = 20e3     # [N/m] of the obstacle: hard rubber
# Springs and blades keep the motors out of a knock: its peak is over before anything could react.
# What a reaction of such an arm prevents is being squeezed: a soft body, met on a slow way.
# A large one, for an arm that is pushed out of its way slips off a small one.
SOFT_SWING, SOFT_STRUCK, SOFT_STIFFNESS, SOFT_RADIUS = 2.4, 0.25, 1e3, 0.2
PUSH = 12.0          # [N]
CLIENT = 'demo'       # node for whom lock-step waits
PATIENCE = 180.0     # [s] wall clock for each part of a run
PAGE_PATIENCE = 60.0   # [s] for the page
REFUSED = ErrorCode.INVALID_GOAL, ErrorCode.INVALID_JOINTS, ErrorCode.OLD_HEADER_TIMESTAMP


@dataclass(frozen=True)
class Demo:
    """Scenario and goal for one arm."""

    arm: str
    joints: tuple[str, ...]
    home: tuple[float, ...]                                  # [rad] where the motion begins
    goal: tuple[float, ...]                                  # [rad] where it ends
    swing: float                                             # [s] for the motion
    obstacle: tuple[float, float, float]                     # [m]
    radius: float                                            # [m] of the obstacle
    stiffness: float                                         # [N/m] of the obstacle
    pushed_link: str
    push_point: tuple[float, float, float]                   # [m] in the link's frame
    push: tuple[float, float, float]                         # [N]

    @classmethod
    def of(cls, arm: str) -> Demo:
        """The demo of an arm: its first joint swings the hand against a sphere."""
        model = Arm.load(arm)
        home = np.array(model.config.home or [0.0] * model.n)
        soft = any(joint.drive != 'rigid' for joint in model.config.joints.values())
        there, struck = home.copy(), home.copy()
        there[0] += ANGLE
        struck[0] += SOFT_STRUCK if soft else STRUCK
        radius = SOFT_RADIUS if soft else RADIUS
        way = model.jacobian(struck)[:3, 0]
        hand = model.frame_pose(struck)[:3, 3] + (radius - RADIUS) * way / np.linalg.norm(way)
        last = model.link_names[-1]
        to_tool = np.linalg.inv(model.frame_pose(home, last)) @ model.frame_pose(home)
        # At its goal the hand is pushed back, against the swing of the first joint.
        side = model.jacobian(there)[:3, 0]
        side = -PUSH * side / np.linalg.norm(side)
        fastest = point_to_point(home, there, Limits.of(model), model).duration
        return cls(
            arm=arm, joints=tuple(model.joint_names), home=tuple(home.tolist()),
            goal=tuple(there.tolist()),
            swing=max(SOFT_SWING if soft else SWING, round(1.05 * fastest, 2)),
            obstacle=tuple(hand.tolist()), radius=radius,
            stiffness=SOFT_STIFFNESS if soft else STIFFNESS,
            pushed_link=last,
            push_point=tuple(to_tool[:3, 3].tolist()), push=tuple(side.tolist()))

    @property
    def pushed(self) -> float:
        """When the resting arm is pushed [s], after the start."""
        return max(RESTING, REMOVED + 3.0 * self.swing)

    @property
    def struck_end(self) -> float:
        """When a run without a reaction ends [s]: only the obstacle is of interest."""
        return min(2.0 * self.swing, REMOVED - 0.1)

    def write_scenario(self, path: Path, start: float) -> None:
        """Events for the simulator; start: of the motion [s]."""
        events = [
            {'time': 0.0, 'place': {'name': 'obstacle', 'position': list(self.obstacle),
                                    'radius': self.radius, 'stiffness': self.stiffness}},
            {'time': start + REMOVED, 'remove': 'obstacle'},
            {'time': start + self.pushed, 'push': {
                'link': self.pushed_link, 'point': list(self.push_point),
                'force': list(self.push), 'duration': 0.3}},
        ]
        path.write_text(yaml.safe_dump({'events': events}))


def run(demo: Demo, reaction: str, launch_file: Path, folder: Path,
        lockstep: bool) -> tuple[Path, float, float]:
    """Run the demo once, in virtual time or by the wall clock; scenario and bag go to `folder`.

    Returns:
        The bag, and the stamps at which the motion began and the run was over [s].
    """
    folder.mkdir(parents=True, exist_ok=True)
    scenario, bag = folder / 'scenario.yaml', folder / 'bag'
    demo.write_scenario(scenario, START if lockstep else REAL_START)
    plan = load(launch_file, {
        'arm': demo.arm, 'lockstep': str(lockstep).lower(), 'real_time_factor': '0',
        'record': 'true', 'bag': str(bag), 'scenario': str(scenario),
        'realtime': str(not lockstep).lower(), 'reaction': reaction,
        'client': CLIENT})
    with Supervisor(plan) as supervisor, ArmClient(
            CLIENT, patience=PATIENCE, failure=lambda: supervisor.failure) as client:
        # Found before time passes: in lock-step it may pass faster than a client finds a server.
        client.find_controller()
        client.listen()
        client.wait_enabled()
        begin = START if lockstep else client.time + 1.0
        rest = [0.0] * len(demo.joints)
        goal = client.send([Waypoint(0.0, demo.home, rest),
                            Waypoint(demo.swing, demo.goal, rest)], demo.joints, begin)
        outcome = client.ending(goal)
        client.wait(lambda: client.time > begin or outcome.done(),
                    what='the begin of the motion')
        # On a busy machine the motion may already have ended at the obstacle.
        if outcome.done() and outcome.result().result.error_code in REFUSED:
            raise ArmsenseError('the motion was refused: '
                                + outcome.result().result.error_string)
        end = begin + (demo.struck_end if reaction == 'ignore' else demo.pushed + AFTER)
        client.wait(lambda: client.time > end, what='the end of the run')
    if supervisor.failed:
        raise ArmsenseError(supervisor.failure)
    return bag, begin, end


@contextlib.contextmanager
def playground(arm: str, launch_file: Path) -> Iterator[Supervisor]:
    """A simulated arm at the pace of the clock, for the page that is there already."""
    with Supervisor(load(launch_file, {'arm': arm})) as supervisor:
        yield supervisor


@contextlib.contextmanager
def web_monitor(arm: str, launch_file: Path, bags: Path, port: int) -> Iterator[tuple[str, str]]:
    """Serve one page that sees both runs and their bags, at `port` or the next free one.

    Yields:
        Its address, and the token that unlocks its buttons.
    """
    plan = load(launch_file, {'arm': arm, 'monitor': 'web', 'bags': str(bags.resolve()),
                              'web_port': str(port)})
    with Supervisor([process for process in plan if process.name == 'web_monitor']) as supervisor:
        try:
            url = supervisor.wait_for_line('page: http', PAGE_PATIENCE).text
            token = supervisor.wait_for_line('token to control', PAGE_PATIENCE).text
            yield re.sub('.*page: ', '', url), token.rsplit(' ', 1)[-1]
        except TimeoutError:
            words = '\n'.join(line.text for line in supervisor.lines[-5:])
            raise ArmsenseError(f'the monitor did not start:\n{words}') from None
