"""Motion of the tool, contact on purpose, laws for wrong models: laas4, simulated.

    python -m bench.bench_task [--parts circle goals …] [--quick] [--json]

What is measured. The arm is drawn from the series that campaigns use (masses and
friction a few per cent off its files), moved for 20 s and identified; controller and observer have
the identified model. Everything goes through `ClosedLoop`: MuJoCo plant, emulated boards, driver,
controller, observer with the arm's own thresholds.

circle. 0.1 m radius at 0.5 m/s, three turns with a quarter of a turn to speed up and to slow down,
law `computed_torque`. `circle_rms_mm`: distance of the true tool from its reference.
singular. A way of 0.3 m that passes 1 cm from the edge of the reach, at full speed: largest part
of any limit that its motion uses.
goals. 200 seeded points around the arm, for position, by any way. Truth: the shell of 0.555 to
0.745 m around the shoulder that the lengths of the links give, and one of 400 turns of the elbow,
in closed form, that is free of floor and arm. `false_accept`, `false_refuse`: counts.
impedance. Law `cartesian_impedance`, a push of 3 N that grows to 9 N in 1 s, along three axes at
two places: force over way of the growth against the stiffness asked for; largest error in percent.
wipe. Law `force`, 5 N against a plate above the tool that is uneven by 3 mm over 0.1 m and has
friction, the hand upright, 0.15 m to either side at 0.1 m/s. `wipe_rms_n`: true normal force
minus 5 N, from 1 s after the first touch. `wipe_alarms`: collisions felt without one.
`wipe_missed`: of pushes of 20 N for 0.2 s at random places of links 2 to 4 in random directions
across them, while wiping; of those that load some joint with twice its threshold, and would be
felt at rest. Pose and this choice of pushes came after first runs: with the arm at home, near its
edge, the force was 0.58 N off (0.52 N of it a bias), and one of 5 pushes of any torque was missed.
disturbance. A Fourier motion (70 % of the tightest limit) with every mass and friction that the
controller believes 30 % too large: RMS of the joints over that with the identified model, law
`disturbance_observer`; `computed_torque` beside it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
import dataclasses
from typing import Any

import numpy as np

from armsense.control.config import ControllerConfig
from armsense.control.motion_controller import MotionController
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.model.arm_config import ArmConfig
from armsense.sim.campaign.individual import Individual, Variation
from armsense.sim.campaign.tasks import identify_arm
from armsense.sim.closed_loop import ClosedLoop
from armsense.task import Pose, TaskGoal
from armsense.trajectory import Clearance, Limits, point_to_point
from armsense.trajectory.limits import motion_torque
from armsense.trajectory.reference import sample_grid
from armsense.types import Array, Press, Reference
from armsense.watch.collision_monitor import CollisionMonitor
from bench.motions import fourier_test
from bench.report import emit
from bench.task_reach import possible, REACH, SHOULDER

SEED = 7
UP = np.array([0.0, 0.0, 1.0])
UPRIGHT = np.array([0.0, 0.15, 0.0, 0.0])   # [rad] the hand stands upright below the plate
WRONG = 1.3
PER_RUN = 10                                # pushes of one wiping


class Bench:
    """One arm, and the model that was identified of it."""

    def __init__(self, quick: bool, pushes: int = 100) -> None:
        self.quick, self.pushes = quick, pushes
        nominal = Arm.load('laas4')
        individual = Individual(nominal, Variation(), SEED)
        self.model = identify_arm(individual, SEED, 8.0 if quick else 20.0).apply(nominal)
        self.variation = individual.variation
        self.home = np.array(nominal.config.home)
        self.tool = Pose.of_matrix(self.model.frame_pose(self.home))
        self.limits = Limits.of(self.model)

    def loop(self, law: str, model: Arm | None = None, watched: bool = False,
             place: Array | None = None) -> ClosedLoop:
        """The arm under a law, settled at a place [rad], (n,); None: at home."""
        model = model or self.model
        loop = ClosedLoop(model, plant_model=Arm.load(ArmConfig.load('laas4')), seed=SEED,
                          mismatch=self.variation.mismatch,
                          controller=MotionController(model, ControllerConfig.of(model), law),
                          monitor=CollisionMonitor(model) if watched else None, home=place)
        loop.run(0.3)
        return loop

    # -- circle, near a singularity ------------------------------------------------------------

    def circle(self) -> dict[str, Any]:
        turns = 1.0 if self.quick else 3.0
        motion = self._circle(turns, radius=0.1, speed=0.5)
        loop = self.loop('computed_torque')
        status = loop.controller.follow_task_path(motion)
        away = []

        def note(_: object) -> None:
            assert loop.controller.reference is not None
            wanted = self.model.frame_pose(loop.controller.reference.q)[:3, 3]
            away.append(np.linalg.norm(loop.plant.pose()[:3, 3] - wanted))
        loop.run(motion.times[-1] + 0.2, note)
        assert status.succeeded, status.text
        return {'circle_rms_mm': 1e3 * rms(np.array(away)), 'circle_peak_mm': 1e3 * max(away)}

    def _circle(self, turns: float, radius: float, speed: float) -> TaskGoal:
        """In the plane across the line from the shoulder; a quarter of a turn to either speed."""
        out = (self.tool.position - SHOULDER) / np.linalg.norm(self.tool.position - SHOULDER)
        side = np.array([0.0, 1.0, 0.0])
        up = np.cross(out, side)
        rate = speed / radius                            # [rad/s]
        ramp = np.pi / rate                              # [s] in which a quarter is driven
        whole = 2.0 * np.pi * turns / rate + ramp
        times = np.linspace(0.0, whole, int(whole / 0.02) + 1)[1:]
        poses = []
        for t in times:
            rising, left = min(t, ramp) / ramp, min(whole - t, ramp) / ramp
            angle = rate * ramp * _ramp(rising) + rate * max(
                0.0, min(t, whole - ramp) - ramp) + rate * ramp * (0.5 - _ramp(left))
            poses.append(Pose(self.tool.position + radius * (
                np.sin(angle) * side + (np.cos(angle) - 1.0) * up), self.tool.rotation))
        return TaskGoal(poses=poses, times=times.tolist())

    def singular(self) -> dict[str, Any]:
        out = (self.tool.position - SHOULDER) / np.linalg.norm(self.tool.position - SHOULDER)
        side = np.array([0.0, 1.0, 0.0])
        middle = SHOULDER + (REACH[1] - 0.01) * out
        clearance = Clearance(self.model, floor=0.0, self_distance=0.01)
        start = TaskGoal(poses=[Pose(middle - 0.15 * side - 0.04 * out, self.tool.rotation)],
                         straight=False).plan(self.model, self.limits, clearance,
                                              Reference.at_rest(self.home))
        q = start.sample(start.duration).q
        poses = [Pose(middle + y * side - 4.0 * y * y / 0.09 * 0.04 * out, self.tool.rotation)
                 for y in np.linspace(-0.15, 0.15, 31)[1:]]
        motion = TaskGoal(poses=poses, blend=0.004, speed=1.0).plan(
            self.model, self.limits, clearance, Reference.at_rest(q))
        samples = sample_grid(motion, 1e-3)
        used = [np.abs(x / limit).max() for x, limit in (
            (samples.dq, self.limits.velocity), (samples.ddq, self.limits.acceleration),
            (samples.jerk, self.limits.jerk),
            (motion_torque(samples, self.model), self.limits.torque))]
        return {'singular_limit_used': float(max(used)), 'singular_s': motion.duration}

    # -- goals ---------------------------------------------------------------------------------

    def goals(self) -> dict[str, Any]:
        rng = np.random.default_rng(SEED)
        clearance = Clearance(self.model, floor=0.0, self_distance=0.01)
        now = Reference.at_rest(self.home)
        wrong = {'accepted': 0, 'false_accept': 0, 'false_refuse': 0}
        for _ in range(20 if self.quick else 200):
            place = rng.uniform([-0.8, -0.8, 0.0], [0.8, 0.8, 0.95])
            truth = possible(place, self.model, clearance, rng, 50 if self.quick else 400)
            try:
                motion = TaskGoal(poses=[Pose.of(place)], straight=False).plan(
                    self.model, self.limits, clearance, now)
                end = self.model.frame_pose(motion.sample(motion.duration).q)[:3, 3]
                wrong['accepted'] += 1
                wrong['false_accept'] += not (truth and np.linalg.norm(end - place) < 1e-4)
            except ArmsenseError:
                wrong['false_refuse'] += truth
        return {'goals': wrong}

    # -- contact on purpose --------------------------------------------------------------------

    def impedance(self) -> dict[str, Any]:
        asked = ControllerConfig.of(self.model).laws['cartesian_impedance']['stiffness'][0]
        errors = []
        for turned in ((0.0,) if self.quick else (0.0, 0.5)):
            for axis in np.eye(3):
                loop = self.loop('cartesian_impedance')
                if turned:
                    q = self.home + [turned, -0.2, 0.2, 0.3]
                    goal = TaskGoal(poses=[Pose.of_matrix(self.model.frame_pose(q))])
                    loop.controller.follow_task_path(goal)
                    loop.run(2.0)
                places = []
                for k in range(21):
                    force = (3.0 + 6.0 * k / 20) * axis
                    loop.plant.release()
                    loop.plant.apply_force('link4', (0.095, 0.0, 0.0), force)
                    loop.run(0.5 if k == 0 else 0.05)
                    places.append(loop.plant.pose()[:3, 3] @ axis)
                loop.run(0.3)
                places[-1] = loop.plant.pose()[:3, 3] @ axis
                errors.append(abs(6.0 / (places[-1] - places[0]) / asked - 1.0))
        return {'impedance_error_percent': 100.0 * max(errors)}

    def wipe(self) -> dict[str, Any]:
        loop, plate = self._wiping(), Plate()
        forces: list[float] = []
        alarms = self._wipe(loop, plate, 3.0 if self.quick else 12.0, forces)
        settled = np.array(forces[1000:])
        return {'wipe_rms_n': rms(settled - 5.0), 'wipe_mean_n': float(settled.mean()),
                'wipe_alarms': alarms}

    def wipe_pushes(self) -> dict[str, Any]:
        rng = np.random.default_rng(SEED)
        missed, count = 0, 3 if self.quick else self.pushes
        for k in range(count):
            if k % PER_RUN == 0:
                loop, plate = self._wiping(), Plate()
            self._wipe(loop, plate, float(rng.uniform(1.0, 1.2)), [])
            loop.plant.apply_force(*self._push(loop, rng), 0.2)
            missed += not self._wipe(loop, plate, 0.2, [])
        return {'wipe_missed': missed, 'wipe_pushes': count}

    def _push(self, loop: ClosedLoop, rng: np.random.Generator) -> tuple[str, Array, Array]:
        """Link, point [m] and force [N] of a push that loads some joint with two thresholds."""
        assert loop.monitor is not None
        q, threshold = loop.plant.state.joint_position, loop.monitor.detector.threshold
        while True:
            link = ('link2', 'link3', 'link4')[rng.integers(3)]
            along = np.eye(3)[2 if link == 'link3' else 0]
            across = np.cross(along, rng.normal(size=3))
            force = loop.plant.pose(link)[:3, :3] @ (20.0 * across / np.linalg.norm(across))
            point = along * rng.uniform(0.0, 0.09 if link == 'link4' else 0.3)
            torque = self.model.point_jacobian(q, link, point).T @ force
            if (np.abs(torque) > 2.0 * threshold).any():
                return link, point, force

    def _wiping(self) -> ClosedLoop:
        loop = self.loop('force', watched=True, place=UPRIGHT)
        tool = Pose.of_matrix(self.model.frame_pose(UPRIGHT))
        loop.controller.reaction.choose('ignore')        # the arm goes on; alarms are counted
        side, poses, times = np.array([0.0, 0.15, 0.0]), [], []
        for t in np.arange(0.05, 16.0, 0.05):
            s = np.sin(2.0 * np.pi * t / 9.4)            # 0.1 m/s at most
            poses.append(Pose(tool.position + s * min(1.0, t) * side, tool.rotation))
            times.append(float(t))
        loop.controller.follow_task_path(TaskGoal(poses=poses, times=times),
                                         press=Press(UP, 5.0, 10.0))
        return loop

    def _wipe(self, loop: ClosedLoop, plate: Plate, seconds: float, forces: list[float]) -> int:
        """Alarms in so many seconds; adds the true normal forces since the first touch [N]."""
        alarms = 0
        for _ in range(round(seconds / loop.dt)):
            plate.follow(loop)
            cycle = loop.step()
            alarms += cycle.result is not None and cycle.result.detection is not None
            force = sum(-float(c.force @ UP) for c in loop.plant.contact if c.cause == 'plate')
            if force > 0.0 or forces:
                forces.append(force)
        return alarms

    # -- wrong models --------------------------------------------------------------------------

    def disturbance(self) -> dict[str, Any]:
        joints = {name: dataclasses.replace(joint, friction=dataclasses.replace(
            joint.friction, viscous=WRONG * joint.friction.viscous,
            coulomb=WRONG * joint.friction.coulomb))
            for name, joint in self.model.config.joints.items()}
        wrong = Arm.load(dataclasses.replace(self.model.config, joints=joints)).replace(
            parameters=WRONG * self.model.parameters)
        found = {}
        for law in ('disturbance_observer', 'computed_torque'):
            right, off = self._tracking(law, self.model), self._tracking(law, wrong)
            found[law] = off / right
            found[f'{law}_mrad'] = 1e3 * right
        return {'disturbance_ratio': found['disturbance_observer'],
                'computed_torque_ratio': found['computed_torque'],
                'disturbance_rms_mrad': found['disturbance_observer_mrad'],
                'computed_torque_rms_mrad': found['computed_torque_mrad']}

    def _tracking(self, law: str, model: Arm) -> float:
        motion = fourier_test(self.model, seed=2, frequency=0.4, floor=0.0)
        loop = self.loop(law, model)
        start = motion.sample(0.0).q
        there = point_to_point(loop.controller.reference.q, start, self.limits, model, 0.5)
        loop.controller.follow(there)
        loop.run(there.duration + 0.5)
        loop.controller.follow(motion)
        errors: list[Array] = []

        def note(_: object) -> None:
            assert loop.controller.reference is not None
            errors.append(loop.controller.reference.q - loop.plant.state.joint_position)
        loop.run(1.0 if self.quick else motion.duration, note)
        return rms(np.array(errors))


class Plate:
    """Above the tool, uneven by 3 mm over 0.1 m along its way."""

    THICK = 0.02   # [m]

    def __init__(self) -> None:
        self._placed = False

    def follow(self, loop: ClosedLoop) -> None:
        x, y, z = loop.plant.pose()[:3, 3]
        if not self._placed:
            self._z = z + 0.025                 # the hand has a round end
            loop.plant.place_obstacle('plate', (x, 0.0, self._z + self.THICK), friction=0.2,
                                      box=(0.4, 0.8, self.THICK), stiffness=10e3)
            self._x, self._placed = x, True
        height = self._z + 0.5 * self.THICK + 0.0015 * np.sin(2.0 * np.pi * y / 0.1)
        loop.plant.move_obstacle('plate', (self._x, 0.0, height))


def _ramp(u: float) -> float:
    """Way of a smooth rise of the speed from 0 to 1, as part of its duration."""
    return u**3 - 0.5 * u**4


def rms(values: Array) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


PARTS: dict[str, Callable[[Bench], dict[str, Any]]] = {
    'circle': Bench.circle, 'singular': Bench.singular, 'goals': Bench.goals,
    'impedance': Bench.impedance, 'wipe': Bench.wipe, 'pushes': Bench.wipe_pushes,
    'disturbance': Bench.disturbance}


def main(given: list[str] | None = None) -> None:
    """Measure and print; `given`: arguments instead of those of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--parts', nargs='+', default=list(PARTS), choices=PARTS)
    parser.add_argument('--quick', action='store_true', help='little of each, to test this file')
    parser.add_argument('--pushes', type=int, default=100, help='while wiping')
    parser.add_argument('--json', action='store_true')
    arguments = parser.parse_args(given)
    bench, result = Bench(arguments.quick, arguments.pushes), {}
    for part in arguments.parts:
        result.update(PARTS[part](bench))
    rows = [(name, str(value) if isinstance(value, dict) else value)
            for name, value in result.items()]
    emit('task', ('figure', 'value'), rows, result, arguments.json)


if __name__ == '__main__':
    main()
