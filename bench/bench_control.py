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

Cost. `step_us` is one `Law.step`, `step_ratio` that over the bare Pinocchio calls which the law
needs: rnea for computed torque and oscillation damping, rnea and crba for impedance, gravity for
PD, two gravity for elastic state feedback, three rnea for elastic inverse dynamics, two frame
placements and two Jacobians for Cartesian motion. Laws that need none are set against one rnea.
Short bursts in turn, the best of each, so that a busy machine hits all alike.

Seeds. The collision tests of thesis 000 (section 5.3) and paper 001 (section 6) with a real
detector, see `armsense_sim.collision_trial`. `biorob_dissipation_s`: from the first to the last
touch, admittance reaction. `tudor_halt_ms`: from the detection until the swinging motor is at 5 %
of its speed, stop reaction; `tudor_residual_force_n`: mean contact force over half a second, more
than two seconds later.
`tudor_damping_ratio`: time in which the strain of link 2 falls to 10 % of its peak after a knock
(8 N for 50 ms at link 3), without strain feedback over with it.

With `--quick` the motions are cut after a second and slow decays are not awaited: its figures are
for tests of this file only.

Notes below the table: the step response of joint 2 of biorob (0.3 rad, elastic state feedback)
and the collision without reaction.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
import dataclasses
import math
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
import pinocchio as pin

from armsense_core.control import ArmState, LAWS, Reference
from armsense_core.control.config import ControllerConfig
from armsense_core.control.motion_controller import MotionController
from armsense_core.model import ArmModel
from armsense_core.trajectory import fourier_test, pick_and_place, Trajectory
from armsense_sim.closed_loop import ClosedLoop
from armsense_sim.collision_trial import BIOROB, CollisionTrial, TrialResult, TUDOR
from bench.report import emit

Array = NDArray[np.float64]
ARMS = ('laas4', 'biorob', 'tudor')
WRONG = 1.2            # model parameters over the true ones
REST = 0.3             # [s] before a motion
FREQUENCY = 0.4        # [Hz] of the Fourier motion
BURST, REPEATS = 50, 300
CALLS = {'pd_gravity': ('gravity',), 'computed_torque': ('rnea',),
         'oscillation_damping': ('rnea',), 'joint_impedance': ('rnea', 'crba'),
         'elastic_state': ('gravity',) * 2, 'elastic_inverse_dynamics': ('rnea',) * 3,
         'kinematic_cartesian': ('pose', 'jacobian') * 2}
COLUMNS = ('arm, law', 'rms', 'peak', 'rms, 20 % wrong', 'rms, pick+place', 'step us', 'ratio')


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
    costs = {arm: step_costs(arm, 20 if arguments.quick else REPEATS) for arm in arguments.arms}
    tracks = track_all(arguments.arms, arguments.quick)
    seeds, notes = seed_tests(arguments.quick)
    rows, result = [], {}
    for arm in arguments.arms:
        result[arm] = {}
        for law in laws_of(arm):
            exact, wrong, pick = (tracks[arm, law, kind] for kind in ('exact', 'wrong', 'pick'))
            us, ratio = costs[arm][law]
            rows.append((f'{arm} {law}', exact.rms, exact.peak, wrong.rms, pick.rms, us, ratio))
            result[arm][law] = {'rms_rad': exact.rms, 'peak_rad': exact.peak,
                                'rms_rad_model_error': wrong.rms, 'step_us': us,
                                'step_ratio': ratio}
    emit('control', COLUMNS, rows, {**result, 'seeds': seeds}, arguments.json,
         [*(f'{name}: {value:.4g}' for name, value in seeds.items()), *notes])


def laws_of(arm: str) -> list[str]:
    """Laws of an arm that follow a reference."""
    given = ControllerConfig.of(ArmModel.load(arm)).laws
    return [law for law in LAWS if law in given and law != 'float']


# -- tracking ---------------------------------------------------------------------------------

def track_all(arms: list[str], quick: bool) -> dict[tuple[str, str, str], Tracking]:
    """Errors by arm, law and kind of run; two processes share the work."""
    jobs = [(arm, law, kind, quick) for arm in arms for law in laws_of(arm)
            for kind in ('exact', 'wrong', 'pick')]
    with ProcessPoolExecutor(2) as pool:
        return dict(zip([job[:3] for job in jobs], pool.map(_track, jobs), strict=True))


def _track(job: tuple[str, str, str, bool]) -> Tracking:
    arm, law, kind, quick = job
    truth = ArmModel.load(arm)
    believed = wrong_model(truth) if kind == 'wrong' else truth
    path = pick_and_place(truth) if kind == 'pick' else fast_fourier(truth)
    return track(believed, truth, law, path, 1.0 if quick else path.duration)


def fast_fourier(model: ArmModel) -> Trajectory:
    """The Fourier motion of an arm."""
    return fourier_test(model, frequency=FREQUENCY, use=0.7,
                        floor=ControllerConfig.of(model).floor)


