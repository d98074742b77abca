"""Position, velocity and slow model error of an arm from its encoder counts: a Kalman filter.

    q+  = q + dt dq+
    dq+ = dq + dt A (tau_link(q, dq) - C dq - g + d),     A = (M + dt D + dt^2 K)^-1
    d+  = d                                               y = q + quantisation

K and D are stiffness and damping of springs, stable at any period (linearly implicit Euler).
Friction is that at the measured velocity, not at the estimated one: by a creep that no encoder
sees, a smooth model of dry friction would explain every torque on an arm that stands.

d [Nm] walks at random: it is what the model does not know and what does not come suddenly. What
comes suddenly is left to the innovations, the measured minus the predicted positions, which are
white as long as the model holds; `detector.onset` tests them. A momentum observer needs
velocities, which a regression over coarse counts gives late and rough; here the model says how the
arm moves between two edges of an encoder. A constant offset of the counts is part of d.

Model and covariance are renewed every few milliseconds, the state in each sample.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np

from armsense.drive import Drive
from armsense.model import Arm
from armsense.model.arm_config import JointConfig
from armsense.schema import quantity
from armsense.types import all_finite, ArmState, Array

UNKNOWN_LIMIT = 100.0   # [Nm] of a robot whose URDF has none
TURN = 0.02          # [s] in which friction is uncertain after a joint has turned
RICCATI_STEPS = 2    # at each renewal
RENEWAL = 5e-3       # [s] between two linearisations
LONGEST_REST = 200.0  # samples without an edge after which the encoder tells no more about rest
EDGE = 0.3           # share of the samples between two edges that count as one error


@dataclass(frozen=True, kw_only=True)
class FilterOptions:
    """What the model does not know, as shares of each joint's torque limit."""

    drift: float = quantity(0.01, unit='1/sqrt(s)', above=0,
                            text='slow model error: how far it walks in a second')
    torque_noise: float = quantity(2.5e-4, above=0, text='least noise of a torque')
    turning: float = quantity(1.0, low=0, text='share of a change of friction that is unknown '
                              'where a joint starts, stops or turns')


class Innovation(NamedTuple):
    """What one sample brought, and what a torque since an earlier one would have done to it."""

    white: Array         # (n,) standard normal while the model holds
    whitening: Array     # (n, n) W: white = W (y - predicted)
    transition: Array    # (3 n, 3 n) of the prediction error, from sample to sample
    torque_input: Array  # (3 n, n) of a torque over one sample


