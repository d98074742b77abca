"""Contacts that last: which joints are loaded, since when, and how much of it is known.

The channels are joints here; for the load cells they are the axes of the base wrench.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np
from numpy.typing import ArrayLike

from armsense.types import Array, Flags


class LastingContacts:
    """Per joint: free, or in contact at a level of the residual that has been reported.

    The level rises with an event and while that settles, and falls with the residual. What
    exceeds it by a threshold is therefore always new, however slowly it came. An arm that is
    pushed hard shakes, most of all when it is let go: beside a high level it takes more.
    """

    def __init__(self, n: int, settle_time: float, release_time: float, fall_time: float,
                 shake: float) -> None:
        """All joints are free; times [s] and share are those of `DetectorOptions`."""
        self._settle, self._release, self._fall = settle_time, release_time, fall_time
        self._shake = shake
        self.lasting: Flags = np.zeros(n, bool)
        self.any = False              # some joint is in contact
        self.level = np.zeros(n)      # [Nm] signed, (n,); 0 where a joint is free
        self._since = np.zeros(n)     # [s] when each contact began
        self._quiet = np.zeros(n)     # [s] below the level of release
        self._settled_at = -math.inf  # [s]

    def explained(self, residual: Array, threshold: Array) -> Array:
        """Size of the residual that is nothing new [Nm], (n,); of the other sign: shaking only."""
        size = np.abs(self.level)
        shaking = self._shake * float((size / threshold).max()) * threshold
        return np.where(residual * self.level > 0.0, size, 0.0) + shaking

    def settling(self, time: float) -> bool:
        """Whether what comes now [s] is still the contact of the last event."""
        return self.any and time < self._settled_at

    def since(self, time: float) -> float:
        """How long the oldest contact has lasted at a time [s]; 0 where there is none."""
        return time - float(self._since[self.lasting].min()) if self.any else 0.0

    def begin(self, time: float) -> None:
        """An event: for a while all that follows is the same contact."""
        self._settled_at = time + self._settle

    def load(self, joints: Flags, residual: Array, time: float) -> None:
        """These joints are in contact from now on, at this residual."""
        self._since = np.where(joints & ~self.lasting, time, self._since)
        self._quiet = np.where(joints, 0.0, self._quiet)
        self.level = np.where(joints, residual, self.level)
        self.lasting = self.lasting | joints
        self.any = True

    def step(self, residual: Array, quiet: Flags, time: float, dt: float) -> None:
        """Let levels follow and release the joints that have been quiet for long enough."""
        if not self.any:
            return
        grown = residual * self.level >= self.level**2    # of the same sign, and no smaller
        share = min(1.0, dt / self._fall) if self._fall > 0.0 else 1.0
        level = self.level + np.where(grown, 0.0, share) * (residual - self.level)
        if self.settling(time):
            level = np.where(np.abs(residual) > np.abs(self.level), residual, level)
        self._quiet = np.where(quiet, self._quiet + dt, 0.0)
        self.lasting = self.lasting & (self._quiet < self._release)
        self.level = np.where(self.lasting, level, 0.0)
        self.any = bool(self.lasting.any())


def lasting_text(names: Sequence[str], lasting: ArrayLike, seconds: float) -> str:
    """Such as 'contact lasts on joint2, for 3.2 s now'; empty where nothing lasts.

    Args:
        names: Of the joints or axes.
        lasting: Those in contact, (n,).
        seconds: How long the oldest of these contacts has lasted.
    """
    loaded = [name for name, flag in zip(names, np.asarray(lasting), strict=True) if flag]
    return f'contact lasts on {", ".join(loaded)}, for {seconds:.1f} s now' if loaded else ''
