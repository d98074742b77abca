"""Simulated cells as a topic."""

from __future__ import annotations

import numpy as np
import pytest
import rclpy
from rclpy.context import Context
from rclpy.node import Node

from armsense.errors import ArmsenseError
from armsense.model import ArmConfig
from armsense.sim import make_plant
from armsense.sim.sensors import CellErrors, SimulatedCells
from armsense_msgs.msg import LoadCells
from armsense_node.loop import event_qos, StreamSubscription
from armsense_sim.sensor_topics import LoadCellTopic


@pytest.fixture
def node():
    context = Context()
    rclpy.init(context=context)
    node = Node('simulator', context=context)
    yield node
    node.destroy_node()
    rclpy.shutdown(context=context)


def test_cells_carry_the_plant_and_repeat_the_seq(node):
    config = ArmConfig.load('laas4')
    plant = make_plant(config)
    heard = StreamSubscription(node, LoadCells, 'load_cells', 4, qos=event_qos())
    topic = LoadCellTopic(node, config, 1, event_qos())
    topic.cells = SimulatedCells(config.load_cells, 1, CellErrors(noise=0.0, bits=32))
    message = None
    for seq in range(1, 2000):
        topic.step(plant, seq, 0.001 * seq)
        message = heard.wait(0.05)
        if message is not None:
            break
    assert message is not None
    assert message.seq == seq
    assert message.stamp_ns == seq * 1_000_000
    assert np.sum(message.force) == pytest.approx(-plant.base_wrench[2], rel=1e-6)
    assert list(message.valid) == [True] * 4
    topic.cells.fail('unplugged', 2)
    topic.step(plant, seq + 1, 0.1)
    assert list(heard.wait(5.0).valid) == [True, True, False, True]


def test_an_arm_without_cells_is_refused(node):
    with pytest.raises(ArmsenseError, match="no 'load_cells'"):
        LoadCellTopic(node, ArmConfig.load('biorob'), 1, event_qos())
