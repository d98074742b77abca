"""Joint friction with a smooth sign.

    tau_f(dq, tau) = sgn(dq) (F_c + F_s exp(-(dq / v_s)^2) + F_r sqrt|dq| + F_l |tau|)
                     + dq (F_v + F_q |dq| + F_lv |tau|) + F_0,        sgn(dq) = tanh(dq / v_0)

Coulomb and viscous part: thesis 004, eqs. 2.6-2.7 and 4.10-4.11; thesis 000, eq. 3.18. The
Stribeck term raises the torque near standstill; the offset F_0 tells the two directions apart.
Identification may add terms with the root and the square of the speed and terms that grow with the
torque tau on the link, as teeth and rollers under load do. tanh replaces the sign, whose jump
would turn velocity noise at standstill into torque noise.

Shafts that turn with several joints (a wrist motor that drives two) have friction too: it acts
along a row s of `axes`, tau = s^T tau_f(s dq, s tau).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import BadValue
from armsense.model.arm_config import ArmConfig, FrictionConfig
from armsense.types import Array

SPEEDS = ('stribeck_velocity', 'smoothing')
ITERATIONS = 60    # for loads of coupled shafts; each makes the error smaller by the share of load


def _absent() -> Any:
    return field(default_factory=lambda: np.zeros(1))


@dataclass(frozen=True)
class FrictionModel:
    """Friction of n joints; every field is (n,), or (k,) for the k rows of `axes`."""

    viscous: Array             # F_v [Nm s/rad]
    coulomb: Array             # F_c [Nm]
    stribeck: Array            # F_s [Nm]
    stribeck_velocity: Array   # v_s [rad/s]
    smoothing: Array           # v_0 [rad/s]
    asymmetry: Array           # F_0 [Nm]
    sqrt: Array = _absent()           # F_r [Nm (s/rad)^0.5]
    quadratic: Array = _absent()      # F_q [Nm s^2/rad^2]
    load: Array = _absent()           # F_l [1]
    load_viscous: Array = _absent()   # F_lv [s/rad]
    axes: Array | None = None    # (k, n); None: every joint has its own friction
    _has_stribeck: bool = field(init=False, repr=False, default=False)
    _curved: bool = field(init=False, repr=False, default=False)
    loaded: bool = field(init=False, repr=False, default=False)   # depends on the link's torque

    def __post_init__(self) -> None:
        for name in SPEEDS:
            if not (getattr(self, name) > 0.0).all():
                raise BadValue(f'friction {name}', getattr(self, name).tolist(), '> 0 rad/s')
        object.__setattr__(self, '_has_stribeck', bool(np.any(self.stribeck)))
        object.__setattr__(self, '_curved', bool(np.any(self.sqrt) or np.any(self.quadratic)))
        object.__setattr__(self, 'loaded', bool(np.any(self.load) or np.any(self.load_viscous)))

    @classmethod
    def from_config(cls, config: ArmConfig) -> FrictionModel:
        """Friction as the arm's yaml states it."""
        joints = [joint.friction for joint in config.joints.values()]
        if not config.couplings:
            return cls.from_joints(joints)
        axes = np.vstack([np.eye(config.n), [c.ratios for c in config.couplings]])
        return cls.from_joints([*joints, *(c.friction for c in config.couplings)], axes)

    @classmethod
    def from_joints(cls, joints: Sequence[FrictionConfig],
                    axes: Array | None = None) -> FrictionModel:
        """One friction block per joint, or per row of `axes`, (k, n)."""
        return cls(**{f.name: np.array([getattr(joint, f.name) for joint in joints], float)
                      for f in fields(FrictionConfig)}, axes=axes)

    def only(self, joints: ArrayLike) -> FrictionModel:
        """The same model with friction in the selected joints alone; `joints` is a mask (n,)."""
        mask = np.asarray(joints, float)
        if self.axes is not None:   # a shaft counts where all its joints do
            mask = np.asarray(np.all((self.axes == 0.0) | (mask > 0.0), axis=1), float)
        return replace(self, **{f.name: mask * getattr(self, f.name)
                                for f in fields(FrictionConfig) if f.name not in SPEEDS})

    def torque(self, dq: Array, load: Array | None = None) -> Array:
        """Torque that opposes the motion [Nm] of joints, (n,), or samples, (N, n).

        `load` is the torque on the links [Nm], same shape; None: friction of an unloaded joint.
        """
        if self.axes is None:
            return self._along(dq, load)
        turned = None if load is None else load @ self.axes.T
        return np.asarray(self._along(dq @ self.axes.T, turned) @ self.axes)

    def link_torque(self, motor: Array, dq: Array) -> Array:
        """What is left for the links of the motors' torque [Nm], (n,) or (N, n).

        Solves tau = motor - tau_f(dq, tau): the loaded part shrinks the rest by a known share.
        """
        rest = motor - self.torque(dq)
        if not self.loaded:
            return np.asarray(rest)
        if self.axes is None:
            return np.asarray(rest / (1.0 + np.sign(rest) * self._load_share(dq)))
        tau = rest
        for _ in range(ITERATIONS):
            share = self._load_share(dq @ self.axes.T) * np.abs(tau @ self.axes.T)
            tau = rest - share @ self.axes
        return np.asarray(tau)

    def _along(self, v: Array, load: Array | None) -> Array:
        level: Array = self.coulomb
        slope: Array = self.viscous
        if self._has_stribeck:
            ratio = v / self.stribeck_velocity
            level = level + self.stribeck * np.exp(-ratio * ratio)
        if self._curved:
            speed = np.abs(v)
            level = level + self.sqrt * np.sqrt(speed)
            slope = slope + self.quadratic * speed
        torque = np.tanh(v / self.smoothing) * level + slope * v + self.asymmetry
        if self.loaded and load is not None:
            torque = torque + self._load_share(v) * np.abs(load)
        return np.asarray(torque)

    def _load_share(self, v: Array) -> Array:
        """Friction per torque on the link, same shape as `v`."""
        return np.asarray(self.load * np.tanh(v / self.smoothing) + self.load_viscous * v)
