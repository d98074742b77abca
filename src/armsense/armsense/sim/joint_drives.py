"""Drives of the joints: rotor inertia, dry friction that holds at standstill, backlash, springs.

MuJoCo solves dry friction as a constraint (`frictionloss`), so a joint under less than the
breakaway torque stays where it is instead of creeping as a smooth sign would let it. With backlash
the joint gets a second, coaxial degree of freedom: the motor's angle and the play between motor
and link.

So has an elastic joint: the motor's angle theta, which carries the rotor's inertia and friction,
and delta = q - theta, which carries the spring. The rotor's inertia acts on theta alone, as
assumption A2 of thesis 000 (section 3.1) has it. A cable that passes another joint stretches by
theta_i - q_i - r q_j: a fixed tendon over those angles, which by itself pulls at joint j as well.
"""

import mujoco

from armsense.model.arm_config import JointConfig

# The softest constraint MuJoCo would accept creeps under load; the stiffest holds to 1e-7 rad/s.
STIFF_IMPEDANCE = (0.9999, 0.9999, 1e-3, 0.5, 2.0)
TIME_CONSTANT = 2e-3   # [s] of the constraints, twice the longest step
PLAY_INERTIA = 4e-2    # of the rotor's: assumed for the gear's output, felt only within the play
STOP_MARGIN = 0.05     # [rad] assumed: how far beyond the URDF's limits the mechanical stops are


def add_motor(joint: mujoco.MjsJoint, config: JointConfig) -> None:
    """Turn a URDF joint into a motor: armature, viscous and dry friction."""
    joint.armature = config.reflected_inertia
    joint.damping = (config.friction.viscous, 0.0, 0.0)
    joint.frictionloss = config.friction.coulomb + config.friction.stribeck
    joint.solimp_friction = STIFF_IMPEDANCE
    joint.solref_friction = (TIME_CONSTANT, 1.0)


def add_rigid_drive(spec: mujoco.MjSpec, joint: mujoco.MjsJoint, config: JointConfig) -> None:
    """Drive a joint without elasticity; with backlash where the yaml has some."""
    add_motor(joint, config)
    if config.backlash == 0.0:
        joint.range = (joint.range[0] - STOP_MARGIN, joint.range[1] + STOP_MARGIN)
        return
    play = add_coaxial(joint, f'{joint.name}_play')
    play.limited = mujoco.mjtLimited.mjLIMITED_TRUE
    play.range = (-0.5 * config.backlash, 0.5 * config.backlash)
    play.solref_limit = (TIME_CONSTANT, 1.0)
    play.solimp_limit = STIFF_IMPEDANCE
    play.armature = PLAY_INERTIA * config.reflected_inertia
    add_link_stop(spec, joint, play, damping=0.0)


def add_coaxial(joint: mujoco.MjsJoint, name: str) -> mujoco.MjsJoint:
    """A second hinge on the same axis: link angle = motor angle + this angle."""
    return joint.parent.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_HINGE,
                                  pos=joint.pos, axis=joint.axis)


def add_link_stop(spec: mujoco.MjSpec, motor: mujoco.MjsJoint, play: mujoco.MjsJoint,
                  damping: float) -> None:
    """Mechanical stops and bearing friction of the link, which turns by motor + play."""
    low, high = motor.range
    motor.limited = mujoco.mjtLimited.mjLIMITED_FALSE
    tendon = spec.add_tendon(name=f'{motor.name}_link', damping=(damping, 0.0, 0.0),
                             limited=mujoco.mjtLimited.mjLIMITED_TRUE,
                             range=(low - STOP_MARGIN, high + STOP_MARGIN))
    tendon.wrap_joint(motor.name, 1.0)
    tendon.wrap_joint(play.name, 1.0)


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
