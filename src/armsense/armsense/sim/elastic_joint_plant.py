"""Elastic joints: a spring-damper between motor and link, with cable coupling.

A joint has two coaxial degrees of freedom: the motor's angle theta, which carries the rotor's
inertia and friction, and delta = q - theta, which carries the spring. The rotor's inertia acts on
theta alone, as assumption A2 of thesis 000 (section 3.1) has it. A cable that passes another joint
stretches by theta_i - q_i - r q_j: a fixed tendon over those angles, which by itself pulls at
joint j as well.
"""

from __future__ import annotations

import mujoco

from armsense.model.arm_config import JointConfig
from armsense.sim.rigid_plant import add_coaxial, add_link_stop, add_motor


def spring_name(joint: str) -> str:
    """Name of the degree of freedom delta of a joint."""
    return f'{joint}_spring'


def add_elastic_joint(spec: mujoco.MjSpec, joint: mujoco.MjsJoint, config: JointConfig) -> None:
    """Put a spring between the motor and the link of a URDF joint."""
    assert config.elastic is not None
    add_motor(joint, config)
    spring = add_coaxial(joint, spring_name(joint.name))
    if config.elastic.coupled_to is None:
        spring.stiffness = (config.elastic.stiffness, 0.0, 0.0)
        spring.damping = (config.elastic.damping, 0.0, 0.0)
    add_link_stop(spec, joint, spring, config.elastic.link_damping)


def add_cable(spec: mujoco.MjSpec, name: str, config: JointConfig, other_elastic: bool) -> None:
    """Spring of a joint whose cable passes another joint."""
    assert config.elastic is not None
    assert config.elastic.coupled_to is not None
    ratio, other = config.elastic.coupling_ratio, config.elastic.coupled_to
    cable = spec.add_tendon(name=f'{name}_cable', springlength=(0.0, 0.0),
                            stiffness=(config.elastic.stiffness, 0.0, 0.0),
                            damping=(config.elastic.damping, 0.0, 0.0))
    cable.wrap_joint(spring_name(name), -1.0)
    cable.wrap_joint(other, -ratio)
    if other_elastic:
        cable.wrap_joint(spring_name(other), -ratio)
