"""The lifecycle that all nodes with a loop share: configure, activate, deactivate, autostart.

rclpy swallows what a transition raises; here it is logged, and with `autostart` it ends the node.
"""

from __future__ import annotations

from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from armsense_core.errors import ArmsenseError
from armsense_driver.health import diagnostics, Health, loop_health

JOIN_TIMEOUT = 2.0         # [s]
DIAGNOSTICS_PERIOD = 1.0   # [s]


class LoopNode(LifecycleNode):
    """Subclasses write `configure` and `make_loop`, and may write `deactivate` and `health`."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.loop: Any = None
        self._failure: BaseException | None = None
        self._diagnostics = self.create_publisher(DiagnosticArray, 'diagnostics', 1)
        self.create_timer(DIAGNOSTICS_PERIOD, self._publish_health)

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
            self.loop = self.make_loop()
        result = self._attempt(activate)
        super().on_activate(state)
        return result

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        loop, self.loop = self.loop, None
        if loop is not None:
            loop.stop()
            loop.join(JOIN_TIMEOUT)
        self.deactivate()
        return super().on_deactivate(state)

    def _publish_health(self) -> None:
        loop = self.loop
        if loop is None:
            return
        message = diagnostics(self.get_name(), [*self.health(),
                                                loop_health(loop.statistics.report())])
        message.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(message)

    def _attempt(self, act: Any) -> TransitionCallbackReturn:
        try:
            act()
        except Exception as error:
            self._failure = error
            if isinstance(error, (ArmsenseError, OSError)):
                self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS
