"""Simulated arms that follow a motion: the recordings behind the tables.

The plants are MuJoCo's; the controllers here only have to keep the arm near the motion. What is
recorded are the true positions and the torque that the motors gave. Velocities are differences of
positions: those of the integrator belong half a step earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import dataclasses
from pathlib import Path
import tempfile
from typing import NamedTuple
import xml.etree.ElementTree as ElementTree

import numpy as np

from armsense.drive.elastic_joint import ElasticJoint
from armsense.model import Arm, ArmConfig
from armsense.sim.mujoco_plant import MujocoPlant
from armsense.trajectory.reference import Samples
from armsense.types import Array

Law = Callable[[int, Array, Array, Array, Array], Array]   # sample, q, dq, motor, dmotor -> tau

BANDWIDTH = 30.0     # [rad/s] of the position loop
SMOOTHING = 0.02     # [rad/s] of the friction that is fed forward
FINE = 1.25e-4       # [s] longest step: implicit damping looks like inertia at longer ones


class Run(NamedTuple):
    """A driven motion, N samples; all (N, n) but the time."""

    t: Array            # [s], (N,)
    q: Array            # joint angle [rad]
    dq: Array           # [rad/s]
    motor: Array        # motor angle, joint side [rad]
    dmotor: Array       # [rad/s]
    tau: Array          # motor torque, joint side [Nm]
    strain: Array       # [1]


def drive_rigid(plant: MujocoPlant, model: Arm, motion: Samples) -> Run:
    """Computed torque with friction fed forward; `motion` is on the clock of the controller."""
    friction = [joint.friction for joint in plant.config.joints.values()]
    viscous = np.array([f.viscous for f in friction])
    coulomb = np.array([f.coulomb for f in friction])
    plant.reset(motion.q[0])

    def law(k: int, q: Array, dq: Array, _: Array, __: Array) -> Array:
        a = (motion.ddq[k] + 2.0 * BANDWIDTH * (motion.dq[k] - dq)
             + BANDWIDTH**2 * (motion.q[k] - q))
        return np.asarray(model.inverse_dynamics(q, dq, a) + viscous * motion.dq[k]
                          + coulomb * np.tanh(motion.dq[k] / SMOOTHING))
    return run_law(plant, motion.t, law)


def drive_elastic(plant: MujocoPlant, model: Arm, motion: Samples) -> Run:
    """Motors led along the angles that the springs need (thesis 000, eq. 3.28)."""
    config = plant.config
    springs = ElasticJoint.from_config(config)
    dt = float(motion.t[1] - motion.t[0])
    load = model.inverse_dynamics_batch(motion.q, motion.dq, motion.ddq)
    load = load + springs.link_damping * motion.dq
    spring = np.linalg.solve((np.eye(model.n) + springs.coupling).T, load.T).T
    goal = motion.q @ (np.eye(model.n) + springs.coupling).T + spring / springs.stiffness
    speed = np.gradient(goal, dt, axis=0)
    rotor = np.array([joint.reflected_inertia for joint in config.joints.values()])
    coulomb = np.array([joint.friction.coulomb for joint in config.joints.values()])
    forward = (rotor * np.gradient(speed, dt, axis=0) + spring
               + coulomb * np.tanh(speed / SMOOTHING))
    plant.reset(motion.q[0])

    def law(k: int, _: Array, __: Array, motor: Array, dmotor: Array) -> Array:
        error, rate = goal[k] - motor, speed[k] - dmotor
        return np.asarray(forward[k] + rotor * (2.0 * BANDWIDTH * rate + BANDWIDTH**2 * error)
                          + springs.stiffness * error)
    return run_law(plant, motion.t, law)


def run_law(plant: MujocoPlant, times: Array, law: Law) -> Run:
    n, dt = plant.n, float(times[1] - times[0])
    plant.longest_step = min(plant.longest_step, FINE)
    out = [np.empty((len(times), n)) for _ in range(3)]
    torque = np.empty((len(times) + 1, n))
    torque[0] = plant.holding_torque
    for k in range(len(times)):
        state = plant.state
        q, motor = state.joint_position, state.motor_position
        for values, reading in zip(out, (q, motor, state.strain), strict=True):
            values[k] = reading
        torque[k + 1] = law(k, q, state.joint_velocity, motor, state.motor_velocity)
        plant.step(torque[k + 1], dt)
    # A torque is held over several steps of the plant; its middle lies behind the sample.
    steps = np.ceil(dt / plant.longest_step - 1e-9)
    late = 0.5 * (steps - 1.0) / steps
    tau = (1.0 - late) * torque[1:] + late * torque[:-1]
    q, motor, strain = out
    dq, dmotor = (np.asarray(np.gradient(x, dt, axis=0)) for x in (q, motor))
    return Run(times, q, dq, motor, dmotor, tau, strain)


def changed_arm(config: ArmConfig, links: Mapping[str, Mapping[str, str | float]],
                folder: Path | None = None) -> ArmConfig:
    """The arm with other inertials, as a URDF of its own.

    Args:
        config: The arm.
        links: By link: `xyz` of the centre of mass as text, `mass` as a factor on mass and
            inertia, `inertia` as another factor on the inertia.
        folder: Where the URDF goes; None: a temporary one.
    """
    tree = ElementTree.fromstring(Arm.load(config).urdf)
    for name, change in links.items():
        inertial = tree.find(f"link[@name='{name}']/inertial")
        assert inertial is not None
        if 'xyz' in change:
            inertial.find('origin').set('xyz', str(change['xyz']))   # type: ignore[union-attr]
        mass = float(str(change.get('mass', 1.0)))
        _scale(inertial, 'mass', mass)
        _scale(inertial, 'inertia', float(str(change.get('inertia', mass))))
    path = (folder or Path(tempfile.mkdtemp())) / f'{config.arm}_truth.urdf'
    path.write_text(ElementTree.tostring(tree, encoding='unicode'))
    return dataclasses.replace(config, urdf=str(path))


def _scale(inertial: ElementTree.Element, tag: str, factor: float) -> None:
    element = inertial.find(tag)
    assert element is not None
    for key, value in element.attrib.items():
        element.set(key, str(factor * float(value)))
