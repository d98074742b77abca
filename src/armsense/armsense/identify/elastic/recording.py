"""Recordings with encoders on both sides of the springs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from armsense.drive.current_sign import recover_signs
from armsense.drive.elastic_joint import ElasticJoint
from armsense.errors import BadValue
from armsense.identify.signals.filters import Motion, motion, torque_band
from armsense.identify.signals.methods import average_periods
from armsense.identify.signals.recording import find_period, Recording
from armsense.model.arm_config import ArmConfig
from armsense.types import Array

BAND = 1.6         # motion filter over torque filter
SMOOTHING = 0.01   # [rad/s] of the sign


@dataclass(frozen=True)
class ElasticRecording:
    """Samples on a regular clock, motor quantities on the joint side of the gear."""

    t: Array        # [s], (N,)
    theta: Array    # motor angles [rad], (N, n)
    q: Array        # joint angles [rad], (N, n)
    tau: Array      # motor torques [Nm], (N, n)
    name: str = 'recording'
    variance: Array | None = None   # of a mean torque between periods [Nm^2], (n,)

    def __post_init__(self) -> None:
        if self.theta.shape != self.q.shape:
            raise BadValue(f'{self.name}: shape of the motor angles', self.theta.shape,
                           f'{self.q.shape}, as the joint angles')
        self.motor_side(), self.link_side(self.tau)     # they check themselves

    @property
    def rate(self) -> float:
        """[Hz]."""
        return self.motor_side().rate

    @property
    def band(self) -> float:
        """Cut-off of the torque filter [Hz]."""
        return torque_band(self.motor_side())

    def motor_side(self) -> Recording:
        """Motor angles and motor torques."""
        return Recording(self.t, self.theta, self.tau, None, f'{self.name}, motors')

    def link_side(self, tau: Array) -> Recording:
        """Joint angles and torques behind the springs."""
        return Recording(self.t, self.q, tau, None, f'{self.name}, links')

    def motions(self, cutoff: float) -> tuple[Motion, Motion]:
        """Smooth motion of motors and joints."""
        return (motion(self.motor_side(), cutoff), motion(self.link_side(self.tau), cutoff))

    def averaged(self) -> ElasticRecording:
        """The mean of its periods, with the torques' variance (thesis 000, eqs. 4.43-4.46).

        A recording without two whole periods is left as it is.
        """
        period = find_period(self.motor_side())
        if period is None or 2.0 * period > self.t[-1] - self.t[0] + 1.5 / self.rate:
            return self
        both = Recording(self.t, np.hstack([self.theta, self.q]),
                         np.hstack([self.tau, self.tau]), None, self.name)
        mean, n = average_periods(both, period), self.q.shape[1]
        return ElasticRecording(mean.recording.t, mean.recording.q[:, :n],
                                mean.recording.q[:, n:], mean.recording.tau[:, :n], self.name,
                                mean.torque_variance[:, :n].mean(axis=0))

    def with_signs(self, config: ArmConfig) -> ElasticRecording:
        """Torques with the signs that sensors of magnitudes did not tell (thesis 000, 4.3.2).

        The driver of this project knows the signs. In recordings of others the torque that springs
        and rotors of the arm file ask for takes the place of the document's voltage.
        """
        unsigned = [joint.current_sensor.unsigned for joint in config.joints.values()]
        lacking = np.array(unsigned) & ~(np.any(self.tau > 0.0, axis=0)
                                         & np.any(self.tau < 0.0, axis=0))
        if not lacking.any():
            return self
        motors, joints = self.motions(BAND * self.band)
        springs = ElasticJoint.from_config(config)
        inertia = np.array([joint.reflected_inertia for joint in config.joints.values()])
        dry = np.array([joint.friction.coulomb for joint in config.joints.values()])
        expected = (np.array(list(map(springs.spring_torque, motors.q, motors.dq, joints.q,
                                      joints.dq)))
                    + inertia * motors.ddq + dry * np.tanh(motors.dq / SMOOTHING))
        signed = recover_signs(self.tau, expected, 1.0 / self.rate)
        return replace(self, tau=np.where(lacking, signed, self.tau))
