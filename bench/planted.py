"""Recordings with and without a mistake in them, of arms that MuJoCo moves.

The arm's links weigh otherwise than its description says, each drive has dry, viscous and Stribeck
friction of its own (written down here, not the library's), sensors have the noise and the steps of
the arm's yaml. Every mistake is one that people make; the words that must name it stand beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from armsense.model.arm import Arm
from armsense.recordings.bag_files import blank, JOINT_STATE, our_types, serialize
from armsense.recordings.bag_writer import BagWriter
from armsense.types import Array
from bench.synthetic import fourier_motion, Sensors

RATE = 200.0       # [Hz]
SECONDS = 16.0
SPREAD = 0.2       # of the links' masses
DOWN = np.array([0.0, 0.0, -9.81])


@dataclass
class Run:
    """One recording, to be spoiled."""

    t: Array                 # [s], (N,)
    q: Array                 # [rad], (N, n)
    tau: Array               # [Nm], (N, n)
    names: list[str]

    def write(self, folder: Path) -> Path:
        """A bag of joint states."""
        writer = BagWriter(folder)
        writer.add_topic('/joint_states', JOINT_STATE)
        message = our_types().types[JOINT_STATE](
            blank('std_msgs/msg/Header'), list(self.names), np.zeros(0), np.zeros(0), np.zeros(0))
        for t, q, tau in zip(self.t, self.q, self.tau, strict=True):
            stamp = round(1e9 * (t + 1000.0))
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
            message.position, message.effort = q.copy(), tau.copy()
            writer.write('/joint_states', serialize(message), stamp)
        writer.close()
        return folder


class PlantedArm:
    """An arm of this repository, built a little otherwise, in MuJoCo."""

    def __init__(self, name: str, seed: int) -> None:
        self.nominal = Arm.load(name)
        self._rng = np.random.default_rng([seed, 77])
        self._seed, n = seed, self.nominal.n
        self._factor = 1.0 + self._rng.uniform(-SPREAD, SPREAD, n)
        size = 0.02 * np.maximum(self.nominal.effort_limits, 1.0)
        self._viscous, self._coulomb = (size * self._rng.uniform(0.5, 1.5, n) for _ in range(2))
        self._stribeck = 0.2 * self._coulomb
        self._sensors = Sensors.of(self.nominal)

    def _model(self, gravity: Array, payload: float, center: Array) -> mujoco.MjModel:
        spec = mujoco.MjSpec.from_string(self.nominal.urdf)
        spec.compiler.discardvisual = True
        spec.compiler.fusestatic = False     # the load keeps its mass, links get theirs
        if payload:
            frame = spec.body(self.nominal.link_names[-1])
            frame.add_body(name='payload', pos=center, ipos=np.zeros(3), mass=payload,
                           inertia=payload * np.full(3, 1e-3), explicitinertial=True)
        model = spec.compile()
        for k, link in enumerate(self.nominal.link_names):
            body = model.body(link).id
            model.body_mass[body] *= self._factor[k]
            model.body_inertia[body] *= self._factor[k]
        model.opt.gravity = gravity
        model.dof_armature[:] = self.nominal.armature
        model.opt.disableflags |= (mujoco.mjtDisableBit.mjDSBL_CONTACT
                                   | mujoco.mjtDisableBit.mjDSBL_LIMIT)
        model.dof_damping[:] = model.dof_frictionloss[:] = 0.0
        return model

    def run(self, motion: int, gravity: Array = DOWN, payload: float = 0.0,
            center: Array | None = None, push: Callable[[float], float] | None = None) -> Run:
        """Drive a random Fourier series; `push` is a force along y on the last link [N]."""
        center = np.array([0.03, 0.01, 0.05]) if center is None else center
        model = self._model(gravity, payload, center)
        data = mujoco.MjData(model)
        t = np.arange(int(SECONDS * RATE)) / RATE
        q, dq, ddq = fourier_motion(self.nominal, t, motion, SECONDS)
        tau = self._inverse(model, q, dq, ddq)
        last, jacobian = model.body(self.nominal.link_names[-1]).id, np.zeros((3, model.nv))
        for k in range(len(t)):
            if push is not None and push(t[k]):
                data.qpos = q[k]
                mujoco.mj_kinematics(model, data)
                mujoco.mj_comPos(model, data)
                point = data.xpos[last] + data.xmat[last].reshape(3, 3) @ [0.0, 0.0, 0.1]
                mujoco.mj_jac(model, data, jacobian, None, point, last)
                tau[k] -= jacobian.T @ [0.0, push(t[k]), 0.0]
        rng = np.random.default_rng([self._seed, motion, 5])
        return Run(t, self._sensors.position(q),
                   self._sensors.torque(tau + self._friction(dq), rng),
                   list(self.nominal.joint_names))

    def rigid_torque(self, q: Array, dq: Array, ddq: Array) -> Array:
        """True torque on links and rotors without a load [Nm], (N, n)."""
        return self._inverse(self._model(DOWN, 0.0, np.zeros(3)), q, dq, ddq)

    def _inverse(self, model: mujoco.MjModel, q: Array, dq: Array, ddq: Array) -> Array:
        data, tau = mujoco.MjData(model), np.empty_like(q)
        for k in range(len(q)):
            data.qpos, data.qvel, data.qacc = q[k], dq[k], ddq[k]
            mujoco.mj_inverse(model, data)
            tau[k] = data.qfrc_inverse
        return tau

    def _friction(self, dq: Array) -> Array:
        sign = np.tanh(dq / 0.008)
        return np.asarray(self._viscous * dq + sign * (
            self._coulomb + self._stribeck * np.exp(-np.square(dq / 0.1))))


@dataclass(frozen=True)
class Mistake:
    """A way to go wrong, and the words that must name it."""

    words: str                                            # regular expression
    spoil: Callable[[PlantedArm, int, np.random.Generator], tuple[Run, list[str], Run | None]]
    """Recording, joints that the words must name, and a second one to validate with."""


def _of_run(change: Callable[[Run, np.random.Generator], list[str]]) -> Callable[
        [PlantedArm, int, np.random.Generator], tuple[Run, list[str], Run | None]]:
    def spoil(arm: PlantedArm, motion: int, rng: np.random.Generator,
              ) -> tuple[Run, list[str], Run | None]:
        run = arm.run(motion)
        return run, change(run, rng), None
    return spoil


def _sign(run: Run, rng: np.random.Generator) -> list[str]:
    j = int(rng.integers(len(run.names)))
    run.tau[:, j] *= -1.0
    return [run.names[j]]


def _swapped(run: Run, rng: np.random.Generator) -> list[str]:
    j = int(rng.integers(len(run.names) - 1))
    run.names[j], run.names[j + 1] = run.names[j + 1], run.names[j]
    return [run.names[j], run.names[j + 1]]


def _noise(run: Run, rng: np.random.Generator) -> list[str]:
    j = int(rng.integers(len(run.names)))
    run.tau[:, j] = rng.normal(run.tau[:, j].mean(), run.tau[:, j].std(), len(run.t))
    return [run.names[j]]


def _degrees(run: Run, rng: np.random.Generator) -> list[str]:
    run.q = np.degrees(run.q)
    return []


def _milli(run: Run, rng: np.random.Generator) -> list[str]:
    run.tau = 1000.0 * run.tau
    return []


def _gap(run: Run, rng: np.random.Generator) -> list[str]:
    begin = rng.uniform(3.0, 10.0)
    keep = (run.t < begin) | (run.t > begin + rng.uniform(0.3, 2.5))
    run.t, run.q, run.tau = run.t[keep], run.q[keep], run.tau[keep]
    return []


def _rest(run: Run, rng: np.random.Generator) -> list[str]:
    before, after = (int(RATE * rng.uniform(2.0, 8.0)) for _ in range(2))
    run.t = np.arange(len(run.t) + before + after) / RATE
    run.q = np.concatenate([np.repeat(run.q[:1], before, 0), run.q,
                            np.repeat(run.q[-1:], after, 0)])
    hold = rng.normal(0.0, 0.3, (2, run.tau.shape[1])) * run.tau.std(axis=0)
    run.tau = np.concatenate([run.tau[0] + hold[0] + np.zeros((before, 1)), run.tau,
                              run.tau[-1] + hold[1] + np.zeros((after, 1))])
    return []


def _jitter(run: Run, rng: np.random.Generator) -> list[str]:
    run.t = np.sort(run.t + rng.uniform(0.0, 3.0 / RATE, len(run.t)))
    return []


def _other_robot(arm: PlantedArm, motion: int,
                 rng: np.random.Generator) -> tuple[Run, list[str], Run | None]:
    other = 'seven' if arm.nominal.name != 'seven' else 'laas4'
    run = PlantedArm(other, motion).run(motion)
    if rng.uniform() < 0.5:
        run.names = [f'panda_joint{k + 1}' for k in range(len(run.names))]
    return run, [], None


def _gravity(arm: PlantedArm, motion: int,
             rng: np.random.Generator) -> tuple[Run, list[str], Run | None]:
    angle, azimuth = np.radians(rng.uniform(10.0, 90.0)), rng.uniform(0.0, 2.0 * np.pi)
    tilted = 9.81 * np.array([np.sin(angle) * np.cos(azimuth), np.sin(angle) * np.sin(azimuth),
                              -np.cos(angle)])
    return arm.run(motion, gravity=tilted), [], None


def _contact(arm: PlantedArm, motion: int,
             rng: np.random.Generator) -> tuple[Run, list[str], Run | None]:
    start, length = rng.uniform(3.0, 12.0), rng.uniform(0.2, 1.0)
    limit = float(arm.nominal.effort_limits.max())
    force = rng.uniform(0.2, 0.5) * limit / 0.5

    def push(t: float) -> float:
        return float(force * np.sin(np.pi * (t - start) / length)) if (
            start < t < start + length) else 0.0
    return arm.run(motion, push=push), [], None


def _payload(arm: PlantedArm, motion: int,
             rng: np.random.Generator) -> tuple[Run, list[str], Run | None]:
    mass = rng.uniform(0.3, 0.8) * float(arm.nominal.masses[-1]) + 0.1
    return arm.run(motion), [], arm.run(motion + 1, payload=mass)


MISTAKES: dict[str, Mistake] = {
    'sign': Mistake('wrong sign', _of_run(_sign)),
    'swapped joints': Mistake('exchanged', _of_run(_swapped)),
    'noise joint': Mistake('not explained', _of_run(_noise)),
    'wrong gravity': Mistake('fits better with gravity', _gravity),
    'deg': Mistake('degrees', _of_run(_degrees)),
    'mA': Mistake('mA or mNm', _of_run(_milli)),
    'gap': Mistake('lost in', _of_run(_gap)),
    'rest': Mistake('of rest', _of_run(_rest)),
    'contact inside': Mistake('a contact', _contact),
    "other robot's bag": Mistake('another robot|unknown joint|joint states', _other_robot),
    'payload': Mistake('with a payload of', _payload),
    'clock jitter': Mistake('jitter|resampled', _of_run(_jitter))}
ALL_WORDS = '|'.join(mistake.words for mistake in MISTAKES.values())
