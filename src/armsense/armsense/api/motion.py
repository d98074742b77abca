"""Motions that show the dynamics, and simulated robots to try them on."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armsense import schema
from armsense.api.recording import Recording
from armsense.errors import ArmsenseError
from armsense.excite import Excitation
from armsense.excite.design import design_excitation as design
from armsense.excite.search import DesignOptions
from armsense.model import Arm


class Push(NamedTuple):
    """A force on a link of a simulated arm.

    Example:
        >>> armsense.Push(at=1.0, link='link4', force=(0.0, 12.0, 0.0))
    """

    at: float                         # [s]
    link: str
    force: tuple[float, float, float]               # [N] in base axes
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)    # [m] in the frame of the link
    lasts: float = 0.2                # [s]


def design_excitation(robot: Arm, *, period: float = 10.0, harmonics: int = 5, seed: int = 1,
                      time_limit: float = 19.0, starts: int = 4) -> Excitation:
    """A motion that shows the dynamics best and keeps all limits and distances.

    Args:
        robot: With collision shapes; the motion begins and ends at its home.
        period: Of the motion [s].
        harmonics: Its bandwidth is harmonics / period.
        seed: Of the search.
        time_limit: [s]
        starts: Random motions that are improved.

    Example:
        >>> motion = armsense.design_excitation(armsense.load('laas4'))
        >>> motion.write('excite.yaml')
    """
    options = {'period': period, 'harmonics': harmonics, 'seed': seed, 'time_limit': time_limit,
               'starts': starts}
    return design(robot, schema.load(DesignOptions, options, 'options')).excitation


def simulate(robot: Arm, seconds: float = 3.0, *, motion: Excitation | None = None,
             pushes: Sequence[Push] = (), mismatch: float = 0.0, seed: int = 1) -> Recording:
    """A simulated arm of this project, driven and recorded; it does not react to pushes.

    Args:
        robot: With rigid drives, such as `load('laas4')`.
        seconds: How long, where no motion is given; the arm then holds its home.
        motion: To be driven once.
        pushes: On the way.
        mismatch: Relative error of masses and friction of the simulated arm.
        seed: Of noise and mismatch.

    Example:
        >>> rec = armsense.simulate(armsense.load('laas4'), pushes=[
        ...     armsense.Push(at=1.0, link='link4', force=(0.0, 12.0, 0.0))])
    """
    from armsense.sim.closed_loop import ClosedLoop, Cycle  # MuJoCo
    if robot.config.boards is None or any(
            joint.drive != 'rigid' for joint in robot.config.joints.values()):
        raise ArmsenseError(f'{robot.name} cannot be simulated so: only arms with motor boards '
                            'and rigid drives can, such as laas4')
    arm = ClosedLoop(robot, mismatch=mismatch, seed=seed)
    arm.run(0.2)   # the controller takes over and holds
    rows: list[tuple[float, ArrayLike, ArrayLike]] = []

    def note(cycle: Cycle) -> None:
        if cycle.reading is not None:
            rows.append((cycle.time - arm.dt - begin, cycle.reading.position,
                         cycle.reading.torque))

    begin = arm.time
    if motion is not None:
        trajectory = motion.trajectory(1)
        arm.controller.follow(trajectory)
        seconds = trajectory.duration + 0.2
    for push in sorted(pushes, key=lambda push: push.at):
        arm.run(begin + push.at - arm.time, note)
        arm.plant.apply_force(push.link, push.point, push.force, duration=push.lasts)
    arm.run(begin + seconds - arm.time, note)
    t, q, tau = (np.array(column, float) for column in zip(*rows, strict=True))
    return Recording(t, q, tau, name=f'simulated {robot.name}')
