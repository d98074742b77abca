"""Independent joints, closed on the boards through their gains (thesis 004, eqs. 4.4-4.5)."""

from dataclasses import dataclass

import numpy as np

from armsense.control.law import Gain, Law
from armsense.model import Arm
from armsense.schema import quantity
from armsense.types import ArmState, Command, Reference


@dataclass(frozen=True, kw_only=True)
class PiVelocityGains:
    """PI on the velocity error."""

    proportional: Gain = quantity(unit='Nm s/rad', low=0, high=1e6)
    integral: Gain = quantity(unit='Nm/rad', low=0, high=1e7)


class PiVelocity(Law):
    """PI velocity control.

    The integral of the velocity error is the position error, so the board's position gain is the
    integral gain and its velocity gain the proportional one (eq. 4.5). A reaction begins with the
    position error at zero; what it had carried of the arm is fed forward from then on.
    """

    name = 'pi_velocity'
    Gains = PiVelocityGains

    def __init__(self, model: Arm, gains: PiVelocityGains) -> None:
        super().__init__(model, gains)
        self._kp, self._kd = self.gain('integral'), self.gain('proportional')
        self._carried = self.zero   # [Nm] since the last reaction began

    def reset(self, state: ArmState) -> None:
        """Carry nothing but by the position error."""
        self._carried = self.zero

    def halt(self, state: ArmState) -> None:
        """Go on to carry the arm."""
        self._carried = self.weight(state)

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        motor = self.drivetrain.motor
        return Command(motor(reference.q), motor(reference.dq), self._carried, self._kp,
                       self._kd, self.zero)


@dataclass(frozen=True, kw_only=True)
class PidPositionGains:
    """PID on the position error."""

    kp: Gain = quantity(unit='Nm/rad', low=0, high=1e7)
    ki: Gain = quantity(unit='Nm/(rad s)', low=0, high=1e8)
    kd: Gain = quantity(unit='Nm s/rad', low=0, high=1e6)
    integral_limit: float = quantity(0.5, low=0, high=1,
                                     text='of the integral torque, per torque limit')


class PidPosition(Law):
    """PID position control (eq. 4.4).

    Boards that integrate (profile laas_inhouse) get the integral gain; for all others the host
    integrates and sends the torque.
    """

    name = 'pid_position'
    Gains = PidPositionGains

    def __init__(self, model: Arm, gains: PidPositionGains) -> None:
        super().__init__(model, gains)
        self._kp, self._ki, self._kd = self.gain('kp'), self.gain('ki'), self.gain('kd')
        boards = model.config.boards
        self.integrates_on_board = boards is not None and boards.protocol == 'laas_inhouse'
        self._limit = gains.integral_limit * model.effort_limits   # [Nm]
        self._rows = list(zip(self._ki.tolist(), self._limit.tolist(), strict=True))
        self._integral = [0.0] * model.n                           # [Nm] host integral
        self._carried = self.zero                                  # [Nm] instead of the board's
        self._drop = False                                         # the board's integral

    def reset(self, state: ArmState) -> None:
        self._integral = [0.0] * self.model.n
        self._carried, self._drop = self.zero, True

    def halt(self, state: ArmState) -> None:
        """Keep of the integral what carries the arm."""
        weight = self.weight(state)
        self._integral = np.clip(weight, -self._limit, self._limit).tolist()
        self._carried, self._drop = weight, True

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        position = self.drivetrain.motor(reference.q)
        velocity = self.drivetrain.motor(reference.dq)
        if self.integrates_on_board:
            ki = self.zero if self._drop else self._ki   # without a gain a board forgets
            self._drop = False
            return Command(position, velocity, self._carried, self._kp, self._kd, ki)
        self._integral = [
            min(max(wound + ki * (p - x) * dt, -limit), limit)
            for wound, p, x, (ki, limit) in zip(self._integral, position.tolist(),
                                                state.theta.tolist(), self._rows, strict=True)]
        return Command(position, velocity, np.array(self._integral), self._kp, self._kd,
                       self.zero)
