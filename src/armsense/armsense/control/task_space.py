"""Laws that close the loop at the tool: PD, impedance, force along a direction.

The reference of the tool is where the joints' reference has it, so goals, limits and reactions
stay those of the joints. Rows and gains are those of `TaskKinematics`: metres, rotations times
`LENGTH`. What the task leaves free follows the joints' reference with `posture`.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from armsense.control.law import Gain, Law
from armsense.model import Arm
from armsense.schema import quantity, spread
from armsense.task import TaskKinematics
from armsense.types import ArmState, Array, Command, Press, Reference, torque_command

REGULAR = 1e-9    # [m^2/rad^2] so that a singular pose can be solved
LIGHTEST = 1e-3   # [1/kg] of the tool's mobility: near a singularity its mass has no bound


@dataclass(frozen=True, kw_only=True)
class TaskPdGains:
    """PD on the error of the tool."""

    stiffness: Gain = quantity(unit='N/m', low=0, high=1e6, text='one per direction, or one')
    damping: Gain = quantity(unit='N s/m', low=0, high=1e5)
    posture: Gain = quantity(unit='Nm/rad', low=0, high=1e6, text='of the motion that is free')
    posture_damping: Gain = quantity(unit='Nm s/rad', low=0, high=1e5)
    friction: float = quantity(0.8, low=0, high=1, text='fraction of friction fed forward')
    directions: tuple[str, ...] = quantity((), text='of x y z rx ry rz; empty: as many as the arm '
                                                    'can serve')


class TaskPd(Law):
    """u = g(q) + J^T [K_P e + K_D de] + free motion + friction(dq_d), e and de of the tool.

    Thesis 004, eq. 2.14 with the error taken at the tool (section 2.6).
    """

    name = 'task_pd'
    Gains: ClassVar[type] = TaskPdGains

    def __init__(self, model: Arm, gains: TaskPdGains) -> None:
        super().__init__(model, gains)
        self.kinematics = TaskKinematics(model, gains.directions)
        m = len(self.kinematics.directions)
        self._K = np.diag(spread(f'{self.name}.stiffness', gains.stiffness, m))
        self._D = np.diag(spread(f'{self.name}.damping', gains.damping, m))
        self._posture, self._drag = self.gain('posture'), self.gain('posture_damping')

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        error, J = self._error(state, reference)
        velocity = self._velocity(state, reference, J)
        force = self._K @ error + self._damping(state, J) @ velocity
        torque = self._ahead(state, reference) + J.T @ force + self._free(state, reference, J)
        torque = self.drivetrain.with_friction(torque, reference.dq, self.gains.friction)
        return torque_command(state, self.drivetrain.motor_torque(torque), self.zero)

    def _error(self, state: ArmState, reference: Reference) -> tuple[Array, Array]:
        return self.kinematics.error(state.q, self.kinematics.pose(reference.q))

    def _velocity(self, state: ArmState, reference: Reference, J: Array) -> Array:
        """Rate of the error [m/s], (m,)."""
        return np.asarray(J @ (reference.dq - state.dq))

    def _damping(self, state: ArmState, J: Array) -> Array:
        return self._D

    def _ahead(self, state: ArmState, reference: Reference) -> Array:
        """Torque that needs no error [Nm], (n,)."""
        return self.model.gravity_torque(state.q)

    def _free(self, state: ArmState, reference: Reference, J: Array) -> Array:
        """Torque of the joints' own errors that does nothing to the tool at rest [Nm], (n,)."""
        torque = (self._posture * (reference.q - state.q)
                  + self._drag * (reference.dq - state.dq))
        square = J @ J.T
        square.flat[::len(square) + 1] += REGULAR
        return np.asarray(torque - J.T @ np.linalg.solve(square, J @ torque))


@dataclass(frozen=True, kw_only=True)
class CartesianImpedanceGains(TaskPdGains):
    """What a hand feels at the tool."""

    damping: Gain = quantity((1.0,), unit='1', low=0, high=5, text='ratio, one per direction or '
                             'one: 1 is critical')


