"""An arm in MuJoCo: steps, surroundings, truth.

A plant takes motor torques and advances time; it knows nothing of boards, messages or controllers,
and shares no mathematics with `armsense` beyond the numbers in the arm's yaml and URDF.
"""

import logging
import math
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import ArmsenseError, BadValue, UnknownName
from armsense.model.arm_config import ArmConfig
from armsense.schema import vector
from armsense.sim.arm_spec import ArmSpec
from armsense.sim.coordinates import Coordinates, PlantState, Readings
from armsense.sim.stable_step import stable_step
from armsense.sim.surroundings import (
    Contact,
    cross,
    HuntCrossley,
    Obstacle,
    RIGID,
    Surroundings,
)
from armsense.types import Array

LONGEST_STEP = 1e-3   # [s]
PLAY_STEP = 2.5e-4    # [s] with backlash: at longer ones light gears rattle by themselves
HAND = 'hand'

# Otherwise MuJoCo writes its warnings into a file in the working folder.
mujoco.set_mju_user_warning(logging.getLogger(__name__).warning)


class MujocoPlant:
    """A simulated arm in its surroundings."""

    def __init__(self, arm: ArmSpec) -> None:
        """Compile the arm and let it rest at its home position."""
        self.arm = arm
        self.config = arm.config
        self.n = arm.config.n
        self._around = Surroundings(arm)
        self._gravity = np.array(arm.config.gravity, float)
        self._dt, self._count, self._free_step = 0.0, 1, 0.0   # period of the caller, steps in it
        self._timestep = 0.0   # of MuJoCo, as set last
        model = arm.spec.compile()
        self._coordinates = Coordinates(arm, model)
        self._motor = self._coordinates.motor
        self._read_friction()
        self._use(model)
        self.longest_step = LONGEST_STEP   # [s] away from obstacles
        if any(joint.backlash > 0.0 for joint in arm.config.joints.values()):
            self.longest_step = PLAY_STEP
        if self._coordinates.nq > self.n:
            self.longest_step = stable_step(self.model, self.data, self.longest_step)
        self.reset(arm.config.home or np.zeros(self.n))

    # -- state -------------------------------------------------------------------------------

    @property
    def state(self) -> PlantState:
        return self._coordinates.state(self.data.time, self._qpos, self._qvel)

    @property
    def contact(self) -> list[Contact]:
        """Contacts at the end of the last step, pushes included."""
        return list(self._around.contacts)

    @property
    def obstacles(self) -> dict[str, Obstacle]:
        return dict(self._around.obstacles)

    @property
    def base_wrench(self) -> Array:
        """Wrench of the moving links on their support, base frame [N, Nm], (6,)."""
        probe = self._probe_now()
        mujoco.mj_rnePostConstraint(self.model, probe)
        body = self._first_moving
        moment, force = -probe.cfrc_int[body, :3], -probe.cfrc_int[body, 3:]
        lever = probe.subtree_com[self.model.body_rootid[body]]
        return np.concatenate([force, moment + cross(lever, force)])

    @property
    def energy(self) -> float:
        """Kinetic, gravitational and spring energy of everything simulated [J]."""
        probe = self._probe_now()
        mujoco.mj_energyPos(self.model, probe)
        mujoco.mj_energyVel(self.model, probe)
        return float(probe.energy.sum())

    @property
    def holding_torque(self) -> Array:
        """Motor torque that holds this pose at rest, without help of friction [Nm], (n,)."""
        probe = self._probe_now()
        probe.qvel[:] = 0.0
        mujoco.mj_forward(self.model, probe)
        nq = self._coordinates.nq
        return np.asarray((probe.qfrc_bias - probe.qfrc_passive)[:nq][self._motor])

    def pose(self, body: str | None = None) -> Array:
        """Pose of a body in the world frame, (4, 4); None: the tool."""
        name = body or self.config.tool_frame
        number = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, name)
        if number < 0:
            raise UnknownName('body', name, [b.name for b in self.arm.spec.bodies])
        probe = self._probe_now()
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = probe.xmat[number].reshape(3, 3), probe.xpos[number]
        return T

    # -- time --------------------------------------------------------------------------------

    def reset(self, q: ArrayLike) -> None:
        """Rest at joint positions q [rad]; obstacles and payload stay, pushes end.

        Springs and beams are put in balance with gravity, and the motors hold the arm until the
        first step.
        """
        goal = vector('joint positions', q, self.n)
        mujoco.mj_resetData(self.model, self.data)
        self._around.release()
        self._qpos[self._motor] = goal
        for _ in range(30):   # deflections change gravity's levers a little: fixed-point iteration
            mujoco.mj_forward(self.model, self.data)
            self._coordinates.balance(self._qpos, goal, self.data.qfrc_bias)
        self._applied[self._motor] = self.holding_torque
        mujoco.mj_forward(self.model, self.data)
        self._sense()

    def step(self, motor_torque: ArrayLike, dt: float) -> None:
        """Advance by dt [s] under motor torques [Nm], joint side, before friction, (n,)."""
        self._applied[self._motor] = motor_torque
        if self._has_asymmetry:
            self._applied[self._motor] -= self._asymmetry
        if self._has_stribeck:
            self._set_dry_friction()
        if self._around.active:
            self._step_touching(dt)
        else:
            if dt != self._dt:
                self._dt, self._count = dt, max(1, math.ceil(dt / self.longest_step - 1e-9))
                self._free_step = dt / self._count
            if self._timestep != self._free_step:   # setting it costs as much as a step
                self.model.opt.timestep = self._timestep = self._free_step
            mujoco.mj_step(self.model, self.data, self._count)
            self._around.contacts = []
        self._sense()
        if not math.isfinite(sum(self.readings.motor_velocity)):
            raise ArmsenseError(f'{self.config.arm}: the simulation left all bounds at '
                                f'{self.data.time:.4f} s under motor torques '
                                f'{np.asarray(motor_torque).tolist()} Nm')

    # -- surroundings --------------------------------------------------------------------------

    def set_gravity(self, gravity: ArrayLike) -> None:
        """Let the arm feel this gravity [m/s^2], base frame, (3,), from the next step on.

        Gravity less the acceleration of the base is how a base moves that does not turn; see
        `armsense.sim.carrier`.
        """
        self._gravity = self.model.opt.gravity[:] = vector('gravity', gravity, 3)

    def set_payload(self, mass: float, center: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Let the tool carry a point mass [kg] at `center` [m] in the tool frame; 0: nothing."""
        if not (np.isfinite(mass) and mass >= 0.0):
            raise BadValue('payload mass', mass, '>= 0 kg')
        self.arm.set_payload(mass, vector('payload center', center, 3))
        self._use(self.arm.spec.compile())

    def place_obstacle(self, name: str, position: ArrayLike, *, radius: float | None = None,
                       box: tuple[float, float, float] | None = None,
                       stiffness: float | None = 10e3, dissipation: float = 0.04,
                       exponent: float = 1.0, friction: float = 0.0) -> None:
        """Put a fixed sphere or box into the world; an obstacle of that name is replaced.

        Its centre [m], world frame, (3,); radius [m] of a sphere or full sides [m] of a box along
        the world's axes. Stiffness [N/m], None: rigid (as stiff as can be simulated); dissipation
        alpha [s/m] and exponent of Hunt and Crossley; friction between obstacle and arm.
        """
        material = HuntCrossley(RIGID if stiffness is None else stiffness, dissipation, exponent)
        self._place(Obstacle(name, np.asarray(position, float), radius, box, material, friction))

    def place_hand(self, position: ArrayLike, *, mass: float = 0.6, stiffness: float = 75e3,
                   radius: float = 0.04, dissipation: float = 0.3, hold_stiffness: float = 100.0,
                   hold_damping: float = 10.0, name: str = HAND) -> None:
        """Put a hand into the world: a mass behind stiff skin, loosely held by its arm.

        An effective mass of 0.6 kg and 75 N/mm of skin are what robot-safety practice takes; a
        spring holds the hand in place [N/m], [N s/m]. Position, radius [m] and dissipation as for
        other obstacles.
        """
        if not (np.isfinite(mass) and mass > 0.0):
            raise BadValue('mass of the hand', mass, '> 0 kg')
        self._place(Obstacle(name, np.asarray(position, float), radius,
                             material=HuntCrossley(stiffness, dissipation), mass=mass,
                             hold_stiffness=hold_stiffness, hold_damping=hold_damping))

    def move_obstacle(self, name: str, position: ArrayLike) -> None:
        """Move an obstacle to a position [m], world frame; a hand rests there."""
        self._around.move(name, position)

    def remove_obstacle(self, name: str) -> None:
        self._around.remove(name)
        self._use(self.arm.spec.compile())

    def apply_force(self, link: str, point: ArrayLike, force: ArrayLike,
                    duration: float | None = None) -> None:
        """Push a moving link at a point of its frame [m] with a force [N], world frame.

        It lasts for the duration [s]; None: until `release`.
        """
        until = np.inf if duration is None else self.data.time + duration
        self._around.push(link, point, force, until)

    def pull(self, link: str, point: ArrayLike, target: ArrayLike, stiffness: float = 200.0,
             duration: float | None = None) -> None:
        """Pull a moving link by a spring, as a hand does that holds it at a point.

        The point [m] in the link's frame, where the hand is [m] in the world, [N/m]; at most 80 N.
        It lasts for the duration [s]; None: until `release`.
        """
        until = np.inf if duration is None else self.data.time + duration
        self._around.pull(link, point, target, stiffness, until)

    def release(self) -> None:
        """End all pushes and pulls."""
        self._around.release()

    # -- inside ------------------------------------------------------------------------------

    def _use(self, model: mujoco.MjModel) -> None:
        """Go on with a newly compiled model where the old one stopped."""
        old: Any = getattr(self, 'data', None)
        hands = self._around.hands()
        self.model, self.data, self._probe = model, mujoco.MjData(model), mujoco.MjData(model)
        n, data = self._coordinates.nq, self.data   # what else moves comes behind the arm
        # Views are kept because making them costs time in every step.
        self._qpos, self._qvel, self._applied = data.qpos[:n], data.qvel[:n], data.qfrc_applied[:n]
        self._dry_friction = model.dof_frictionloss[:n]
        if old is not None:
            data.time = old.time
            self._qpos[:], self._qvel[:] = old.qpos[:n], old.qvel[:n]
            self._applied[:] = old.qfrc_applied[:n]
            data.qacc_warmstart[:n] = old.qacc_warmstart[:n]
        model.opt.gravity[:] = self._gravity
        self._first_moving = int(np.flatnonzero(model.body_dofnum)[0])
        self._timestep = model.opt.timestep
        # MuJoCo would start over from zero without a word when a number is not finite.
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
        # One kinematic tree: looking for islands in it finds nothing and costs time.
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
        if not self._around.obstacles:   # saves the search for contacts
            model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        self._around.bind(model, data, hands)
        mujoco.mj_forward(model, data)
        self._sense()

    def _sense(self) -> None:
        # State now, for sensors.
        self.readings: Readings = self._coordinates.readings(self._qpos, self._qvel)

    def _place(self, obstacle: Obstacle) -> None:
        self._around.add(obstacle)
        self._use(self.arm.spec.compile())
        overlap = self._around.overlap(obstacle.name)
        if overlap:
            self.remove_obstacle(obstacle.name)
            raise BadValue(f'position of obstacle {obstacle.name!r}', obstacle.position.tolist(),
                           f'outside the arm; {overlap}')

    def _read_friction(self) -> None:
        friction = [joint.friction for joint in self.config.joints.values()]
        self._asymmetry = np.array([f.asymmetry for f in friction])
        self._stribeck = [(f.coulomb, f.stribeck, f.stribeck_velocity) for f in friction]
        self._has_asymmetry = bool(self._asymmetry.any())
        self._has_stribeck = any(f.stribeck for f in friction)

    def _set_dry_friction(self) -> None:
        """Stribeck: less dry friction the faster the joint turns."""
        # Floats one by one: for so few of them numpy takes twice the time.
        velocities = self._qvel[self._motor].tolist()
        self._dry_friction[self._motor] = [
            coulomb + more * math.exp(-(ratio := velocity / slow) * ratio)
            for velocity, (coulomb, more, slow) in zip(velocities, self._stribeck, strict=True)]

    def _step_touching(self, dt: float) -> None:
        """Steps with forces of the surroundings, fine ones close to an obstacle."""
        model, data, around = self.model, self.data, self._around
        end = data.time + dt
        fine = min(self.longest_step, around.step)
        while data.time < end - 1e-9:
            mujoco.mj_step1(model, data)
            left = end - data.time
            longest = fine if data.ncon else self.longest_step
            h = left / math.ceil(left / longest - 1e-6)
            if abs(h - self._timestep) > 1e-12:
                model.opt.timestep = self._timestep = h
            around.touch()
            mujoco.mj_step2(model, data)
        around.end_pushes(data.time)

    def _probe_now(self) -> mujoco.MjData:
        """Scratch data at the present state; reading the truth must not touch the motion."""
        probe, data = self._probe, self.data
        probe.qpos[:], probe.qvel[:] = data.qpos, data.qvel
        probe.qfrc_applied[:], probe.xfrc_applied[:] = data.qfrc_applied, data.xfrc_applied
        probe.qacc_warmstart[:] = data.qacc_warmstart
        if self.model.nmocap:
            probe.mocap_pos[:] = data.mocap_pos
        mujoco.mj_forward(self.model, probe)
        return probe


def make_plant(config: ArmConfig | str, *, seed: int = 0, mismatch: float = 0.0) -> MujocoPlant:
    """A simulated arm of a configuration or name; the mismatch is that of `ArmSpec.build`."""
    if isinstance(config, str):
        config = ArmConfig.load(config)
    return MujocoPlant(ArmSpec.build(config, mismatch=mismatch, seed=seed))
