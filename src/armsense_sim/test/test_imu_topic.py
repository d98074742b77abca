"""The simulated inertial unit as a topic, and the simulator's parameters for the carrier."""

from __future__ import annotations

import numpy as np
import pytest
import rclpy
from sensor_msgs.msg import Imu

from armsense.sim.carrier import Carrier, InertialUnit, STILL
from armsense_node.lockstep import lockstep_qos
from armsense_node.loop import DirectSubscription
from armsense_sim.simulator_node import SimulatorNode


@pytest.fixture
def simulator(tmp_path):
    """Makes a simulator with parameters; it is closed at the end."""
    made = []

    def make(*parameters: str) -> SimulatorNode:
        options = [f'sockets:={tmp_path}', 'lockstep:=true', *parameters]
        rclpy.init(args=['--ros-args', *(word for text in options for word in ('-p', text))])
        made.append(SimulatorNode())
        return made[0]
    yield make
    made[0].close()
    made[0].destroy_node()
    rclpy.shutdown()


def test_the_unit_reports_what_the_plant_feels(simulator):
    node = simulator('imu:=true', 'sway:=2.0', 'tilt:=[0.3, -0.2]', 'seed:=6')
    heard = DirectSubscription(node, Imu, 'imu', lockstep_qos())
    plant, unit = node._plant, InertialUnit(6)
    carrier = Carrier((0.0, 0.0, -9.81), sway=2.0, tilt=(0.3, -0.2), seed=6)
    for k, time in enumerate((0.0, STILL + 0.7), start=1):
        plant.data.time = time
        node._ride(0.001 * k)
        message = heard.wait_oldest(10.0)
        gravity = carrier.gravity(time)
        np.testing.assert_array_equal(plant.model.opt.gravity, gravity)
        force, turn = unit.read(gravity)
        a, w, stamp = (message.linear_acceleration, message.angular_velocity,
                       message.header.stamp)
        np.testing.assert_array_equal([a.x, a.y, a.z, w.x, w.y, w.z], [*force, *turn])
        assert (stamp.sec, stamp.nanosec) == (0, k * 1_000_000)
        assert message.orientation_covariance[0] == -1.0
        assert message.linear_acceleration_covariance[0] == pytest.approx(0.02**2)


def test_the_base_stands_and_no_unit_speaks_unless_asked(simulator):
    node = simulator()
    node._ride(0.001)
    np.testing.assert_array_equal(node._plant.model.opt.gravity, (0.0, 0.0, -9.81))
    assert node.count_publishers('imu') == 0
