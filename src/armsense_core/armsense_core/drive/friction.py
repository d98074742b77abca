"""Joint friction with a smooth sign.

    tau_f(dq) = tanh(dq / v_0) (F_c + F_s exp(-(dq / v_s)^2)) + F_v dq + F_0

Coulomb and viscous part: thesis 004, eqs. 2.6-2.7 and 4.10-4.11; thesis 000, eq. 3.18. The
Stribeck term raises the torque near standstill; the offset F_0 tells the two directions apart.
tanh replaces the sign, whose jump would turn velocity noise at standstill into torque noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armsense_core.errors import BadValue
from armsense_core.model.arm_config import ArmConfig, FrictionConfig

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FrictionModel:
    """Friction of n joints; every field is (n,)."""

    viscous: Array             # F_v [Nm s/rad]
    coulomb: Array             # F_c [Nm]
    stribeck: Array            # F_s [Nm]
    stribeck_velocity: Array   # v_s [rad/s]
    smoothing: Array           # v_0 [rad/s]
    asymmetry: Array           # F_0 [Nm]
    _has_stribeck: bool = field(init=False, repr=False, default=False)

    def __post_init__(self) -> None:
        for name in ('stribeck_velocity', 'smoothing'):
            if not (getattr(self, name) > 0.0).all():
                raise BadValue(f'friction {name}', getattr(self, name).tolist(), '> 0 rad/s')
        object.__setattr__(self, '_has_stribeck', bool(np.any(self.stribeck)))

    @classmethod
    def from_config(cls, config: ArmConfig) -> FrictionModel:
        """Friction as the arm's yaml states it."""
        return cls.from_joints([joint.friction for joint in config.joints.values()])

    @classmethod
    def from_joints(cls, joints: Sequence[FrictionConfig]) -> FrictionModel:
        """One friction block per joint."""
        def column(name: str) -> Array:
            return np.array([getattr(joint, name) for joint in joints], float)
        return cls(column('viscous'), column('coulomb'), column('stribeck'),
                   column('stribeck_velocity'), column('smoothing'), column('asymmetry'))

    def only(self, joints: ArrayLike) -> FrictionModel:
        """The same model with friction in the selected joints alone; `joints` is a mask (n,)."""
        mask = np.asarray(joints, float)
        return FrictionModel(self.viscous * mask, self.coulomb * mask, self.stribeck * mask,
                             self.stribeck_velocity, self.smoothing, self.asymmetry * mask)

    def torque(self, dq: Array) -> Array:
        """Torque that opposes the motion [Nm]; joint velocities (n,) or samples (N, n)."""
        level: Array = self.coulomb
        if self._has_stribeck:
            ratio = dq / self.stribeck_velocity
            level = level + self.stribeck * np.exp(-ratio * ratio)
        return np.asarray(np.tanh(dq / self.smoothing) * level
                          + self.viscous * dq + self.asymmetry)