def wrong_model(truth: ArmModel, factor: float = WRONG) -> ArmModel:
    """The same arm with all masses, inertias and friction times `factor`."""
    config = truth.config
    assert config is not None
    joints = {name: dataclasses.replace(joint, friction=dataclasses.replace(
        joint.friction, viscous=factor * joint.friction.viscous,
        coulomb=factor * joint.friction.coulomb)) for name, joint in config.joints.items()}
    model = ArmModel.load(dataclasses.replace(config, joints=joints))
    return model.replace(parameters=factor * model.parameters)


def track(believed: ArmModel, truth: ArmModel, law: str, path: Trajectory,
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


# -- cost -------------------------------------------------------------------------------------

def step_costs(arm: str, repeats: int) -> dict[str, tuple[float, float]]:
    """Microseconds of a step and their ratio to the bare calls, by law."""
    model = ArmModel.load(arm)
    config = ControllerConfig.of(model)
    n = model.n
    q = np.array(config_home(model))
    dq, ddq = np.full(n, 0.3), np.full(n, 0.2)
    state = ArmState(q, dq, q + 0.01, dq, np.zeros(n), np.zeros(n))
    reference = Reference(q + 0.001, dq, ddq, ddq, ddq)
    runs: dict[str, Callable[[], Any]] = {f'bare {name}': run
                                          for name, run in bare_calls(model, q, dq, ddq).items()}
    for name in laws_of(arm):
        law = config.make(name, model)
        law.reset(state)
        runs[name] = _stepper(law, state, reference)
    best = _best(runs, repeats)
    return {name: (best[name], best[name] / sum(best[f'bare {call}']
                                                for call in CALLS.get(name, ('rnea',))))
            for name in laws_of(arm)}


def config_home(model: ArmModel) -> tuple[float, ...]:
    """Home of an arm [rad]."""
    assert model.config is not None
    return model.config.home


def bare_calls(model: ArmModel, q: Array, dq: Array, ddq: Array) -> dict[str, Callable[[], Any]]:
    """Pinocchio without anything around it."""
    inner, data = model._model, model._data
    frame, axes = inner.getFrameId(model.tool_frame), pin.LOCAL_WORLD_ALIGNED
    return {'rnea': lambda: pin.rnea(inner, data, q, dq, ddq),
            'crba': lambda: pin.crba(inner, data, q),
            'gravity': lambda: pin.computeGeneralizedGravity(inner, data, q),
            'pose': lambda: pin.framesForwardKinematics(inner, data, q),
            'jacobian': lambda: pin.computeFrameJacobian(inner, data, q, frame, axes)}


def _stepper(law: Any, state: ArmState, reference: Reference) -> Callable[[], Any]:
    return lambda: law.step(state, reference, 1e-3)


def _best(runs: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    best = dict.fromkeys(runs, math.inf)
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.perf_counter()
            for _ in range(BURST):
                run()
            best[name] = min(best[name], (time.perf_counter() - start) / BURST * 1e6)
    return best


# -- seeds ------------------------------------------------------------------------------------

def seed_tests(quick: bool) -> tuple[dict[str, float], list[str]]:
    """Figures of the documents' tests, and notes."""
    biorob = collide('biorob', 'retract')
    tudor = collide('tudor', 'stop')
    ratio, with_damping = damping_ratio(1.5 if quick else 6.0)
    seeds = {'biorob_dissipation_s': biorob.dissipation, 'tudor_halt_ms': 1e3 * tudor.halt,
             'tudor_residual_force_n': tudor.rest_force, 'tudor_damping_ratio': ratio}
    notes = [f'biorob: {_told(biorob)}', f'tudor: {_told(tudor)}',
             f'tudor: strain falls to 10 % within {with_damping:.2f} s']
    if not quick:
        notes.append(f'biorob without reaction: {_told(collide("biorob", "ignore"))}')
        for size in (0.3, -0.3):
            overshoot, settled = step_response(size)
            notes.append(f'biorob, joint 2, step of {size} rad: overshoot {overshoot:.1%}, within '
                         f'5 % after {settled:.2f} s')
    return seeds, notes


def collide(arm: str, strategy: str) -> TrialResult:
    """One collision test."""
    return CollisionTrial({'biorob': BIOROB, 'tudor': TUDOR}[arm], strategy).run()


def _told(result: TrialResult) -> str:
    delay = 1e3 * (result.detection - result.contact)
    return (f'contact at {result.contact:.3f} s, detected {delay:.0f} ms later, '
            f'{result.false_alarms} false alarms, peak {result.peak_force:.1f} N, at rest '
            f'{result.rest_force:.2f} N, {result.phase}')


def step_response(size: float) -> tuple[float, float]:
    """Overshoot and settling time [s] (5 %) of joint 2 of biorob under a step [rad]."""
    model = ArmModel.load('biorob')
    loop = ClosedLoop(model)
    loop.run(0.5)
    home = np.array(config_home(model))
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
    model = ArmModel.load('tudor')
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
