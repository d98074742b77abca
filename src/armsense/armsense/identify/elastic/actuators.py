"""Springs, dampers and friction of elastic joints from motor torques (thesis 000, section 4.2.1).

    tau_m - I_m ddtheta = d_e ddelta + d_v dtheta + k_e delta + d_C sgn(dtheta) + o      (4.4)
    delta = theta - q - r q_c

where the cable of a joint runs over a pulley on joint c (eqs. 3.9-3.10), k_e r is the coefficient
of one more column, -q_c. All parameters appear alone: no reduction is needed. A term of one's own
is a function of twist and motion whose values are one more column per joint; `EXTRA` has some.

Periods are averaged, and their variances are the weights (4.43-4.47). A spring that pushes, a
damper or a friction that drives are impossible; where noise asks for one, the fit is repeated
within bounds (the document takes the absolute value).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import lsq_linear, newton

from armsense.drive.elastic_joint import ElasticJoint
from armsense.errors import ArmsenseError, BadValue
from armsense.identify.elastic.recording import BAND, ElasticRecording, SMOOTHING
from armsense.identify.estimation.base_parameters import (
    base_parameters,
    BaseEstimate,
    estimate_base,
)
from armsense.identify.signals.filters import in_band, period_in_band
from armsense.model.arm import Arm
from armsense.model.arm_config import ArmConfig
from armsense.types import Array

STRIBECK = 0.05      # [rad/s] motor velocity at which the breakaway torque has faded
PLAY = 1e-3          # [rad] twist within which a play changes sides
LEAST = 1e-3         # of the nominal stiffness: no spring is softer
LAG, LONGEST = 1e-3, 1.0   # [s] damping over stiffness: beside the first guess, and at most
TERMS = ('stiffness', 'damping', 'viscous', 'coulomb', 'offset')
POSITIVE = TERMS[:4]


class Twist(NamedTuple):
    """What a term may depend on, (N, n) each."""

    delta: Array    # twist of the springs [rad]
    rate: Array     # [rad/s]
    dtheta: Array   # of the motors [rad/s]


Term = Callable[[Twist], Array]      # -> (N, n), in Nm per unit of the parameter
EXTRA: dict[str, Term] = {
    'cubic': lambda s: s.delta**3,                                 # [Nm/rad^3] a hardening spring
    'hysteresis': lambda s: np.tanh(s.rate / SMOOTHING),           # [Nm] friction in the spring
    'stribeck': lambda s: (np.tanh(s.dtheta / SMOOTHING)           # [Nm] more friction when slow
                           * np.exp(-np.square(s.dtheta / STRIBECK))),
    'backlash': lambda s: -np.tanh(s.delta / PLAY),                # [Nm] k_e times half the play
}


@dataclass(frozen=True)
class Actuators:
    """Drives of n elastic joints, (n,) each."""

    stiffness: Array       # k_e [Nm/rad]
    damping: Array         # d_e [Nm s/rad]
    viscous: Array         # d_v [Nm s/rad]
    coulomb: Array         # d_C [Nm]
    offset: Array          # [Nm]
    inertia: Array         # I_m on the joint side [kg m^2]
    coupling: Array        # R, (n, n)
    estimate: BaseEstimate   # with intervals, names such as stiffness2
    bounded: tuple[str, ...] = ()   # parameters that lie at the bound of what is possible
    extra: dict[str, Array] = field(default_factory=dict)   # of further terms

    def springs(self) -> ElasticJoint:
        """Springs for a drive."""
        return ElasticJoint(self.stiffness, self.damping, self.coupling, None)

    def interval(self, name: str) -> tuple[float, float]:
        """95 % of one parameter, such as `stiffness2`."""
        low, high = self.estimate.intervals()[self.estimate.names.index(name)]
        return float(low), float(high)


def identify_actuators(recordings: Sequence[ElasticRecording], model: Arm,
                       extra: Mapping[str, Term] | None = None) -> Actuators:
    """First step of two: the drives.

    Args:
        recordings: With motor torques.
        model: The arm; its yaml states which cable runs over which joint, and rotor inertias.
        extra: Further terms by name, such as those of `EXTRA`.
    """
    config, extra = elastic_config(model), extra or {}
    recordings = [recording.averaged() for recording in recordings]
    taken = set(extra) & {*TERMS, 'cable'}
    if taken:
        raise BadValue('name of a term', taken.pop(), 'none of ' + ', '.join((*TERMS, 'cable')))
    inertia = np.array([joint.reflected_inertia for joint in config.joints.values()])
    cables, n = cable_joints(config), model.n
    names = tuple(f'{term}{k + 1}' for term in (*TERMS, *extra) for k in range(n)) + tuple(
        f'cable{k + 1}' for k in cables)
    columns, torques, periods = [], [], []
    for recording in recordings:
        band = recording.band
        A, y = actuator_columns(recording, config, inertia, BAND * band, cables, extra)
        columns.append(in_band(A, band, recording.rate))
        torques.append(in_band(y, band, recording.rate))
        periods.append(period_in_band(recording.motor_side(), band))
    columns = _with_dampers(columns, torques, cables, ElasticJoint.from_config(config))
    base = base_parameters(np.concatenate([A.reshape(-1, len(names)) for A in columns]), names,
                           prefer=names)
    weights = _weights(base.independent, columns, torques, recordings)
    found = estimate_base(base, columns, torques, weights, periods=periods)
    found, bounded = _possible(found, columns, torques, weights, config)
    value = dict(zip(base.names, found.values, strict=True))
    parts = {term: np.array([value.get(f'{term}{k + 1}', 0.0) for k in range(n)])
             for term in (*TERMS, *extra)}
    coupling = ElasticJoint.from_config(config).coupling
    for k, c in cables.items():
        coupling[k, c] = value[f'cable{k + 1}'] / parts['stiffness'][k]
    more = {term: parts.pop(term) for term in extra}
    return Actuators(**parts, inertia=inertia, coupling=coupling, estimate=found, bounded=bounded,
                     extra=more)


def actuator_columns(recording: ElasticRecording, config: ArmConfig, inertia: Array,
                     cutoff: float, cables: dict[int, int],
                     extra: Mapping[str, Term]) -> tuple[Array, Array]:
    """Columns of all joints, (N, n, p), and torques without the rotors', (N, n).

    The last ones are of the cables: positions of the joints that they pass, then velocities.
    """
    motors, joints = recording.motions(cutoff)
    springs = ElasticJoint.from_config(config)
    path = np.eye(config.n) + springs.coupling
    twist = Twist(motors.q - joints.q @ path.T, motors.dq - joints.dq @ path.T, motors.dq)
    for k, c in cables.items():
        path[k, c] = 0.0            # a column of its own
    delta, rate = motors.q - joints.q @ path.T, motors.dq - joints.dq @ path.T
    shapes = (delta, rate, motors.dq, np.tanh(motors.dq / SMOOTHING), np.ones_like(delta),
              *(np.asarray(term(twist)) for term in extra.values()))
    A = np.concatenate([shape[:, :, None] * np.eye(config.n) for shape in shapes], axis=2)
    own = np.zeros((len(delta), config.n, 2 * len(cables)))
    for column, (k, c) in enumerate(cables.items()):
        own[:, k, column], own[:, k, len(cables) + column] = -joints.q[:, c], -joints.dq[:, c]
    return np.concatenate([A, own], axis=2), recording.tau - inertia * motors.ddq


def _with_dampers(columns: list[Array], torques: list[Array], cables: dict[int, int],
                  nominal: ElasticJoint) -> list[Array]:
    """Columns in which spring and damper of a cable are one: -(q_c + d_e / k_e dq_c).

    A column of its own for the damper would take away what tells the spring of a light link from
    friction. So d_e / k_e is found as that which the fit with it gives back (secant method).
    """
    count, n = len(cables), columns[0].shape[1]
    if not count:
        return columns

    def joined(k: int, column: int, lag: float) -> Array:
        rows = np.concatenate([A[:, k] for A in columns])
        end = rows.shape[1] - 2 * count
        cable = rows[:, end + column] + lag * rows[:, end + count + column]
        return np.column_stack([rows[:, k:end:n], cable])      # of this joint alone

    lags = []
    for column, k in enumerate(cables):
        y = np.concatenate([part[:, k] for part in torques])

        def missed(lag: float, k: int = k, column: int = column, y: Array = y) -> float:
            found = np.linalg.lstsq(joined(k, column, lag), y, rcond=None)[0]
            return float(found[1] / found[0] - lag)            # damping, stiffness: first two

        guess = float(nominal.damping[k] / nominal.stiffness[k])
        lag = newton(missed, guess, x1=0.5 * guess + LAG, tol=1e-7, maxiter=30, disp=False)
        lags.append(lag if 0.0 <= lag <= LONGEST else guess)   # else: a spring that is none
    return [np.concatenate([A[:, :, :-2 * count],
                            A[:, :, -2 * count:-count] + np.array(lags) * A[:, :, -count:]],
                           axis=2) for A in columns]


def elastic_config(model: Arm) -> ArmConfig:
    """The arm's yaml, where every joint has a spring."""
    if any(joint.elastic is None for joint in model.config.joints.values()):
        raise ArmsenseError(f'{model.name}: every joint must be elastic')
    return model.config


