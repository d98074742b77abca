"""Tracking, cost and reactions of every control law on three arms.

    python -m bench.bench_control [--arms laas4 biorob tudor] [--quick] [--json]

What is measured, fixed beforehand:

Tracking. Every law drives its arm through `ClosedLoop`: MuJoCo plant with friction, springs,
blades and backlash, emulated boards with quantised encoders and noisy currents, the driver and
the controller of the nodes. Two motions per arm, the same for all laws: a *Fourier* motion (three
harmonics of 0.4 Hz, seeded, scaled to 70 % of the arm's tightest limit) and *pick and place*
(joint space quintics at 70 % of the velocity limits). The error is the reference of a cycle minus
the true joint angle in that cycle; `rms_rad` and `peak_rad` are taken over all joints and the
whole Fourier motion, the table also has pick and place. `rms_rad_model_error`: the same with
every mass, inertia and friction that the controller believes 20 % too large.
`float` follows nothing and is left out.

Cost. `step_us` is one `Law.step`, `step_ratio` that over the fewest bare Pinocchio calls which
the law needs; the table names them. Decentralised and kinematic joint laws need none; their
`step_ratio` is set against one rnea. See `bench.control_cost`. Below the table: what it costs to
plan a goal of a minute through 60 waypoints, processor time per second of trajectory.

Seeds. The collision tests of thesis 000 (section 5.3) and paper 001 (section 6) with a real
detector, see `bench.papers.collision_trial`. `biorob_dissipation_s`: from the first to the last
touch, admittance reaction. `tudor_halt_ms`: from the detection until the swinging motor is at 5 %
of its speed, stop reaction; `tudor_residual_force_n`: mean contact force over half a second, more
than two seconds later. Those are the documents' own motions; below the table stand the
distributions over other speeds, contact points and seeds, and the halt for other rotors: those of
TUDOR are not published but assumed (`config/arms/tudor.yaml`).
`tudor_damping_ratio`: time in which the strain of link 2 falls to 10 % of its peak after a knock
(8 N for 50 ms at link 3), without strain feedback over with it.

With `--quick` the motions are cut after a second, slow decays are not awaited and each collision
happens once: its figures are for tests of this file only.

Notes below the table: also the step response of joint 2 of biorob (0.3 rad, elastic state
feedback) and the collision without reaction.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
import dataclasses
import time
from typing import NamedTuple

import numpy as np

from armsense.control import ArmState, LAWS, Reference
from armsense.control.config import ControllerConfig
from armsense.control.motion_controller import MotionController
from armsense.model import Arm
from armsense.sim.closed_loop import ClosedLoop
from armsense.trajectory import Trajectory
from bench.control_collisions import (
    biorob_jobs,
    Job,
    rotor_jobs,
    ROTORS,
    run,
    spread,
    told,
    tudor_jobs,
)
from bench.control_cost import step_costs
from bench.motions import fourier_test, pick_and_place
from bench.papers.collision_trial import BIOROB, TrialResult
from bench.report import emit

ARMS = ('laas4', 'biorob', 'tudor')
WRONG = 1.2            # model parameters over the true ones
REST = 0.3             # [s] before a motion
FREQUENCY = 0.4        # [Hz] of the Fourier motion
ROUNDS = 300           # of the cost measurement
COLUMNS = ('arm, law', 'rms', 'peak', 'rms, 20 % wrong', 'rms, pick+place', 'step us',
           'Pinocchio calls', 'us', 'ratio')


class Tracking(NamedTuple):
    rms: float     # [rad]
    peak: float    # [rad]


def main(given: list[str] | None = None) -> None:
    """Measure and print; `given`: arguments instead of those of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--arms', nargs='+', default=list(ARMS), choices=ARMS)
    parser.add_argument('--quick', action='store_true',
                        help='a second of each motion, one collision of each kind')
    parser.add_argument('--json', action='store_true')
    arguments = parser.parse_args(given)
    rounds = 20 if arguments.quick else ROUNDS
    costs = {arm: step_costs(arm, laws_of(arm), rounds) for arm in arguments.arms}
    tracks = track_all(arguments.arms, arguments.quick)
    seeds, notes = seed_tests(arguments.quick)
    rows, result = [], {}
    for arm in arguments.arms:
        result[arm] = {}
        for law in laws_of(arm):
            exact, wrong, pick = (tracks[arm, law, kind] for kind in ('exact', 'wrong', 'pick'))
            cost = costs[arm][law]
            needed = (cost.calls, cost.bare, cost.ratio) if cost.calls else ('none', None, None)
            rows.append((f'{arm} {law}', exact.rms, exact.peak, wrong.rms, pick.rms, cost.step,
                         *needed))
            result[arm][law] = {'rms_rad': exact.rms, 'peak_rad': exact.peak,
                                'rms_rad_model_error': wrong.rms, 'step_us': cost.step,
                                'step_ratio': cost.ratio}
    emit('control', COLUMNS, rows, {**result, 'seeds': seeds}, arguments.json,
         [*(f'{name}: {value:.4g}' for name, value in seeds.items()),
          *(f'planning, {arm}: {planning_cost(arm):.2f} ms per second of trajectory'
            for arm in arguments.arms), *notes])


