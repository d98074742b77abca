"""Changing the law or the model in motion without a jump of torque."""

from __future__ import annotations

import numpy as np

from armsense.types import Array, Command, constant


class Switcher:
    """Adds what the old law gave more than the new one, and lets it fade.

    At the change the torque is that of the old law, `duration` later that of the new one. The
    fade follows 1 - 3 u^2 + 2 u^3 and is prolonged where it would change the torque by more than
    `step` of the limit per cycle.
    """

    def __init__(self, torque_limit: Array, duration: float = 0.3, step: float = 0.02) -> None:
        """Prepare.

        Args:
            torque_limit: [Nm] (n,)
            duration: Of the fade [s].
            step: Largest change of the fading part per cycle, as a fraction of the limit.
        """
        self._limit, self._duration, self._step = torque_limit, duration, step
        self._none = constant(np.zeros(len(torque_limit)))
        self._difference = self._none   # [Nm] (n,)
        self._time = self._length = 0.0

    @property
    def active(self) -> bool:
        return self._time < self._length

    @property
    def bias(self) -> Array:
        """What is added now [Nm], (n,)."""
        if not self.active:
            return self._none
        u = self._time / self._length
        return self._difference * (1.0 - u * u * (3.0 - 2.0 * u))

    def start(self, old_torque: Array, new_torque: Array, dt: float) -> None:
        """Begin a fade between the torques [Nm], (n,) that both give at the same state."""
        self._difference = np.asarray(old_torque - new_torque)
        share = float(np.max(np.abs(self._difference) / self._limit))
        self._length = max(self._duration, 1.5 * share * dt / self._step)
        self._time = 0.0

    def cancel(self) -> None:
        """Drop what is left of a fade; a reaction must not be softened."""
        self._time = self._length = 0.0

    def apply(self, command: Command, dt: float) -> Command:
        """The command with what is left of the fade; advances it by dt [s]."""
        if not self.active:
            return command
        command = command._replace(torque=command.torque + self.bias)
        self._time += dt
        return command
