"""Joint torque from the surface strain of an elastic link.

    tau_J = EI / y_b eps(x_s) + dtau,       dtau = w (L x_s - x_s^2 / 2) + f x_s

Paper 001, eqs. 5-7. Its eqs. 2, 3 and 6 print the loads divided by EI (curvatures); as torques the
factor drops out: the bending moment at x is w (L - x)^2 / 2 + f (L - x) + tau_tip with w the
beam's weight per length across the link and f the force at its tip, and dtau is its difference
between joint and gauge.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from armsense.drive.elastic_joint import no_springs
from armsense.errors import ArmsenseError
from armsense.model.arm import Arm
from armsense.model.arm_config import ArmConfig
from armsense.types import ArmState, Array

NO_MASS = 1e-12   # [kg] a model takes no zero
Offset = Callable[[Array], Array]   # joint positions (n,) -> dtau [Nm], (n,)


class GravityOffset:
    """dtau of a resting arm: what gravity adds between gauge and joint.

    Everything beyond the gauge weighs on it with a lever shorter by x_s; the piece of beam between
    joint and gauge does not weigh on it at all. A link is taken as a uniform beam with a lump at
    either end that together have its mass and centre of mass.
    """

    def __init__(self, model: Arm, config: ArmConfig) -> None:
        """Offsets of an arm whose links bend about their joint's axis."""
        self._model = model
        self._links = model.link_names
        self._levers: list[tuple[int, Arm]] = []
        masses = model.parameters[::10]            # (n,)
        rest = np.zeros(model.n)
        for k, joint in enumerate(config.joints.values()):
            if joint.strain is None:
                continue
            x, L, rho = (joint.strain.gauge_position, joint.strain.length,
                         joint.strain.linear_density)
            R = model.frame_pose(rest, self._links[k])[:3, :3]
            axis = R.T @ model.jacobian(rest, self._links[k])[3:, k]
            along = self._direction(k, axis)
            tip = (model.parameters[10 * k + 1:10 * k + 4] @ along - 0.5 * rho * L * L) / L
            carried = masses[k + 1:].sum() + tip + rho * L            # [kg]
            lever = (carried * x - 0.5 * rho * x * x) * along          # [kg m]
            self._levers.append((k, self._only(k, lever)))

    def __call__(self, q: Array) -> Array:
        """Difference dtau at joint positions q [Nm], (n,)."""
        offset = np.zeros(len(q))
        for k, arm in self._levers:
            offset[k] = arm.gravity_torque(q)[k]
        return offset

    def _only(self, k: int, lever: Array) -> Arm:
        """An arm without weight but for the moment `lever` [kg m] of link k."""
        parameters = np.zeros((self._model.n, 10))
        parameters[:, 0] = NO_MASS
        parameters[k, :4] = 1.0, *lever
        return self._model.replace(parameters=parameters.ravel())

    def _direction(self, k: int, axis: Array) -> Array:
        """Unit vector along link k, towards the next joint or the tool, link axes."""
        rest = np.zeros(self._model.n)
        end = [*self._links[k + 1:k + 2], self._model.tool_frame][0]
        here = self._model.frame_pose(rest, self._links[k])
        span = here[:3, :3].T @ (self._model.frame_pose(rest, end)[:3, 3] - here[:3, 3])
        span = span - (span @ axis) * axis
        length = float(np.linalg.norm(span))
        if length < 1e-9:
            raise ArmsenseError(f'link {self._links[k]!r} has no length across its joint axis, '
                                'so it cannot be a beam with a strain gauge')
        return np.asarray(span / length)


class StrainLink:
    """Elastic links of an arm; joints without a gauge give zero."""

    def __init__(self, gain: ArrayLike, offset: Offset | None = None) -> None:
        """Gains EI / y_b [Nm], (n,), 0 where a joint has no gauge; dtau of the joint positions."""
        self.gain = np.asarray(gain, float)
        self._offset = offset

    @classmethod
    def from_config(cls, config: ArmConfig, model: Arm | None = None) -> StrainLink:
        """Links of an arm; with a model the static part of dtau is known, without it is zero."""
        gain = np.array([0.0 if joint.strain is None else
                         joint.strain.bending_stiffness / joint.strain.surface_distance
                         for joint in config.joints.values()])
        return cls(gain, None if model is None else GravityOffset(model, config))

    def link_torque(self, state: ArmState) -> Array:
        """Load torque at the joint shafts [Nm], (n,)."""
        if state.strain is None:
            raise ArmsenseError('an arm with strain_link drives needs strain readings; got None')
        torque = self.gain * state.strain
        if self._offset is not None:
            torque = torque + self._offset(state.q)
        return np.asarray(torque)

    @property
    def springs(self) -> tuple[Array, Array]:
        """None: the gauge measures the torque, whatever the link does."""
        return no_springs(len(self.gain))

    def strain(self, torque: Array, q: Array) -> Array:
        """Strain under joint torques [Nm] (eq. 7 read backwards), (n,); 0 without a gauge."""
        load = torque if self._offset is None else torque - self._offset(q)
        gain = np.where(self.gain > 0.0, self.gain, np.inf)
        return np.asarray(load / gain)