class CountFilter:
    """Filter of one arm; a pause, NaN or `reset` begins it anew."""

    def __init__(self, model: Arm, drive: Drive, period: float, max_gap: float,
                 options: FilterOptions = FilterOptions()) -> None:   # noqa: B008 (frozen)
        """For a nominal period [s]; pauses longer than `max_gap` [s] are not bridged."""
        self.model, self.drive, self.options = model, drive, options
        self.n, self._period, self._max_gap = model.n, period, max_gap
        joints = list(model.config.joints.values())
        limit = np.array([joint.torque_limit for joint in joints])
        self.torque_scale = limit = np.where(np.isfinite(limit), limit, UNKNOWN_LIMIT)   # [Nm]
        self._drift = (options.drift * limit)**2                 # [Nm^2/s]
        self._white = np.array([_torque_noise(joint, period) for joint in joints])**2
        self._white += (options.torque_noise * limit)**2         # [Nm^2]
        self._sprung = np.array([joint.elastic is not None for joint in joints])
        self._rigid = np.array([joint.drive == 'rigid' for joint in joints])
        self._springs = drive.springs
        self._step = np.array([_encoder_step(joint) for joint in joints])       # [rad]
        self._eye = np.eye(3 * self.n)
        self.reset()

    def reset(self) -> None:
        """Begin anew with the next sample."""
        n = self.n
        self._started = False
        self.x = np.zeros(3 * n)   # q, dq, d
        self._theta, self._friction, self._turning = np.zeros((3, n))
        self._dt, self._age = math.nan, 0.0
        self._P, self._transition = self._eye, self._eye
        self._K, self._input = np.zeros((2, 3 * n, n))
        self._W, self._gain_dq = np.zeros((2, n, n))

    @property
    def q(self) -> Array:
        """[rad] (n,)."""
        return self.x[:self.n]

    @property
    def dq(self) -> Array:
        """[rad/s] (n,)."""
        return self.x[self.n:2 * self.n]

    def step(self, state: ArmState, dt: float) -> Innovation | None:
        """Take the counts of a state, `dt` [s] after the one before; None: there is no prediction.

        Its velocities tell the friction of joints without springs.
        """
        if not (all_finite(state.q, state.theta, state.tau) and 0.0 <= dt < math.inf):
            self._started = False
            return None
        if not self._started or dt > self._max_gap:
            self._begin(state)
            return None
        if dt == 0.0:
            return None
        self._age += dt
        if self._age >= RENEWAL or not abs(dt - self._dt) <= 0.02 * dt:
            self._renew(dt)
        n, x = self.n, self.x
        q, dq = x[:n], x[n:2 * n]
        theta = state.theta
        before, self._theta = self._theta, theta
        torque = self.drive.link_torque(ArmState(
            q, np.where(self._sprung, dq, state.dq), 0.5 * (before + theta),
            (theta - before) / dt, state.tau, state.strain))
        self._friction += min(1.0, dt / TURN) * (state.tau - torque - self._friction)
        self._turning = state.tau - torque - self._friction
        torque -= self.model.bias_torque(q + 0.5 * dt * dq, dq)
        torque += x[2 * n:]
        dq += self._gain_dq @ torque
        q += dt * dq
        error = state.q - q
        x += self._K @ error
        return Innovation(self._W @ error, self._W, self._transition, self._input)

    def _begin(self, state: ArmState) -> None:
        n = self.n
        self.x = np.concatenate([state.q, state.dq, np.zeros(n)])
        self._theta = state.theta
        slope = np.full(n, 0.1)**2   # [rad^2/s^2]
        # The slow error of a new start: what it walks in a second.
        self._P = np.diag(np.concatenate([self._step**2, slope, self._drift]))
        self._friction = state.tau - self.drive.link_torque(state)
        self._turning = np.zeros(n)
        self._started, self._dt = True, math.nan
        self._age = 0.0

    def _renew(self, dt: float) -> None:
        """Matrices of a step of length dt, and covariance and gain nearer to the steady ones.

        Two Riccati steps each time, in Joseph's form, which keeps the covariance positive: it
        settles some periods later than in every sample, on the side of too high a gain.
        """
        n = self.n
        q, dq = self.x[:n].copy(), self.x[n:2 * n].copy()
        K, D = self._springs
        A = np.linalg.inv(self.model.mass_matrix(q) + dt * D + dt**2 * K)
        turning = np.where(self._rigid, self.options.turning * self._turning, 0.0)
        drift = self._drift + turning**2 / TURN
        F = self._eye.copy()
        F[n:2 * n, :n] = -dt * A @ K
        F[n:2 * n, n:2 * n] -= dt * A @ D
        F[n:2 * n, 2 * n:] = dt * A
        F[:n] += dt * F[n:2 * n]
        B = np.zeros((3 * n, n))
        B[n:2 * n] = dt * A
        B[:n] = dt * B[n:2 * n]
        Q = B @ (self._white[:, None] * B.T)
        Q[2 * n:, 2 * n:] += np.diag(drift * dt)
        edges = np.clip(EDGE * self._step / np.maximum(np.abs(dq) * dt, 1e-12), 1.0, LONGEST_REST)
        R = np.diag(self._step**2 / 12.0 * edges)
        P = self._P
        for _ in range(RICCATI_STEPS):
            P = F @ P @ F.T + Q
            S = P[:n, :n] + R
            gain = np.linalg.solve(S, P[:n]).T       # (3 n, n)
            rest = self._eye.copy()
            rest[:, :n] -= gain
            P = rest @ P @ rest.T + gain @ R @ gain.T
        self._P, self._K = P, gain
        self._W = np.linalg.inv(np.linalg.cholesky(S))
        self._transition, self._input = F @ rest, B
        self._gain_dq = B[n:2 * n]
        self._dt, self._age = dt, 0.0


def _encoder_step(joint: JointConfig) -> float:
    """Of the link's own encoder, else of the motor's behind the gear [rad]."""
    if joint.joint_encoder is not None:
        return 2.0 * math.pi / joint.joint_encoder.counts
    return 2.0 * math.pi / (joint.motor_encoder.counts * joint.gear_ratio)


def _torque_noise(joint: JointConfig, period: float) -> float:
    """Of the torque on the link [Nm]: current sensor, or steps of the motor's encoder."""
    if joint.elastic is None:
        return joint.current_sensor.noise * joint.torque_per_ampere
    step = 2.0 * math.pi / (joint.motor_encoder.counts * joint.gear_ratio)
    return (joint.elastic.stiffness + joint.elastic.damping / period) * step / math.sqrt(12.0)
