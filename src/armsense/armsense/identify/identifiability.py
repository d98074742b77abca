"""Which parameters the data tell, in words.

A parameter alone is known in one of four ways: by itself; in a combination with others; not at
all, because it moves no torque; or not here, because this motion lets it move the torque by less
than the noise. Where the data are silent, the value of the CAD model stays, and the sentence says
so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from armsense.identify.feasible import parameter_scale
from armsense.identify.uncertainty import BaseEstimate
from armsense.model.arm_model import ArmModel, PARAMETER_NAMES
from armsense.types import Array

NORMAL_95 = float(stats.norm.ppf(0.975))
BLIND = 0.9       # of the prior's width: the data say nothing
WORDS = {'m': 'mass', 'mx': 'moment m c_x', 'my': 'moment m c_y', 'mz': 'moment m c_z',
         'Ixx': 'I_xx', 'Ixy': 'I_xy', 'Iyy': 'I_yy', 'Ixz': 'I_xz', 'Iyz': 'I_yz',
         'Izz': 'I_zz'}
KINDS = ('alone', 'combined', 'weak', 'silent')


class Finding(NamedTuple):
    """What is known of one inertial parameter."""

    name: str         # such as Ixy2
    kind: str         # out of KINDS
    sentence: str


def in_words(model: ArmModel, columns: list[Array], noise: Array,
             found: BaseEstimate) -> list[Finding]:
    """One finding per inertial parameter.

    Args:
        model: The arm.
        columns: Of links and drives per recording, (N, n, p) each.
        noise: Of the torques [Nm], (n,).
        found: Base parameters with covariance.
    """
    scale = parameter_scale(model.parameters)
    moved = _torque_moved(columns, scale) / noise                           # (p, n)
    wide = found.deviations * NORMAL_95
    out = []
    for k, name in enumerate(model.parameter_names):
        link = model.link_names[k // len(PARAMETER_NAMES)]
        what = f'{WORDS[PARAMETER_NAMES[k % len(PARAMETER_NAMES)]]} of {link}'
        rows = np.flatnonzero(np.abs(found.base.combination[:, k]) > 1e-9).tolist()
        out.append(_finding(name, what, rows, k, scale[k], float(moved[k].max()), found, wide))
    return out


def _finding(name: str, what: str, rows: list[int], k: int, scale: float, moved: float,
             found: BaseEstimate, wide: Array) -> Finding:
    if not rows:
        return Finding(name, 'silent', f'{what} moves no joint torque whatever the motion: '
                                       'not identifiable, CAD value kept')
    if moved < 1.0:
        return Finding(name, 'weak', f'{what} moves the torque by less than the noise '
                                     f'({100.0 * moved:.0f} % of it): not identified, CAD value '
                                     'kept')
    row = min(rows, key=lambda i: float(wide[i]))
    if wide[row] > BLIND * scale * np.abs(found.base.combination[row, k]):
        return Finding(name, 'weak', f'{what}: the interval is as wide as the value; this motion '
                                     'does not tell it, CAD value kept')
    if len(rows) == 1 and np.count_nonzero(found.base.combination[row]) == 1:
        return Finding(name, 'alone', f'{what} is identified: {found.values[row]:.4g} +- '
                                      f'{wide[row]:.2g}')
    return Finding(name, 'combined', f'{what} is identified only in {found.names[row]} = '
                                     f'{found.values[row]:.4g} +- {wide[row]:.2g}')


def _torque_moved(columns: list[Array], scale: Array) -> Array:
    """Rms torque of each parameter at its typical size [Nm], (p, n)."""
    squares = sum(np.square(part[:, :, :len(scale)]).sum(axis=0) for part in columns)
    rows = sum(map(len, columns))
    return np.asarray(np.sqrt(squares / rows).T * scale[:, None])