class CartesianImpedance(TaskPd):
    """Lambda(q) dde + D de + K e = F_ext at the tool, its inertia left as it is.

    D is designed from the tool's mass Lambda = (J M^-1 J^T)^-1 by double diagonalisation
    (Albu-Schaeffer et al. 2003): Q Q^T = Lambda, Q K_0 Q^T = K, D = 2 Q zeta sqrt(K_0) Q^T. So
    each of its modes has the damping ratio asked for, in every pose.
    """

    name = 'cartesian_impedance'
    Gains: ClassVar[type] = CartesianImpedanceGains

    def __init__(self, model: Arm, gains: CartesianImpedanceGains) -> None:
        super().__init__(model, gains)
        self._ratio = self._D.diagonal()
        self.set_model(model)

    def set_model(self, model: Arm) -> None:
        """Go on with other inertias; rotors that the links carry along count with them."""
        super().set_model(model)
        self._dynamics = model.replace(armature=model.armature + self.drivetrain.rotor)

    def _damping(self, state: ArmState, J: Array) -> Array:
        mobility = J @ np.linalg.solve(self._dynamics.mass_matrix(state.q), J.T)
        mobility.flat[::len(mobility) + 1] += LIGHTEST
        L = np.linalg.cholesky(np.linalg.inv(mobility))
        half = np.linalg.solve(L, self._K)
        k, V = np.linalg.eigh(np.linalg.solve(L, half.T))
        Q = L @ V
        return np.asarray(2.0 * (Q * (self._ratio * np.sqrt(np.maximum(k, 0.0)))) @ Q.T)

    def _ahead(self, state: ArmState, reference: Reference) -> Array:
        return self._dynamics.inverse_dynamics(state.q, state.dq, reference.ddq)


@dataclass(frozen=True, kw_only=True)
class ForceGains(CartesianImpedanceGains):
    """Impedance, and how the tool is led to a force."""

    drag: float = quantity(40.0, unit='N s/m', above=0, high=1e5, text='an error of the force '
                           'moves the tool at that error over it')
    approach: float = quantity(0.04, unit='m/s', above=0, high=1, text='and no faster')
    reach: float = quantity(0.05, unit='m', above=0, high=1, text='from its reference at most')


class Force(CartesianImpedance):
    """The tool presses along one direction with a force and is led along the others.

    While a goal asks for `Press`, the reference moves along its direction with v = (f_d - f) /
    drag, at most `approach`, f from the external torque of the collision observer. So a tool that
    touches nothing approaches, one in contact ends with the force that was asked for, and an
    uneven surface moves it. The impedance softens what the force loop is too slow for. Without a
    force to measure the tool stays where it is.
    """

    name = 'force'
    Gains: ClassVar[type] = ForceGains

    def __init__(self, model: Arm, gains: ForceGains) -> None:
        super().__init__(model, gains)
        self._way = 0.0                      # [m] from the reference, along the direction
        self._felt: Array | None = None
        self.force: float | None = None      # [N] that the tool presses with, as it seems

    def feel(self, residual: Array | None) -> None:
        self._felt = residual

    def reset(self, state: ArmState) -> None:
        self._way, self._felt, self.force = 0.0, None, None

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        self._lead(state, reference.press, dt)
        return super().step(state, reference, dt)

    def _lead(self, state: ArmState, press: Press | None, dt: float) -> None:
        """Advance the way along the direction by dt [s]; without one, back to the reference."""
        gains: ForceGains = self.gains
        self._press = press
        if press is None:
            self.force = None
            back = dt * gains.approach
            self._way -= min(max(self._way, -back), back)
        elif self._felt is not None:
            self.force = pressed_force(self.model, state.q, self._felt, press.direction)
            speed = (press.force - self.force) / gains.drag
            way = self._way + dt * min(max(speed, -gains.approach), gains.approach)
            self._way = min(max(way, -gains.reach), gains.reach)
        if press is not None:
            self._direction = press.direction

    def _error(self, state: ArmState, reference: Reference) -> tuple[Array, Array]:
        pose = self.kinematics.pose(reference.q)
        if self._way:
            pose = pose._replace(position=pose.position + self._way * self._direction)
        return self.kinematics.error(state.q, pose)


def pressed_force(model: Arm, q: Array, residual: Array, direction: Array) -> float:
    """Force with which the tool presses along a unit vector [N], from the external torque [Nm]."""
    J = model.tool_kinematics(q)[1]
    return -float(direction @ np.linalg.lstsq(J.T, residual, rcond=1e-2)[0])
