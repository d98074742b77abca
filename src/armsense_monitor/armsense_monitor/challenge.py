"""How lightly can an arm be touched so that it does not notice?"""

from __future__ import annotations

import numpy as np

from armsense_monitor.arm_history import Applied, ArmHistory

TOUCH = 0.2        # [N] of a simulated contact that counts as a touch
APART = 0.3        # [s] without one: the touch is over, felt or not
LATE = 0.2         # [s] after it an event may still tell of it


class Challenge:
    """Follows the touches of a simulated arm; `best` is the strongest that it did not notice."""

    def __init__(self) -> None:
        self.best = 0.0            # [N]
        self.last = ''             # what became of the last touch, in words
        self.peak = 0.0            # [N] of the touch that goes on
        self._since: float | None = None       # [s] stamp
        self._until = 0.0

    def update(self, history: ArmHistory) -> None:
        """Look at the newest state; often enough that no touch begins and ends in between."""
        now, applied = history.time, history.applied
        if now is None:
            return
        if self._since is not None and now < self._since:      # another run
            self._since = None
        if applied is not None and applied.link and now - applied.time < APART:
            self._touched(applied)
        if self._since is not None and now - self._until > APART + LATE:
            self._judge(history)

    def _touched(self, applied: Applied) -> None:
        force = float(np.linalg.norm(applied.force))
        if force < TOUCH:
            return
        if self._since is None:
            self._since, self.peak = applied.time, 0.0
        self._until, self.peak = applied.time, max(self.peak, force)

    def _judge(self, history: ArmHistory) -> None:
        assert self._since is not None
        noticed = [event for event in history.events
                   if self._since <= event.time <= self._until + LATE]
        if noticed:
            after = 1e3 * (noticed[0].time - self._since)
            self.last = f'{self.peak:.1f} N at most: noticed after {after:.0f} ms'
        else:
            self.last = f'{self.peak:.1f} N at most: not noticed'
            self.best = max(self.best, self.peak)
        self._since = None
