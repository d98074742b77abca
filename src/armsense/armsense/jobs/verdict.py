"""The verdict on a model: it is no better than the worst that is known of it.

The whole decides by its share of missed torque, and so does the worst joint: where almost all
torque is gravity of one joint, another may be missed completely. A joint counts as explained by
how the model follows the changes of its torque; a mean is explained by any mass. One whose torque
drowns in the noise of its sensor does not count: nobody could explain it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armsense.types import Array

GOOD, USABLE = 5.0, 15.0          # [%] torque error on unseen data
WEAK_JOINT = 25.0                 # [%] of a joint's torque: worth a warning
UNEXPLAINED = 70.0                # [%]: the model says nothing about the joint
ADVICE = {'good': 'Use it', 'usable': 'Use it with wide thresholds', 'poor': 'Do not use it'}
GRADES = tuple(ADVICE)            # from the best


class JointErrors(NamedTuple):
    """Of unseen motion, or of the training where there is none."""

    names: Sequence[str]
    percent: ArrayLike           # of its torque that is missed, (n,)
    rms: ArrayLike               # [Nm], (n,)
    silent: Sequence[str] = ()   # names of those that do not count
    change: Sequence[float] | Array = ()   # as percent, of its changes about the mean, (n,)
    noise: Sequence[float] | Array = ()    # of the sensors, part of the rms [Nm], (n,)

    def unexplained(self) -> tuple[str, float] | None:
        """The worst joint whose changes of torque the model does not follow, and percent."""
        change = np.array(self.change if len(self.change) else self.percent, float)
        change[[name in self.silent for name in self.names]] = -1.0
        k = int(np.argmax(change))
        return (self.names[k], float(change[k])) if change[k] >= UNEXPLAINED else None

    def worst(self) -> tuple[str, float, bool] | None:
        """Name, percent, and whether it also misses more Nm than the joints in the mean.

        What is noise of a sensor no model could have told.
        """
        percent, rms = np.array(self.percent, float), np.array(self.rms, float)
        if len(self.noise):
            known = np.square(np.array(self.noise) / np.maximum(rms, 1e-300))
            percent *= np.sqrt(np.maximum(1.0 - known, 0.0))
        percent[[name in self.silent for name in self.names]] = -1.0
        k = int(np.argmax(percent))
        if percent[k] < 0.0:
            return None
        return self.names[k], float(percent[k]), bool(rms[k] >= np.sqrt(np.mean(rms ** 2)))


def percent_words(percent: float) -> str:
    """Two digits, such as 0.85 %, 3.2 % or 120 %."""
    return f'{percent:.0f} %' if percent >= 9.95 else f'{percent:.2g} %'


def verdict(result: dict[str, Any], errors: JointErrors,
            wiring: Sequence[str] = ()) -> dict[str, str]:
    """Grade (good, usable or poor) and one sentence; `result` is that of `summary`."""
    seen = result['validation_percent']
    percent = result['cross_validated_percent'] if seen is None else seen
    where = ('on parts of the recording that were left out in turn' if seen is None
             else 'on motion that was not used for the fit')
    grade = 'good' if percent <= GOOD else 'usable' if percent <= USABLE else 'poor'
    if grade == 'good' and result['train_percent'] > GOOD:
        grade = 'usable'
        where += f' ({percent_words(result["train_percent"])} on the training)'
    body = ('every link is physically possible' if result['feasible']
            else 'but a link is physically impossible')
    joint, worst = _joint_words(errors, wiring)
    grade = max(grade, worst, 'good' if result['feasible'] else 'poor', key=GRADES.index)
    return {'grade': grade,
            'sentence': f'{ADVICE[grade]}: {joint}the model misses {percent_words(percent)} of '
                        f'the torque {where}, and {body}'}


def _joint_words(errors: JointErrors, wiring: Sequence[str]) -> tuple[str, str]:
    """What is said of the worst joint, and the best grade that it allows."""
    worst = errors.worst()
    if wiring:
        return f'it seems that {" and that ".join(wiring)}; ', 'poor'
    if worst is None:
        return '', 'good'
    lost = errors.unexplained()
    if lost is not None:
        return (f'{lost[0]} is not explained, {lost[1]:.0f} % of its torque is missed (a torque '
                'that is none, or of something else?); '), 'poor'
    name, percent, heavy = worst
    if percent >= WEAK_JOINT and heavy:
        return f'{name} misses {percent:.0f} % of its torque; ', 'usable'
    return '', 'good'
