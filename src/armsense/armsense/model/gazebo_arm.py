"""An arm as Gazebo can simulate it: so the nodes believe in the arm that Gazebo has.

Gazebo's engine (DART through gz-physics, SDF 1.12) knows viscous and dry friction of a joint, but
no rotor inertia: neither SDF nor DART has an armature, mimic joints are not built into gz-physics'
DART, and an inertia of a link counts in its absolute turn. So the reflected inertia J of a rotor
becomes a massless disc on the link that it drives: J about the joint's axis a, and J / 2 across
it, without which the link would be no body (sdformat refuses I_zz > I_xx + I_yy):

    I_link += J / 2 (E + a a^T),        armature = 0

Each joint has its rotor as on the real arm; joints before it feel the disc, too, which on the real
arm they do not.
"""

from dataclasses import replace
import xml.etree.ElementTree as ElementTree

import numpy as np

from armsense.errors import ArmsenseError
from armsense.model.arm import Arm, PARAMETER_NAMES
from armsense.model.arm_config import ArmConfig, FrictionConfig, JointConfig
from armsense.types import Array

GRAVITY = 9.81   # [m/s^2] of config/worlds
UPPER = [('Ixx', 0, 0), ('Ixy', 0, 1), ('Iyy', 1, 1), ('Ixz', 0, 2), ('Iyz', 1, 2), ('Izz', 2, 2)]


def gazebo_arm(arm: Arm) -> Arm:
    """The arm with rotors in its links, plain friction, and the gravity of Gazebo's world.

    Springs and coupled shafts are an error.
    """
    _refuse(arm.config)
    rows = arm.parameters.reshape(arm.n, len(PARAMETER_NAMES))
    axes = _axes(arm)
    for row, rotor, a in zip(rows, arm.armature, axes, strict=True):
        disc = 0.5 * rotor * (np.eye(3) + np.outer(a, a))
        for name, i, j in UPPER:
            row[PARAMETER_NAMES.index(name)] += disc[i, j]
    gravity = GRAVITY * arm.gravity / np.linalg.norm(arm.gravity)
    changed = arm.replace(parameters=rows.ravel(), armature=np.zeros(arm.n), gravity=gravity)
    joints = {name: _plain(joint, speed) for (name, joint), speed in zip(
        arm.config.joints.items(), arm.velocity_limits, strict=True)}
    changed.config = replace(arm.config, joints=joints, gravity=tuple(gravity.tolist()))
    return changed


def _refuse(config: ArmConfig) -> None:
    for name, joint in config.joints.items():
        if joint.elastic is not None:
            raise ArmsenseError(
                f'{config.arm}: Gazebo cannot have it: {name} is driven through a spring. The '
                'effort interface of ros2_control tells one position a joint, the law needs those '
                'of motor and link, and no engine of Gazebo has a spring that follows another '
                'joint (cable coupling). hardware:=sim has them.')
        if joint.strain is not None:
            raise ArmsenseError(
                f'{config.arm}: Gazebo cannot have it: the link behind {name} bends, and its '
                'strain gauge has no topic in ros2_control. hardware:=sim has them.')
    if config.couplings:
        raise ArmsenseError(f'{config.arm}: Gazebo cannot have it: a shaft turns with several '
                            'joints, which its engine does not know')


def _axes(arm: Arm) -> list[Array]:
    """Unit axis of each joint in the frame of the link that it moves, (3,) each."""
    robot = ElementTree.fromstring(arm.urdf)
    found = {joint.get('name'): joint.find('axis') for joint in robot.findall('joint')}
    axes = []
    for name in arm.joint_names:
        axis = found[name]
        xyz = '1 0 0' if axis is None else axis.get('xyz', '1 0 0')
        values = np.array([float(word) for word in xyz.split()])
        axes.append(values / np.linalg.norm(values))
    return axes


def _plain(joint: JointConfig, speed: float) -> JointConfig:
    """The joint without rotor and play, its friction as near as damping and dry friction come."""
    return replace(joint, rotor_inertia=0.0, backlash=0.0,
                   friction=_plain_friction(joint.friction, speed))


def _plain_friction(friction: FrictionConfig, speed: float) -> FrictionConfig:
    """Least squares over speeds up to the limit [rad/s], neither part below zero."""
    if friction.plain and friction.viscous >= 0.0 and friction.coulomb >= 0.0:
        return FrictionConfig(viscous=friction.viscous, coulomb=friction.coulomb,
                              smoothing=friction.smoothing)
    from scipy.optimize import nnls  # seldom needed, slow to import
    v = np.linspace(0.02, 1.0, 50) * (speed if np.isfinite(speed) and speed > 0.0 else 1.0)
    torque = (friction.coulomb + friction.stribeck * np.exp(-(v / friction.stribeck_velocity)**2)
              + friction.sqrt * np.sqrt(v) + friction.quadratic * v**2 + friction.viscous * v)
    (viscous, coulomb), _ = nnls(np.column_stack([v, np.ones_like(v)]), torque)
    return FrictionConfig(viscous=float(viscous), coulomb=float(coulomb),
                          smoothing=friction.smoothing)
