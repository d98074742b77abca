"""Small arms whose behaviour can be written down by hand."""

import dataclasses

import numpy as np
import pytest

from armsense.model import ArmConfig, JointConfig
from armsense.model.arm_config import FrictionConfig

PENDULUM = """<robot name="pendulum">
  <link name="base_link"/>
  <joint name="joint1" type="revolute">
    <parent link="base_link"/><child link="link1"/>
    <origin xyz="0 0 0.5" rpy="1.5707963267948966 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-6" upper="6" velocity="10" effort="100"/>
  </joint>
  <link name="link1">
    <inertial><origin xyz="0.4 0 0"/><mass value="1.0"/>
      <inertia ixx="1e-4" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
    <collision><origin xyz="0.4 0 0"/><geometry><sphere radius="0.05"/></geometry></collision>
  </link>
  <joint name="tool_joint" type="fixed">
    <parent link="link1"/><child link="tool"/><origin xyz="0.4 0 0"/>
  </joint>
  <link name="tool"/>
</robot>"""
PENDULUM_INERTIA = 0.01 + 1.0 * 0.4**2   # [kg m^2] about the joint


@pytest.fixture
def pendulum(tmp_path):
    """Makes a one-joint arm: mass 1 kg at 0.4 m; z of the joint points along -y of the world."""
    path = tmp_path / 'pendulum.urdf'
    path.write_text(PENDULUM)

    def make(gravity=(0.0, 0.0, -9.81), **joint):
        settings = {'drive': 'rigid', 'gear_ratio': 10.0, 'torque_constant': 0.1,
                    'current_limit': 20.0, **joint}
        return ArmConfig(arm='pendulum', title='', urdf=str(path), gravity=gravity,
                         joints={'joint1': JointConfig(**settings)})
    return make


def frictionless(config, **changes):
    """The same arm without friction in its drives."""
    joints = {}
    for name, joint in config.joints.items():
        elastic = joint.elastic and dataclasses.replace(joint.elastic, damping=0.0,
                                                        link_damping=0.0)
        strain = joint.strain and dataclasses.replace(joint.strain, damping_ratio=0.0)
        joints[name] = dataclasses.replace(joint, friction=FrictionConfig(), backlash=0.0,
                                           elastic=elastic, strain=strain)
    return dataclasses.replace(config, joints=joints, **changes)


@pytest.fixture
def without_friction():
    return frictionless


@pytest.fixture
def run():
    """Lets a plant run under a constant torque or a law of its state; returns the states."""
    def advance(plant, torque, seconds, dt=1e-3):
        states = []
        for _ in range(round(seconds / dt)):
            value = torque(plant.state) if callable(torque) else torque
            plant.step(np.asarray(value, float), dt)
            states.append(plant.state)
        return states
    return advance
