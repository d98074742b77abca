"""Whether angles, velocities and the arm's limits agree: units that cannot be are refused.

Velocities integrated over a tenth of a second must give the way that the positions went. Where
they give 57 times more or less, one of the two is in degrees.
"""

import numpy as np

from armsense.errors import ArmsenseError
from armsense.identify.signals.recording import Recording
from armsense.model.arm import Arm
from armsense.types import Array

STRETCH = 0.1            # [s] over which ways are compared
DEGREES = 180.0 / np.pi
TOO_FAST = 3.0           # times the velocity limit
USUAL_LIMIT = 10.0       # [rad/s] where the description has none
LIMITED = 100.0          # [rad] limits beyond it are none
OUTSIDE = 0.3            # [rad] beyond a limit, in
OFTEN = 0.1              # of the samples
AGREE = 0.8, 1.25        # way by velocity over way by position
MOVED = 0.05             # [rad] that a joint must have gone to be asked


def check_units(recording: Recording, arm: Arm) -> tuple[str, ...]:
    """Raise where a unit is another one; remarks on what is odd."""
    step = max(1, round(STRETCH * recording.rate))
    t, q = recording.t, recording.q
    usual = t[step:] - t[:-step] < 2.0 * STRETCH + step / recording.rate    # no gap in between
    if not usual.any():
        return ()
    way = (q[step:] - q[:-step])[usual]
    speed = np.quantile(np.abs(way) / (t[step:] - t[:-step])[usual, None], 0.99, axis=0)
    _check_degrees(recording, arm, speed)
    notes = _outside(recording, arm)
    if recording.dq is not None:
        middle = 0.5 * (recording.dq[1:] + recording.dq[:-1]) * np.diff(t)[:, None]
        total = np.concatenate([np.zeros((1, recording.n)), np.cumsum(middle, axis=0)])
        notes += _compare(recording, arm, (total[step:] - total[:-step])[usual], way)
    return tuple(notes)


def _check_degrees(recording: Recording, arm: Arm, speed: Array) -> None:
    limit = np.where(arm.velocity_limits > 0.0, arm.velocity_limits, USUAL_LIMIT)
    low, high = arm.position_limits
    limited = (np.abs(low) < LIMITED) & (np.abs(high) < LIMITED) & (high > low)
    wide = limited & (np.ptp(recording.q, axis=0) > 2.0 * (high - low))
    fast = speed > TOO_FAST * limit
    if not (fast | wide).any():
        return
    worst = int(np.argmax(np.where(fast | wide, speed / limit, -1.0)))
    what = (f'{recording.name}: {arm.joint_names[worst]} moves at {speed[worst]:.3g} rad/s, its '
            f'limit is {limit[worst]:.3g} rad/s')
    if np.all(speed / DEGREES < 1.2 * limit):
        raise ArmsenseError(f'{what}; are the angles in degrees? Then say source.units: '
                            '{position: deg, velocity: deg/s}')
    raise ArmsenseError(f'{what}; which units do angles and time have? (source.units)')


def _outside(recording: Recording, arm: Arm) -> list[str]:
    low, high = arm.position_limits
    limited = (np.abs(low) < LIMITED) & (np.abs(high) < LIMITED) & (high > low)
    share = np.mean((recording.q < low - OUTSIDE) | (recording.q > high + OUTSIDE), axis=0)
    return [f'{recording.name}: {name} is beyond its limits in {100.0 * part:.0f} % of the '
            'samples; another zero, another joint or another robot?'
            for name, part, known in zip(arm.joint_names, share, limited, strict=True)
            if known and part > OFTEN]


def _compare(recording: Recording, arm: Arm, by_velocity: Array, way: Array) -> list[str]:
    moved = np.abs(way).max(axis=0) > MOVED
    ratio = np.sum(by_velocity * way, axis=0) / np.maximum(np.sum(way * way, axis=0), 1e-300)
    if not moved.any():
        return []
    typical = float(np.median(ratio[moved]))
    for factor, what, unit in ((DEGREES, 'velocities are in degrees', '{velocity: deg/s}'),
                               (1.0 / DEGREES, 'positions are in degrees',
                                '{position: deg, velocity: rad/s}')):
        if AGREE[0] < typical / factor < AGREE[1]:
            raise ArmsenseError(f'{recording.name}: the velocities are {typical:.3g} times what '
                                f'the positions say: the {what}? Then say source.units: {unit}')
    return [f'{recording.name}: the velocities of {name} are {value:.2g} times what its positions '
            'say: of another joint, sign or unit?'
            for name, value, asked in zip(arm.joint_names, ratio, moved, strict=True)
            if asked and not AGREE[0] < value < AGREE[1]]
