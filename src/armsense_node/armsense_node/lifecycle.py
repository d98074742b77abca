"""The lifecycle that all nodes with a loop share: configure, activate, deactivate, autostart.

rclpy swallows what a transition raises; here it is logged, and with `autostart` it ends the node.
"""

from __future__ import annotations

from typing import Any

from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from armsense.errors import ArmsenseError
from armsense_node.health import Health, HealthTopic, Level, loop_health
from armsense_node.loop_stream import StreamPublisher

JOIN_TIMEOUT = 10.0   # [s] a driver brakes the arm before its loop ends


class LoopNode(LifecycleNode):
    """Subclasses write `configure` and `make_loop`, and may write `deactivate` and `health`."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.loop: Any = None
        self.answers: StreamPublisher | None = None   # to states; offered while active only
        self._failure: BaseException | None = None
        self._ticks = -1           # of the loop when it was last asked
        HealthTopic(self, self._all_health)

    def configure(self) -> None:
        """Read parameters, make topics."""

    def make_loop(self) -> Any:
        """The loop of the active node."""

    def deactivate(self) -> None:
        """After the loop has ended."""

    def health(self) -> list[Health]:
        """What to tell of the active node beside how its loop keeps time."""
        return []

    def autostart(self) -> None:
        """Configure and activate, or raise what prevented it."""
        for transition in (self.trigger_configure, self.trigger_activate):
            if transition() != TransitionCallbackReturn.SUCCESS:
                raise self._failure or ArmsenseError(f'{self.get_name()} did not start')

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._attempt(self.configure)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        def activate() -> None:
            if self.answers is not None:
                self.answers.open()
            self.loop = self.make_loop()
        result = self._attempt(activate)
        super().on_activate(state)
        return result

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        loop, self.loop = self.loop, None
        if loop is not None:
            loop.stop()
            loop.join(JOIN_TIMEOUT)
        if self.answers is not None:
            self.answers.destroy()
        self.deactivate()
        return super().on_deactivate(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        if self.loop is not None:          # from active: a finalized node must not drive
            self.on_deactivate(state)
        return super().on_shutdown(state)

    def _all_health(self) -> list[Health]:
        loop = self.loop
        if loop is None:
            return []
        report = loop.statistics.report()
        before, self._ticks = self._ticks, report.ticks
        granted = loop.privileges          # None: they were not asked for
        refused = [Health('realtime', granted.explanation, Level.WARN)] \
            if granted is not None and granted.explanation else []
        return [*self.health(), loop_health(report, before), *refused]

    def _attempt(self, act: Any) -> TransitionCallbackReturn:
        try:
            act()
        except Exception as error:
            self._failure = error
            if isinstance(error, (ArmsenseError, OSError)):
                self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS
