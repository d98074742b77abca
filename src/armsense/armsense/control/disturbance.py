"""Computed torque that learns what its model lacks while it moves (thesis 004, section 5.4)."""

from dataclasses import dataclass

import numpy as np

from armsense.control.dynamic import ComputedTorque, ComputedTorqueGains
from armsense.model import Arm
from armsense.schema import quantity
from armsense.types import ArmState, Command, Reference


@dataclass(frozen=True, kw_only=True)
class DisturbanceObserverGains(ComputedTorqueGains):
    """Computed torque, and how fast the rest is learnt."""

    bandwidth: float = quantity(unit='1/s', low=0, high=1e3, text='of the disturbance')
    most: float = quantity(0.3, above=0, high=1, text='of the torque limits, that it may add')


class DisturbanceObserver(ComputedTorque):
    """u = computed torque - d, with d = L [p - integral(u + C^T dq - g - friction + d) dt].

    d is the generalised momentum's account of all that the model does not know: wrong masses,
    friction, a load nobody told. A push is that, too: the arm leans against it, with no more than
    `most` of the torque limits, until the collision is felt. What was learnt stays then, for it
    may carry the arm; while the arm lets go of what it presses against it is forgotten.
    """

    name = 'disturbance_observer'
    Gains = DisturbanceObserverGains

    def __init__(self, model: Arm, gains: DisturbanceObserverGains) -> None:
        super().__init__(model, gains)
        self._bound = gains.most * np.minimum(
            model.effort_limits, [j.torque_limit for j in model.config.joints.values()])
        self._disturbance = np.zeros(model.n)   # d [Nm]
        self._account = np.zeros(model.n)       # the integral [Nm s]
        self._momentum_known = False

    def reset(self, state: ArmState) -> None:
        self._disturbance = np.zeros(self.model.n)
        self._momentum_known = False

    def halt(self, state: ArmState) -> None:
        """Keep what was learnt: without it an arm of unknown weight would fall."""
        self._momentum_known = False

    def relax(self, state: ArmState) -> None:
        self.reset(state)

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        command = super().step(state, reference, dt)
        self._learn(state, dt)
        torque = command.torque - self._disturbance
        self._torque_before = self.drivetrain.path.T @ torque
        return command._replace(torque=torque)

    def _learn(self, state: ArmState, dt: float) -> None:
        """Compare the momentum with what the last torque should have made of it."""
        q, dq = self.drivetrain.joint(state.theta), self.drivetrain.joint(state.dtheta)
        momentum = self._dynamics.mass_matrix(q) @ dq
        L = self.gains.bandwidth
        if not self._momentum_known:
            # d goes on from what it is.
            self._account = momentum - self._disturbance / max(L, 1e-9)
            self._momentum_known = True
            return
        rubbing = self.drivetrain.with_friction(self.zero, state.dtheta, self.gains.friction)
        rate = self._torque_before - rubbing + self._dynamics.momentum_rate(q, dq)
        self._account = self._account + dt * (rate + self._disturbance)
        d = L * (momentum - self._account)
        self._disturbance = np.minimum(np.maximum(d, -self._bound), self._bound)
        held = d != self._disturbance                       # no windup beyond the bound
        self._account[held] = (momentum - self._disturbance / max(L, 1e-9))[held]
