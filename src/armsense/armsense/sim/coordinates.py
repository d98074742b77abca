"""Between MuJoCo's coordinates and what an arm shows: motors, joints, strains."""

from typing import NamedTuple

import mujoco
import numpy as np

from armsense.sim.arm_spec import ArmSpec
from armsense.types import Array

TOUCHING = 1e-7   # [rad] tooth flanks in contact


class PlantState(NamedTuple):
    """True state of an arm, joint side of the gear, (n,) each."""

    time: float              # [s]
    motor_position: Array    # [rad]
    motor_velocity: Array    # [rad/s]
    joint_position: Array    # [rad] link side of the drive
    joint_velocity: Array    # [rad/s]
    strain: Array            # [1] at the gauges; 0 where a link has none


class Readings(NamedTuple):
    """What the sensors of an arm meet, (n,) each; plain floats, which emulated boards take."""

    motor_position: list[float]    # [rad]
    motor_velocity: list[float]    # [rad/s]
    joint_position: list[float]    # [rad]
    strain: list[float]            # [1]


class Coordinates:
    """Where the degrees of freedom of an arm are; the same for every compilation of it."""

    def __init__(self, arm: ArmSpec, model: mujoco.MjModel) -> None:
        """Look up the joints of an arm that stands alone in its model."""
        self.n, self.nq = arm.config.n, model.nq
        index = {model.joint(k).name: k for k in range(self.nq)}
        self._bends: list[tuple[int, float]] = []          # coordinate, stiffness
        self._springs: list[tuple[int, int]] = []          # joint, coordinate of its spring
        self._plays: list[tuple[int, int, float]] = []     # joint, coordinate, half the backlash
        self._find_elastic_parts(arm, index)
        places = np.array([index[name] for name in arm.config.joints])
        self.motor = _as_slice(places)                     # of the motors in qpos and qvel
        self._map(arm, index, places)
        self._find_springs(arm)

    def state(self, time: float, qpos: Array, qvel: Array) -> PlantState:
        """What the arm shows."""
        n = self.n
        if self.nq == n:   # no springs, beams or play: the coordinates are the joints themselves
            q, dq = qpos.copy(), qvel.copy()
            return PlantState(time, q, dq, q, dq, self._no_strain)
        position = self._position_map.dot(qpos)   # motor, joint, strain: (3 n,)
        velocity = self._velocity_map.dot(qvel)   # motor, joint: (2 n,)
        return PlantState(time, position[:n], velocity[:n], position[n:2 * n], velocity[n:],
                          position[2 * n:])

    def readings(self, qpos: Array, qvel: Array) -> Readings:
        """The same for sensors, in plain floats."""
        n = self.n
        if self.nq == n:
            position = qpos.tolist()
            return Readings(position, qvel.tolist(), position, self._no_strain_list)
        values = self._position_map.dot(qpos).tolist()
        return Readings(values[:n], qvel[self.motor].tolist(), values[n:2 * n], values[2 * n:])

    def balance(self, qpos: Array, goal: Array, load: Array) -> None:
        """Write into qpos (nq,) where the arm rests at joint positions `goal` [rad], (n,).

        The load is that of gravity on the coordinates [Nm], (nq,).
        """
        motor = goal.copy()
        for coordinate, stiffness in self._bends:
            qpos[coordinate] = -load[coordinate] / stiffness
        for k, coordinate, half in self._plays:   # the link hangs on the loaded flank
            qpos[coordinate] = -np.sign(load[coordinate]) * (half + TOUCHING)
            motor[k] = goal[k] - qpos[coordinate]
        if self._springs:
            torque = np.linalg.solve(self._path.T, load[self.motor])
            rest = self._path @ goal + torque / self._stiffness
            for k, coordinate in self._springs:
                motor[k] = rest[k]
                qpos[coordinate] = goal[k] - rest[k]
        qpos[self.motor] = motor

    def _find_elastic_parts(self, arm: ArmSpec, index: dict[str, int]) -> None:
        for k, (link, (name, joint)) in enumerate(zip(arm.links, arm.config.joints.items(),
                                                      strict=True)):
            play = arm.play_name(name)
            if play is not None and joint.elastic is not None:
                self._springs.append((k, index[play]))
            elif play is not None:
                self._plays.append((k, index[play], 0.5 * joint.backlash))
            if link in arm.beams:
                beam = arm.beams[link]
                self._bends += [(index[bend], float(stiffness)) for bend, stiffness
                                in zip(beam.joints, beam.stiffness, strict=True)]

    def _map(self, arm: ArmSpec, index: dict[str, int], places: Array) -> None:
        """Linear maps from the coordinates to motor, joint and strain."""
        motor, strain = np.zeros((self.n, self.nq)), np.zeros((self.n, self.nq))
        motor[np.arange(self.n), places] = 1.0
        link = motor.copy()
        for k, coordinate in [*self._springs, *((k, c) for k, c, _ in self._plays)]:
            link[k, coordinate] = 1.0
        for k, name in enumerate(arm.links):
            if name in arm.beams:
                beam = arm.beams[name]
                strain[k, index[beam.joints[0]]] = beam.strain_per_angle
        self._position_map = np.vstack([motor, link, strain])   # (3 n, nq)
        self._velocity_map = np.vstack([motor, link])           # (2 n, nq)
        self._no_strain = np.zeros(self.n)
        self._no_strain_list = [0.0] * self.n
        self._no_strain.flags.writeable = False                 # every state shares it

    def _find_springs(self, arm: ArmSpec) -> None:
        """Stiffness and cable path of elastic joints: theta = path q at rest without load."""
        self._stiffness = np.full(self.n, np.inf)
        self._path = np.eye(self.n)
        names = arm.config.joint_names
        for k, _ in self._springs:
            elastic = arm.config.joints[names[k]].elastic
            assert elastic is not None
            self._stiffness[k] = elastic.stiffness
            if elastic.coupled_to is not None:
                self._path[k, names.index(elastic.coupled_to)] += elastic.coupling_ratio


def _as_slice(places: Array) -> slice | Array:
    """Evenly spaced places as a slice, which numpy reaches faster."""
    gaps = np.diff(places)
    if len(places) == 1 or (gaps == gaps[0]).all():
        gap = int(gaps[0]) if len(gaps) else 1
        return slice(int(places[0]), int(places[-1]) + 1, gap)
    return places
