"""Simulated load cells as the topic `load_cells`, published by the simulator itself."""

from __future__ import annotations

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile

from armsense.errors import ArmsenseError
from armsense.model.arm_config import ArmConfig
from armsense.sim.load_cell_sensors import CellErrors, SimulatedCells
from armsense.sim.plant import Plant
from armsense_msgs.msg import LoadCells
from armsense_node.loop import StreamPublisher


class LoadCellTopic:
    """Reads the plant's base wrench every step and publishes what the cells make of it."""

    def __init__(self, node: Node, config: ArmConfig, seed: int, errors: CellErrors | None = None,
                 qos: QoSProfile | None = None) -> None:
        """Publish for a node.

        Args:
            node: The simulator.
            config: The arm; it must have load cells.
            seed: Of the cells' noise.
            errors: What the cells do to the truth; None: good cells.
            qos: None: best effort.
        """
        if config.load_cells is None:
            raise ArmsenseError(f"{config.arm}: its yaml has no 'load_cells'")
        self.cells = SimulatedCells(config.load_cells, seed, errors or CellErrors())
        self._capacity = config.load_cells.capacity
        self._dt = 1.0 / config.rate
        self._every = max(1, round(config.rate / config.load_cells.rate))
        self._stream = StreamPublisher(node, LoadCells, 'load_cells',
                                       len(config.load_cells.positions), frame_id='base_link',
                                       qos=qos)

    def step(self, plant: Plant, seq: int, now: float) -> None:
        """After a step of the plant; `now` [s] is the stamp, `seq` that of the motor state."""
        force = self.cells.step(plant.base_wrench, self._dt)
        if seq % self._every:
            return
        message = self._stream.message
        message.seq, message.stamp_ns = seq, round(now * 1e9)
        message.force = force
        message.valid = np.abs(force) < self._capacity
        self._stream.publish()