def laws_of(arm: str) -> list[str]:
    """Laws of an arm that follow a reference."""
    given = ControllerConfig.of(Arm.load(arm)).laws
    return [law for law in LAWS if law in given and law != 'float']


def planning_cost(arm: str) -> float:
    """Processor time to plan a goal, per second of its trajectory [ms]."""
    model = Arm.load(arm)
    controller, home = MotionController(model), np.array(model.config.home)
    controller.step(ArmState.rigid(home, np.zeros(model.n)))
    times = np.arange(1.0, 61.0)
    rows = home + 0.2 * np.sin(np.outer(times, np.linspace(0.4, 0.9, model.n)))
    begun = time.thread_time()
    for _ in range(3):
        controller.follow_waypoints(times, rows)
    return 1e3 * (time.thread_time() - begun) / 3 / times[-1]


# -- tracking ---------------------------------------------------------------------------------

def track_all(arms: list[str], quick: bool) -> dict[tuple[str, str, str], Tracking]:
    """Errors by arm, law and kind of run; two processes share the work."""
    jobs = [(arm, law, kind, quick) for arm in arms for law in laws_of(arm)
            for kind in ('exact', 'wrong', 'pick')]
    with ProcessPoolExecutor(2) as pool:
        return dict(zip([job[:3] for job in jobs], pool.map(_track, jobs), strict=True))


def _track(job: tuple[str, str, str, bool]) -> Tracking:
    arm, law, kind, quick = job
    truth = Arm.load(arm)
    believed = wrong_model(truth) if kind == 'wrong' else truth
    path = pick_and_place(truth) if kind == 'pick' else fast_fourier(truth)
    return track(believed, truth, law, path, 1.0 if quick else path.duration)


def fast_fourier(model: Arm) -> Trajectory:
    """The Fourier motion of an arm."""
    return fourier_test(model, frequency=FREQUENCY, use=0.7,
                        floor=ControllerConfig.of(model).floor)


def wrong_model(truth: Arm, factor: float = WRONG) -> Arm:
    """The same arm with all masses, inertias and friction times `factor`."""
    config = truth.config
    joints = {name: dataclasses.replace(joint, friction=dataclasses.replace(
        joint.friction, viscous=factor * joint.friction.viscous,
        coulomb=factor * joint.friction.coulomb)) for name, joint in config.joints.items()}
    model = Arm.load(dataclasses.replace(config, joints=joints))
    return model.replace(parameters=factor * model.parameters)


def track(believed: Arm, truth: Arm, law: str, path: Trajectory,
          seconds: float) -> Tracking:
    """Errors of a law along a path."""
    config = dataclasses.replace(ControllerConfig.of(believed), floor=None,
                                 path_tolerance=(0.0,), goal_tolerance=(0.0,))
    controller = MotionController(believed, config, law)
    loop = ClosedLoop(believed, plant_model=truth, controller=controller,
                      home=path.sample(0.0).q)
    loop.run(REST)
    controller.follow(path)
    errors = []
    for _ in range(round(seconds / loop.dt)):
        true = loop.plant.state.joint_position.copy()
        loop.step()
        assert controller.reference is not None
        errors.append(controller.reference.q - true)
    if loop.driver.fault is not None:
        raise RuntimeError(f'{truth.name}, {law}: {loop.driver.fault}')
    error = np.array(errors)
    return Tracking(float(np.sqrt((error**2).mean())), float(np.abs(error).max()))