def cable_joints(config: ArmConfig) -> dict[int, int]:
    """Joints whose cable runs over another: index -> index of the other."""
    out = {}
    for k, joint in enumerate(config.joints.values()):
        if joint.elastic is not None and joint.elastic.coupled_to is not None:
            out[k] = config.joint_names.index(joint.elastic.coupled_to)
    return out


def _weights(keep: tuple[int, ...], columns: list[Array], torques: list[Array],
             recordings: Sequence[ElasticRecording]) -> list[Array]:
    """Inverse variances: between periods, or of the joints' errors where nothing repeats."""
    X = np.concatenate(columns)[:, :, list(keep)]
    y = np.concatenate(torques)
    beta = np.linalg.lstsq(X.reshape(-1, X.shape[2]), y.ravel(), rcond=None)[0]
    error = np.mean(np.square(y - X @ beta), axis=0)
    known = [error if r.variance is None else r.variance for r in recordings]
    return [np.broadcast_to(1.0 / np.maximum(variance, 1e-18), part.shape)
            for variance, part in zip(known, torques, strict=True)]


def _possible(found: BaseEstimate, columns: list[Array], torques: list[Array],
              weights: list[Array], config: ArmConfig) -> tuple[BaseEstimate, tuple[str, ...]]:
    """The estimate within what is physically possible, and names of what lies at its bound."""
    lower = np.full(len(found.names), -np.inf)
    for k, joint in enumerate(config.joints.values()):
        assert joint.elastic is not None
        for term in POSITIVE:
            name = f'{term}{k + 1}'
            if name in found.names:
                lower[found.names.index(name)] = (LEAST * joint.elastic.stiffness
                                                  if term == 'stiffness' else 0.0)
    if np.all(found.values >= lower):
        return found, ()
    keep, root = list(found.base.independent), [np.sqrt(w) for w in weights]
    X = np.concatenate([(A[:, :, keep] * w[:, :, None]).reshape(-1, len(keep))
                        for A, w in zip(columns, root, strict=True)])
    y = np.concatenate([(y * w).ravel() for y, w in zip(torques, root, strict=True)])
    scale = np.maximum(np.linalg.norm(X, axis=0), 1e-300)
    solution = lsq_linear(X / scale, y, (lower * scale, np.inf))
    at = tuple(name for name, mask in zip(found.names, solution.active_mask, strict=True) if mask)
    return replace(found, values=np.maximum(solution.x / scale, lower)), at
