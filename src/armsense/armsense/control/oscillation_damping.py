"""Inner damping of link oscillations from strain (paper 001, sections 2-3)."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from armsense.control.kinematic_joint import KinematicJoint
from armsense.control.law import Gain
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.schema import quantity
from armsense.types import ArmState, Array, Command, constant, Reference


@dataclass(frozen=True, kw_only=True)
class OscillationDampingGains:
    """Joint position loop, velocity loop and strain feedback."""

    position: Gain = quantity(unit='1/s', low=0, high=200, text='K of the error decay')
    proportional: Gain = quantity(unit='Nm s/rad', low=0, high=1e6)
    integral: Gain = quantity(unit='Nm/rad', low=0, high=1e7)
    strain: Gain = quantity(unit='rad/s', low=0, high=1e5, text='joint velocity per strain')
    mean_time: float = quantity(1.0, unit='s', above=0, text='over which the mean strain is taken')
    brake_time: float = quantity(0.02, unit='s', low=0,
                                 text='after a collision in which strain is not fed back')
    brake_gain: float = quantity(1.0, low=1, high=4,
                                 text='times the proportional gain during that time')


class OscillationDamping(KinematicJoint):
    """dq = dq_d + K (q_d - q) - k_e (strain - static - mean), load and friction fed forward.

    A link that lags behind its joint has positive strain. Slowing the joint by an amount
    proportional to it makes the joint's acceleration proportional to the rate of bending, which is
    a damping force for the link. What gravity and the planned acceleration bend according to the
    model is taken off, and the moving average of the rest, which payload and model error cause:
    the joint gives way to neither. The average alone would lag behind gravity while the arm moves.

    For a moment after a collision the joints only brake: strain is not fed back, and the motors
    are given the load that the gauges measure, so that the swinging links do not drag them on.
    """

    name = 'oscillation_damping'
    Gains = OscillationDampingGains

    def __init__(self, model: Arm, gains: OscillationDampingGains) -> None:
        super().__init__(model, gains)
        if not self.drivetrain.strained.any():
            raise ArmsenseError(f'{self.name} needs strain gauges; {model.name} has none')
        strains = [joint.strain for joint in model.config.joints.values()]
        self._feedback = self.gain('strain').tolist()   # k_e [rad/s]
        self._per_load = [0.0 if s is None else s.surface_distance / s.bending_stiffness
                          for s in strains]             # strain per torque [1/Nm]; 0: no gauge
        self._mean: list[float] | None = None
        self._brake = constant(gains.brake_gain * self.gain('proportional'))
        self._braking = 0.0   # [s] left in which the arm only brakes

    def reset(self, state: ArmState) -> None:
        """Take the present strain as the mean."""
        super().reset(state)
        self._mean = None

    def halt(self, state: ArmState) -> None:
        """First stand, then yield: the mean stays, so the joint gives way to a contact."""
        super().reset(state)
        self._braking = self.gains.brake_time

    def relax(self, state: ArmState) -> None:
        """Without the brake, which feeds the load of the contact forward, and its strain."""
        self.reset(state)

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        """Velocity for the boards and the torque of the load."""
        expected = self.model.inverse_dynamics(state.q, reference.dq, reference.ddq)
        velocity = self.velocity(state, reference)
        yielding = self.yielding(state, expected, dt)
        if self._braking > 0.0:
            self._braking -= dt
            command = self._loop.command(state, velocity, self.load(state, expected), dt)
            return command._replace(kd=self._brake)
        torque = self.drivetrain.with_friction(expected, reference.dq, 1.0)
        velocity = [v - w for v, w in zip(velocity, yielding, strict=True)]
        return self._loop.command(state, velocity, torque, dt)

    def load(self, state: ArmState, expected: Array) -> Array:
        """Torque of the links on the motors [Nm], (n,): by the gauges, else `expected`."""
        assert state.strain is not None
        return np.array([strain / per_load if per_load else tau for per_load, strain, tau in zip(
            self._per_load, state.strain.tolist(), expected.tolist(), strict=True)])

    def yielding(self, state: ArmState, expected: Array, dt: float) -> list[float]:
        """k_e times the strain beyond the expected one and the average [rad/s], n numbers.

        Args:
            state: With strain readings.
            expected: Load by the model [Nm], (n,).
            dt: [s]
        """
        if state.strain is None:
            raise ArmsenseError(f'{self.name} needs strain readings; the state has none')
        share, means, yields = 1.0 - math.exp(-dt / self.gains.mean_time), [], []
        for k, (gain, per_load, strain, tau) in enumerate(zip(
                self._feedback, self._per_load, state.strain.tolist(), expected.tolist(),
                strict=True)):
            bent = strain - tau * per_load if per_load else 0.0
            mean = bent if self._mean is None else self._mean[k]
            mean += share * (bent - mean)
            means.append(mean)
            yields.append(gain * (bent - mean))
        self._mean = means
        return yields
