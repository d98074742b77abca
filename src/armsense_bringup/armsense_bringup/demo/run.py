"""One run of the demo: the nodes as processes, a goal, a bag."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from armsense.errors import ArmsenseError
from armsense.trajectory import ErrorCode
from armsense_bringup.demo.scenario import AFTER, Demo, REAL_START, START, STRUCK_END
from armsense_bringup.launch.plan import load
from armsense_bringup.launch.supervisor import Supervisor
from armsense_node.arm_client import ArmClient, Waypoint

PATIENCE = 180.0   # [s] wall clock for each of its parts
REFUSED = ErrorCode.INVALID_GOAL, ErrorCode.INVALID_JOINTS, ErrorCode.OLD_HEADER_TIMESTAMP


def run(demo: Demo, joints: Sequence[str], reaction: str, launch_file: Path, folder: Path,
        lockstep: bool = True) -> tuple[Path, float, float]:
    """Run the demo once.

    Args:
        demo: What happens.
        joints: Names of the arm's joints.
        reaction: To collisions.
        launch_file: `arm.launch.xml`.
        folder: Where scenario and bag go.
        lockstep: Virtual time; False: the wall clock.

    Returns:
        The bag, and the stamps at which the motion began and the run was over [s].
    """
    folder.mkdir(parents=True, exist_ok=True)
    scenario, bag = folder / 'scenario.yaml', folder / 'bag'
    demo.write_scenario(scenario, START if lockstep else REAL_START)
    plan = load(launch_file, {
        'arm': demo.arm, 'lockstep': str(lockstep).lower(), 'record': 'true', 'bag': str(bag),
        'scenario': str(scenario), 'realtime': str(not lockstep).lower(), 'reaction': reaction})
    with Supervisor(plan) as supervisor, ArmClient(
            'demo', patience=PATIENCE, failure=lambda: supervisor.failure) as client:
        client.listen()
        # Found before time passes: in lock-step it may pass faster than a client finds a server.
        client.find_controller()
        client.wait_enabled()
        begin = START if lockstep else client.time + 1.0
        rest = [0.0] * len(joints)
        goal = client.send([Waypoint(0.0, demo.home, rest),
                            Waypoint(demo.swing, demo.goal, rest)], joints, begin)
        outcome = client.ending(goal)
        client.wait(lambda: client.time > begin or outcome.done(),
                    what='the begin of the motion')
        # On a busy machine the motion may already have ended at the obstacle.
        if outcome.done() and outcome.result().result.error_code in REFUSED:
            raise ArmsenseError('the motion was refused: '
                                + outcome.result().result.error_string)
        end = begin + (STRUCK_END if reaction == 'ignore' else demo.pushed + AFTER)
        client.wait(lambda: client.time > end, what='the end of the run')
    if supervisor.failed:
        raise ArmsenseError(supervisor.failure)
    return bag, begin, end