# -- seeds ------------------------------------------------------------------------------------

def seed_tests(quick: bool) -> tuple[dict[str, float], list[str]]:
    """Figures of the documents' tests, and notes."""
    biorob = run(biorob_jobs()[:1 if quick else None])
    tudor = run(tudor_jobs()[:1 if quick else None])
    ratio, with_damping = damping_ratio(1.5 if quick else 6.0)
    seeds = {'biorob_dissipation_s': biorob[0].dissipation, 'tudor_halt_ms': 1e3 * tudor[0].halt,
             'tudor_residual_force_n': tudor[0].rest_force, 'tudor_damping_ratio': ratio}
    notes = [f'biorob: {told(biorob[0])}', f'tudor: {told(tudor[0])}',
             f'tudor: strain falls to 10 % within {with_damping:.2f} s']
    return seeds, notes if quick else [*notes, *_distributions(biorob, tudor), *_step_notes()]


def _distributions(biorob: list[TrialResult], tudor: list[TrialResult]) -> list[str]:
    alone, *rotors = run([Job(BIOROB, 'ignore'), *rotor_jobs()])
    halts = ', '.join(f'{1e3 * result.halt:.1f} ms at {factor:g} x'
                      for factor, result in zip(ROTORS, rotors, strict=True))
    return [
        f'biorob without reaction: {told(alone)}',
        f'biorob, {len(biorob)} collisions (1.5 to 2.2 s, three places of the obstacle): '
        f'dissipation [s] {spread([r.dissipation for r in biorob])}',
        f'tudor, {len(tudor)} collisions (60 to 100 deg/s, three places of the obstacle): '
        f'halt [ms] {spread([1e3 * r.halt for r in tudor])}; '
        f'residual force [N] {spread([r.rest_force for r in tudor])}',
        f'tudor: its rotor inertias are assumed; halt {halts}',
    ]


def _step_notes() -> list[str]:
    notes = []
    for size in (0.3, -0.3):
        overshoot, settled = step_response(size)
        notes.append(f'biorob, joint 2, step of {size} rad: overshoot {overshoot:.1%}, within '
                     f'5 % after {settled:.2f} s')
    return notes


def step_response(size: float) -> tuple[float, float]:
    """Overshoot and settling time [s] (5 %) of joint 2 of biorob under a step [rad]."""
    model = Arm.load('biorob')
    loop = ClosedLoop(model)
    loop.run(0.5)
    home = np.array(model.config.home)
    goal = home + np.array([0.0, size, 0.0, 0.0])
    loop.controller.reference = Reference.at_rest(goal)
    response = []
    for _ in range(1800):
        loop.step()
        response.append((loop.plant.state.joint_position[1] - home[1]) / size)
    outside = np.flatnonzero(np.abs(np.array(response) - 1.0) > 0.05)
    return max(response) - 1.0, float(outside[-1] + 1) * loop.dt


def damping_ratio(longest: float) -> tuple[float, float]:
    """Decay time without strain feedback over that with it, and the latter [s]."""
    free, damped = (decay_time(feedback, longest) for feedback in (False, True))
    return free / damped, damped


def decay_time(feedback: bool, longest: float) -> float:
    """Until the strain of link 2 stays below 10 % of its peak after a knock [s]."""
    model = Arm.load('tudor')
    config = dataclasses.replace(ControllerConfig.of(model), floor=None)
    if not feedback:
        gains = {**config.laws['oscillation_damping'], 'strain': [0.0]}
        config = dataclasses.replace(config, laws={**config.laws, 'oscillation_damping': gains})
    loop = ClosedLoop(model, controller=MotionController(model, config, 'oscillation_damping'))
    loop.run(1.0)
    loop.plant.apply_force(model.link_names[-1], [0.3, 0.0, 0.0], [0.0, 0.0, -8.0], 0.05)
    loop.run(0.05)
    strains: list[float] = []
    loop.run(longest + 0.5, lambda _: strains.append(float(loop.plant.state.strain[1])))
    strain = np.array(strains)
    swing = np.abs(strain - 0.5 * (strain[-400:].max() + strain[-400:].min()))
    return float(np.flatnonzero(swing > 0.1 * swing.max())[-1] + 1) * loop.dt


if __name__ == '__main__':
    main()
