"""`force_torque_cells`: a force-torque sensor under the base as the load cells of the arm's yaml.

For Gazebo and for arms that stand on such a sensor: what the cells would feel follows from the
wrench, so `base_reaction` cannot tell the difference.
"""

from __future__ import annotations

from dataclasses import dataclass
import sys

from geometry_msgs.msg import WrenchStamped
import numpy as np

from armsense.base.cell_layout import CellLayout
from armsense.model.arm_config import ArmConfig
from armsense.schema import quantity
from armsense_msgs.msg import LoadCells
from armsense_node.lifecycle import LoopNode
from armsense_node.loop import (
    DirectSubscription,
    ReactiveLoop,
    run_node,
    stream_qos,
    StreamPublisher,
)
from armsense_node.parameters import ArmParameters, declare, LifecycleParameters


@dataclass(frozen=True, kw_only=True)
class Settings(LifecycleParameters, ArmParameters):
    """Parameters."""

    wrench: str = quantity('base/force_torque', text='topic with the wrench that the arm exerts '
                           'on its support, in the base frame')


class ForceTorqueCellsNode(LoopNode):
    """Wrench in, cell forces out."""

    def __init__(self) -> None:
        super().__init__('force_torque_cells')
        self._settings = declare(self, Settings)
        if self._settings.autostart:
            self.autostart()

    def configure(self) -> None:
        config = ArmConfig.load(self._settings.arm)
        layout = CellLayout.of_config(config.load_cells)
        assert config.load_cells is not None
        self._forces = layout.spread @ layout.selection   # cell forces per wrench, (m, 6)
        self._capacity = config.load_cells.capacity
        self._seq = 0
        self._wrench = DirectSubscription(self, WrenchStamped, self._settings.wrench,
                                          stream_qos())
        self._cells = StreamPublisher(self, LoadCells, 'load_cells', len(self._forces),
                                      frame_id='base_link')

    def make_loop(self) -> ReactiveLoop:
        return ReactiveLoop(self._wrench, self._step)

    def _step(self, message: WrenchStamped) -> None:
        f, m = message.wrench.force, message.wrench.torque
        force = self._forces @ np.array([f.x, f.y, f.z, m.x, m.y, m.z])
        self._seq += 1
        out = self._cells.message
        out.seq = self._seq
        out.stamp_ns = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        out.force, out.valid = force, np.abs(force) < self._capacity
        self._cells.publish()


def main() -> int:
    return run_node(ForceTorqueCellsNode)


if __name__ == '__main__':
    sys.exit(main())
