"""`markers`: residuals, thresholds, contact and force as RViz markers."""

from __future__ import annotations

from dataclasses import dataclass
import sys

from builtin_interfaces.msg import Time
from rclpy.node import Node
from visualization_msgs.msg import MarkerArray

from armsense.model import Arm
from armsense.schema import quantity
from armsense_monitor.arm_history import ArmHistory
from armsense_monitor.feed import Feed
from armsense_monitor.live_feed import LiveFeed
from armsense_monitor.markers import markers
from armsense_node.health import Health, Level
from armsense_node.health_topic import HealthTopic
from armsense_node.loop import PacedLoop, run_node
from armsense_node.parameters import ArmParameters, declare


@dataclass(frozen=True, kw_only=True)
class Settings(ArmParameters):
    """Parameters."""

    rate: float = quantity(20.0, unit='Hz', low=1, high=100, text='of the markers')


class MarkersNode(Node):
    """Draws what the history says."""

    def __init__(self) -> None:
        super().__init__('markers')
        settings = declare(self, Settings)
        self._model = Arm.load(settings.arm)
        self._history = ArmHistory(self._model.joint_names)
        self._live = LiveFeed(self, Feed(self._history))
        self._publisher = self.create_publisher(MarkerArray, 'markers', 1)
        self._shown: float | None = None      # [s] stamp at the last look at the health
        HealthTopic(self, self.health)
        self.loop = PacedLoop(1.0 / settings.rate, self._step)

    def _step(self, tick: int) -> None:
        self._live.drain()
        if self._history.time is None:
            return
        nanoseconds = round(1e9 * self._history.time)
        stamp = Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)
        self._publisher.publish(markers(self._model, self._history, stamp))

    def health(self) -> list[Health]:
        """Of the time since it was last asked."""
        before, self._shown = self._shown, self._history.time
        if self._shown == before:
            return [Health('markers', 'nothing of an arm arrives', Level.WARN)]
        return [Health('markers', 'follow the arm')]


def main() -> int:
    return run_node(MarkersNode)


if __name__ == '__main__':
    sys.exit(main())
