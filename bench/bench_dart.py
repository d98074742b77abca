"""The arm that Gazebo gets, in Gazebo's engine (DART): control, collisions, identification.

    python -m bench.bench_dart [--arms laas4 crs_a465 seven] [--free-hours 1] [--json]

DART loads the description that `gazebo.launch.xml` gives to Gazebo, `ros2_control_bridge`'s own
class closes the loop on efforts (`EffortLoop`), and controller and observer believe in the arm as
Gazebo has it (`physics:=gazebo`). States come as `config/gazebo` has them, the engine steps by
1 ms, there is no noise: Gazebo has none. Beside it stands MuJoCo with the real arm (rotors in the
joints) in the same loop. What is measured, fixed beforehand but for the motions to identify from,
which were slower at first:

stable          every law that has gains: a minute at rest at home ends without a fault and, in
                its last ten seconds, slower than 0.01 rad/s; also after the fast motion no fault
rms_ratio       error along a Fourier motion at 70 % of the limits over that in MuJoCo, worst law
missed          of 100 seeded pushes that grow within 0.3 s to twice what must be felt (1.5 times
                the threshold and twice the dry friction of the joint that they load best), half of
                them in motion: those without a report 0.1 s after their end
force_ratio     median over the pushes of the force at the report over that in MuJoCo
false_alarms    in `--free-hours` of seeded free motion
inside_intervals   share of the true base parameters within their 95 % intervals, over three
                Fourier motions (40 s, 0.5 Hz and four harmonics), links 20 % too heavy in the
                nominal model. Positions and torques have the resolution and the noise of the arm's
                yaml. An effort is told with the state after it, so it is late by half a period
                and half a step of the engine; what the model misses (friction while a joint
                reverses, sampled at the working rate) comes back in every period
inside_mujoco   the same in MuJoCo: what is the engine's, and what the identification's

`--quick` makes everything short: for tests of this file only.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
import functools
import sys
from typing import Any, NamedTuple

import numpy as np

from armsense.boards.mode import Mode
from armsense.control import LAWS
from armsense.control.config import ControllerConfig
from armsense.control.motion_controller import MotionController
from armsense.identify.identify import identify, Options
from armsense.identify.model import IdentifiedModel
from armsense.identify.signals.recording import Recording
from armsense.model import Arm, ArmConfig
from armsense.model.gazebo_arm import gazebo_arm
from armsense.sim.campaign.free_motion import Poses, record_free, SETTLE
from armsense.sim.campaign.individual import Recorder
from armsense.sim.dart_plant import DartPlant, state_period
from armsense.sim.gazebo_description import description
from armsense.sim.mujoco_plant import make_plant
from armsense.trajectory import Limits, point_to_point
from armsense.types import Array
from armsense.watch import Tape, watch_all
from armsense.watch.collision_monitor import CollisionMonitor
from bench.effort_loop import EffortLoop
from bench.motions import fourier_test
from bench.report import emit
from bench.synthetic import Sensors

ARMS = ('laas4', 'crs_a465', 'seven')
STILL = 0.01          # [rad/s]
RATIO = 1.5           # goal of rms_ratio
GROWS, AFTER = 0.3, 0.1   # [s] of a push, and after it
FELT, STUCK = 1.5, 2.0    # thresholds and dry friction that must be felt
CHUNK = 60.0          # [s] of free motion at a time
FREQUENCY, EXCITATION = 0.5, 40.0   # [Hz], [s] of motions to identify from
HEAVY = 1.2           # nominal over true masses before identification


@dataclass(frozen=True)
class Sizes:
    """How much is done."""

    rest: float = 60.0     # [s]
    pushes: int = 100
    free: float = 3600.0   # [s]
    motions: int = 3       # to identify from
    motion: float = 1e9    # [s] at most


QUICK = Sizes(rest=2.0, pushes=4, free=10.0, motions=1, motion=1.0)


class Side(NamedTuple):
    """One engine: the arm that nodes believe in, and a plant at rest."""

    name: str
    believed: Arm
    plant: Callable[[], Any]


def sides(arm: str, urdf: str | None = None) -> tuple[Side, Side]:
    """DART with Gazebo's arm, or with a description of one's own, and MuJoCo with the real one."""
    real = Arm.load(arm)
    text = urdf or description(real)
    return (Side('dart', gazebo_arm(real), functools.partial(DartPlant, text)),
            Side('mujoco', real, functools.partial(make_plant, real.config)))


def period(arm: str) -> float:
    """Between joint states in Gazebo [s]."""
    return state_period(ArmConfig.load(arm).rate)


def make_loop(side: Side, law: str | None = None, start: Array | None = None) -> EffortLoop:
    """An arm at rest that goes where it is led, far from all tolerances."""
    plant = side.plant()
    if start is not None:
        plant.reset(start)
    config = replace(ControllerConfig.of(side.believed), floor=None, path_tolerance=(0.0,),
                     goal_tolerance=(0.0,))
    controller = MotionController(side.believed, config, law or config.law)
    return EffortLoop(side.believed, plant, controller=controller, dt=period(side.believed.name))


# -- control ----------------------------------------------------------------------------------

def rests(side: Side, law: str, seconds: float) -> str:
    """What is wrong with a rest; empty: nothing."""
    loop = make_loop(side, law)
    fastest = 0.0

    def watch(_: Any) -> None:
        nonlocal fastest
        if loop.time > seconds - min(10.0, 0.5 * seconds):
            fastest = max(fastest, max(map(abs, loop.plant.readings.motor_velocity)))
    loop.run(seconds, watch)
    if loop.driver.mode != Mode.ENABLED:
        return f'{law}: {loop.driver.fault}'
    return f'{law}: {fastest:.2g} rad/s at rest' if fastest > STILL else ''


def tracks(side: Side, law: str, longest: float) -> float:
    """RMS error of a fast motion [rad]; NaN: the driver faulted."""
    model = Arm.load(side.believed.name)     # the same path for both
    path = fourier_test(model, frequency=0.4, use=0.7, floor=ControllerConfig.of(model).floor)
    loop = make_loop(side, law, path.sample(0.0).q)
    loop.run(0.5)
    loop.controller.follow(path)
    errors = []
    for _ in range(round(min(longest, path.duration) / loop.dt)):
        before = np.array(loop.plant.readings.motor_position)
        loop.step()
        if loop.driver.mode != Mode.ENABLED or loop.controller.reference is None:
            return float('nan')
        errors.append(loop.controller.reference.q - before)
    return float(np.sqrt(np.mean(np.square(errors))))


def control(dart: Side, mujoco: Side, sizes: Sizes) -> tuple[list[str], dict[str, float]]:
    """What is unstable, and the ratio of errors by law."""
    given = ControllerConfig.of(dart.believed).laws
    wrong, ratios = [], {}
    for law in (law for law in LAWS if law in given):
        wrong += [text for text in [rests(dart, law, sizes.rest)] if text]
        if law != 'float':                    # follows nothing
            ratios[law] = tracks(dart, law, sizes.motion) / tracks(mujoco, law, sizes.motion)
    return wrong + [f'{law}: fault in motion' for law, r in ratios.items() if r != r], ratios


# -- collisions -------------------------------------------------------------------------------

def push(side: Side, poses: Poses, seed: int) -> tuple[float | None, str]:
    """Force [N] at the report of a push, None: none came; and what was done."""
    rng = np.random.default_rng([seed, 17])
    model = side.believed
    start = poses.near(np.array(model.config.home), rng)
    target, moving = poses.near(start, rng), bool(rng.uniform() < 0.5)
    loop = make_loop(side, start=start)
    monitor = CollisionMonitor(model)
    loop.monitor = monitor
    loop.run(0.5)
    if moving:
        way = point_to_point(start, target, Limits.of(model), model, 0.4)
        loop.controller.follow(way)
        loop.run(float(rng.uniform(0.1, 0.6)) * way.duration)
    link = int(rng.integers(model.n))
    joint = int(rng.integers(link + 1))
    name, q = model.link_names[link], np.array(loop.plant.readings.motor_position)
    point = rng.uniform(-0.02, 0.02, 3)
    if link == model.n - 1:
        point = (np.linalg.inv(model.frame_pose(q, name)) @ model.frame_pose(q))[:3, 3]
    J = model.point_jacobian(q, name, point)                  # (3, n)
    if np.linalg.norm(J[:, joint]) < 0.05:                    # [m] no lever: the best one there is
        joint = int(np.argmax(np.linalg.norm(J, axis=0)))
    lever = max(float(np.linalg.norm(J[:, joint])), 1e-6)
    direction = float(rng.choice([-1.0, 1.0])) * J[:, joint] / lever
    what = f'seed {seed}: {name}, {model.joint_names[joint]}, ' + ('moving' if moving else 'rest')
    if lever < 0.05:
        return push(side, poses, seed + 10_000)               # nothing to be felt by any joint
    friction = model.config.joints[model.joint_names[joint]].friction.coulomb
    most = 2.0 * (FELT * float(monitor.detector.threshold[joint]) + STUCK * friction) / lever
    begin = loop.time
    while loop.time < begin + GROWS + AFTER:
        force = min((loop.time - begin) / GROWS, 1.0) * most
        loop.plant.release()
        if loop.time < begin + GROWS:
            loop.plant.apply_force(name, point, force * direction)
        cycle = loop.step()
        if cycle.result is not None and cycle.result.detection is not None:
            return force, what
    return None, what + f', {most:.0f} N, ' + str(loop.driver.fault or 'no fault')


def pushes(dart: Side, mujoco: Side, count: int) -> tuple[list[str], float]:
    """Pushes that were missed, and the median ratio of the forces at the report."""
    poses = Poses(Arm.load(dart.believed.name))
    missed, ratios = [], []
    for seed in range(count):
        (force, what), (other, _) = (push(side, poses, seed) for side in (dart, mujoco))
        if force is None:
            missed.append(what)
        elif other:
            ratios.append(force / other)
    return missed, float(np.median(ratios)) if ratios else float('nan')


# -- free motion and identification -----------------------------------------------------------

class DartIndividual:
    """What `record_free` moves."""

    def __init__(self, side: Side) -> None:
        self.model, self._side = side.believed, side

    def loop(self, home: Array | None = None, run: int | None = None) -> EffortLoop:
        return make_loop(self._side, start=home)


def free_tape(side: Side, seconds: float, seed: int) -> Tape:
    """Readings of seeded motion without contact."""
    return record_free(DartIndividual(side), seconds, seed)   # type: ignore[arg-type]


def false_alarms(side: Side, seconds: float) -> tuple[int, float]:
    """Alarms, and the time that was watched [s]."""
    alarms, done, part = 0, 0.0, 0
    while done < seconds - 1e-6:
        tape = free_tape(side, min(CHUNK, seconds - done), 1000 + part)
        trace, = watch_all([CollisionMonitor(side.believed)], tape)
        alarms += len(trace.detections)
        done += max(tape.seconds, 1.0)
        part += 1
    return alarms, done


def inside_intervals(side: Side, motions: int) -> tuple[float, list[str]]:
    """Share of the true base parameters inside their intervals, and those that are not."""
    inside: list[bool] = []
    outside = []
    for seed in range(2, 2 + motions):
        found, true = identified(side, seed)
        assert found.base is not None
        for name, value, (low, high) in zip(found.base.names, true, found.base.intervals(),
                                            strict=True):
            inside.append(bool(low <= value <= high))
            if not inside[-1]:
                outside.append(f'motion {seed}, {name}: {value:.4g} true, {low:.4g} to {high:.4g}')
    return float(np.mean(inside)), outside


def identified(side: Side, seed: int) -> tuple[IdentifiedModel, Array]:
    """A model from a seeded motion, and its true base parameters."""
    truth, model = side.believed, Arm.load(side.believed.name)
    path = fourier_test(model, seed=seed, frequency=FREQUENCY, harmonics=5, use=0.7,
                        periods=EXCITATION * FREQUENCY, floor=ControllerConfig.of(model).floor)
    recorder = Recorder(make_loop(side, start=path.sample(0.0).q))
    recorder.run(SETTLE)
    recorder.follow(path, SETTLE + path.duration)
    tape, sensors = recorder.tape(), Sensors.of(model)
    keep = tape.stamp * 1e-9 > SETTLE
    recording = Recording(tape.stamp[keep] * 1e-9, sensors.position(tape.position[keep]),
                          sensors.torque(tape.torque[keep], np.random.default_rng([seed, 3])),
                          name=truth.name)
    nominal = truth.replace(parameters=HEAVY * truth.parameters)
    found = identify([recording], nominal, Options(gravity=truth.gravity))
    known = {f'{term}{k + 1}': getattr(joint.friction, term) for term in ('viscous', 'coulomb')
             for k, joint in enumerate(truth.config.joints.values())}
    known |= {f'inertia{k + 1}': value for k, value in enumerate(truth.armature)}
    drives = [known.get(name, 0.0) for name in found.drive.names]
    assert found.base is not None
    return found, found.base.base.project(np.concatenate([truth.parameters, drives]))


# -- all of it --------------------------------------------------------------------------------

def measure(arm: str, sizes: Sizes) -> tuple[dict[str, Any], list[str]]:
    """Figures of one arm, and what went wrong."""
    dart, mujoco = sides(arm)
    wrong, ratios = control(dart, mujoco, sizes)
    missed, force = pushes(dart, mujoco, sizes.pushes)
    alarms, free = false_alarms(dart, sizes.free)
    inside, outside = inside_intervals(dart, sizes.motions)
    other, _ = inside_intervals(mujoco, sizes.motions)
    result = {'stable': not wrong, 'rms_ratio': round(float(np.nanmax(list(ratios.values()))), 3),
              'missed': len(missed), 'force_ratio': round(force, 3), 'false_alarms': alarms,
              'free_hours': round(free / 3600.0, 3), 'inside_intervals': round(inside, 3),
              'inside_mujoco': round(other, 3)}
    return result, [f'{arm}: {text}' for text in (*wrong, *missed, *outside)]


def main(given: list[str] | None = None) -> int:
    """Measure and print; `given`: arguments instead of those of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--arms', nargs='+', default=list(ARMS))
    parser.add_argument('--free-hours', type=float, default=1.0)
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('--json', action='store_true')
    options = parser.parse_args(given)
    sizes = QUICK if options.quick else Sizes(free=3600.0 * options.free_hours)
    result, notes = {}, []
    for arm in options.arms:
        result[arm], more = measure(arm, sizes)
        notes += more
    keys = list(next(iter(result.values())))
    emit("Gazebo's arm in DART", ('arm', *keys), [(arm, *row.values()) for arm, row
                                                  in result.items()], result, options.json, notes)
    good = all(row['stable'] and row['rms_ratio'] <= RATIO and not row['missed']
               and not row['false_alarms'] for row in result.values())
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
