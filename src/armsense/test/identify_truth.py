"""A simulated arm whose parameters are known, for the tests of identification."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armsense.identify.signals.recording import Recording
from armsense.model import Arm
from armsense.types import Array


@dataclass(frozen=True)
class Truth:
    """The arm that moves, the nominal one that is known, and the drives."""

    nominal: Arm
    arm: Arm
    viscous: Array
    coulomb: Array
    noise: float = 0.02    # [Nm]
    smoothing: float = 0.01

    def record(self, seed: int, seconds: float = 20.0, rate: float = 200.0,
               velocity: bool = True) -> Recording:
        """A smooth motion of all joints with noise on the torques."""
        rng = np.random.default_rng(seed)
        t = np.arange(0.0, seconds, 1.0 / rate)
        q, dq, ddq = fourier(t, self.arm.n, rng)
        tau = self.torque(q, dq, ddq) + self.noise * rng.standard_normal(q.shape)
        return Recording(t, q, tau, dq if velocity else None, f'run {seed}')

    def torque(self, q: Array, dq: Array, ddq: Array) -> Array:
        return (self.arm.inverse_dynamics_batch(q, dq, ddq) + self.viscous * dq
                + self.coulomb * np.tanh(dq / self.smoothing))


def fourier(t: Array, n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Sum of five harmonics of 0.1 Hz per joint: position, velocity, acceleration, (N, n)."""
    omega = 2.0 * np.pi * 0.1 * np.arange(1, 6)
    phase = np.multiply.outer(t, omega)                              # (N, 5)
    a, b = rng.uniform(-0.5, 0.5, (2, 5, n))
    return (np.cos(phase) @ a + np.sin(phase) @ b,
            (-np.sin(phase) * omega) @ a + (np.cos(phase) * omega) @ b,
            (-np.cos(phase) * omega ** 2) @ a - (np.sin(phase) * omega ** 2) @ b)


def make_truth(gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)) -> Truth:
    """laas4 with masses that differ from the nominal ones, and friction."""
    nominal = Arm.load('laas4').replace(armature=np.zeros(4))
    factor = np.repeat([1.2, 0.9, 1.15, 0.85], 10)
    arm = nominal.replace(parameters=factor * nominal.parameters, gravity=gravity)
    return Truth(nominal, arm, np.array([0.3, 0.25, 0.1, 0.1]), np.array([0.5, 0.4, 0.2, 0.15]))
