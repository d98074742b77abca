"""Targets for the tool lead the arm as long as they keep coming."""

from armsense.task import Servo, TaskTarget
from armsense.types import Reference


class ToolLead:
    """Who sends, and whether the arm follows.

    Whoever was stopped (a collision, `hold`, a fault) must be silent before the arm follows again:
    a stream that goes on would drive it straight back.
    """

    def __init__(self, servo: Servo, timeout: float) -> None:
        """Targets older than the timeout [s] count for nothing."""
        self._servo, self._timeout = servo, timeout
        self._offered: TaskTarget | None = None   # written by any thread
        self._target: TaskTarget | None = None
        self._came = -float('inf')                # [s] the controller's time
        self.leads = False
        self.refused = ''                         # why targets are ignored; empty: they are not

    def offer(self, target: TaskTarget) -> None:
        """Follow a target from the next cycle on."""
        self._offered = target

    def look(self, now: float) -> None:
        """Notice what has come until a time [s]."""
        offered, self._offered = self._offered, None
        if offered is not None:
            self._target, self._came = offered, now
        elif self.silent(now):
            self.refused = ''

    def silent(self, now: float) -> bool:
        """No target has come for a while, at a time [s]."""
        return now - self._came > self._timeout

    def waits(self, now: float) -> bool:
        """Somebody sends targets, and the arm could begin to follow them."""
        return not (self.leads or self.refused or self.silent(now))

    def begin(self, motion: Reference) -> None:
        """Lead the arm from a motion on."""
        self._servo.begin(motion)
        self.leads = True

    def stop(self, why: str) -> None:
        """Lead no longer; ignore targets until none has come for a while."""
        self.leads, self.refused = False, why

    def step(self, dt: float) -> Reference:
        """The motion after dt [s] towards the newest target."""
        assert self._target is not None
        return self._servo.step(self._target, dt)
