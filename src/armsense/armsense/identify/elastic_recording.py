"""A recorded motion of an arm with elastic joints: encoders on both sides of the springs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armsense.errors import BadValue
from armsense.identify.preprocess import low_pass, Motion, motion, settled
from armsense.identify.recording import Recording
from armsense.types import Array


@dataclass(frozen=True)
class ElasticRecording:
    """Samples on a regular clock, motor quantities on the joint side of the gear."""

    t: Array        # [s], (N,)
    theta: Array    # motor angles [rad], (N, n)
    q: Array        # joint angles [rad], (N, n)
    tau: Array      # motor torques [Nm], (N, n)
    name: str = 'recording'

    def __post_init__(self) -> None:
        if self.theta.shape != self.q.shape:
            raise BadValue(f'{self.name}: shape of the motor angles', self.theta.shape,
                           f'{self.q.shape}, as the joint angles')
        self.motor_side(), self.link_side(self.tau)     # they check themselves

    @property
    def rate(self) -> float:
        """[Hz]."""
        return self.motor_side().rate

    def motor_side(self) -> Recording:
        """Motor angles and motor torques."""
        return Recording(self.t, self.theta, self.tau, None, f'{self.name}, motors')

    def link_side(self, tau: Array) -> Recording:
        """Joint angles and torques behind the springs."""
        return Recording(self.t, self.q, tau, None, f'{self.name}, links')

    def motions(self, cutoff: float) -> tuple[Motion, Motion]:
        """Smooth motion of motors and joints."""
        return (motion(self.motor_side(), cutoff), motion(self.link_side(self.tau), cutoff))


def in_band(x: Array, cutoff: float, rate: float) -> Array:
    """Behind the low-pass, settled, about five samples per period of the cut-off."""
    inside = settled(len(x), cutoff, rate)
    step = max(1, int(rate / (5.0 * cutoff)))
    flat = low_pass(x.reshape(len(x), -1), cutoff, rate)
    return np.asarray(flat.reshape(x.shape)[inside.start:inside.stop:step])
