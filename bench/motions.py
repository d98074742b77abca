"""Motions within an arm's limits, for benches and tests: harmonics, pick and place."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.trajectory import (
    Clearance,
    Fourier,
    Limits,
    QuinticSpline,
    ramped,
    sample_grid,
    Trajectory,
)
from armsense.trajectory.limits import motion_torque
from armsense.trajectory.quintic_spline import shortest_duration
from armsense.types import Array


def fourier_test(model: Arm, *, seed: int = 1, frequency: float = 0.25, harmonics: int = 3,
                 periods: float = 1.0, use: float = 0.7, center: ArrayLike | None = None,
                 floor: float | None = None) -> Trajectory:
    """A seeded Fourier motion that uses the fraction `use` of the tightest limit, at rest at ends.

    Args:
        model: The arm.
        seed: Of the random coefficients.
        frequency: Of the first harmonic [Hz].
        harmonics: Number of harmonics.
        periods: Duration in periods, ramps included.
        use: Fraction of the tightest of position, velocity, acceleration and torque, (0, 1].
        center: [rad] (n,). None: home, or the middle of the range.
        floor: Height [m] that the shapes must stay above. None: not checked.
    """
    limits = Limits.of(model)
    middle = _center(model, limits) if center is None else np.asarray(center, float)
    rng = np.random.default_rng(seed)
    coefficients = rng.normal(size=(2, harmonics, model.n)) / np.arange(1, harmonics + 1)[:, None]
    room = np.minimum(limits.upper - middle, middle - limits.lower)
    coefficients *= np.minimum(room, 1.0)
    scale = 1.0
    for _ in range(60):
        raw = Fourier(middle, scale * coefficients[0], scale * coefficients[1], frequency,
                      periods / frequency)
        motion = ramped(raw, ramp=0.25 / frequency)
        fill = _fill(motion, limits, model, middle)
        low_enough = floor is None or _above(motion, model, floor)
        if low_enough and 0.97 * use <= fill <= use:
            return motion
        scale *= 0.85 if not low_enough else min(max(0.985 * use / fill, 0.5), 1.5)
        if not low_enough:
            use = min(use, fill * 0.85)
    rest = float((np.abs(model.gravity_torque(middle)) / limits.torque).max())
    raise ArmsenseError(f'{model.name}: no Fourier motion of seed {seed} fills {use:.2f} of the '
                        f'limits; gravity alone takes {rest:.2f} of the torque')


def _center(model: Arm, limits: Limits) -> Array:
    if model.config.home:
        return np.array(model.config.home)
    return 0.5 * (limits.lower + limits.upper)


def _fill(motion: Trajectory, limits: Limits, model: Arm, middle: Array) -> float:
    samples = sample_grid(motion, 0.01)
    room = np.minimum(limits.upper - middle, middle - limits.lower)
    parts = ((samples.q - middle) / room, samples.dq / limits.velocity,
             samples.ddq / limits.acceleration, samples.jerk / limits.jerk,
             motion_torque(samples, model) / limits.torque)
    return float(max(np.abs(part).max() for part in parts))


def _above(motion: Trajectory, model: Arm, floor: float) -> bool:
    return not Clearance(model, floor=floor, self_distance=0.0).check(motion, 0.05)


def pick_and_place(model: Arm, *, swing: float = 0.7, depth: float = 0.08,
                   speed: float = 0.7, start: ArrayLike | None = None) -> QuinticSpline:
    """Home, down and up on one side, down and up on the other, home; at rest at each waypoint.

    Args:
        model: The arm.
        swing: Turn of the first joint to either side [rad].
        depth: How far the tool goes down [m].
        speed: Fraction of the velocity limits.
        start: [rad] (n,). None: home.
    """
    limits = Limits.of(model)
    home = np.array(model.config.home if start is None and model.config else start, float)
    poses = [home]
    for side in (1.0, -1.0):
        above = home.copy()
        above[0] += side * swing
        poses += [above, _lowered(model, above, depth), above]
    poses.append(home)
    ways = np.diff(poses, axis=0)
    times = np.concatenate([[0.0], np.cumsum([shortest_duration(w, limits) / speed
                                              for w in ways])])
    rest = np.zeros((len(poses), model.n))
    return QuinticSpline(times, poses, rest, rest)


def _lowered(model: Arm, q: Array, depth: float) -> Array:
    """The tool lower by `depth` [m] with the smallest joint motion; it may also move sideways."""
    lower, upper = model.position_limits
    goal = model.frame_pose(q)[2, 3] - depth
    for _ in range(50):
        missing = goal - model.frame_pose(q)[2, 3]
        if abs(missing) < 1e-4:
            return q
        J = model.jacobian(q)[2]
        q = np.clip(q + J * missing / max(float(J @ J), 1e-3), lower, upper)
    raise ArmsenseError(f'{model.name}: the tool cannot go {depth:.3f} m down from '
                        f'{np.round(q, 3).tolist()} rad')
