"""The four kinds of work of a campaign, each a plain function that any process can run."""

from collections.abc import Callable
import json
from typing import Any, NamedTuple

import numpy as np

from armsense import schema
from armsense.detector import alarm_statistic, cluster_maxima, ContactOptions, fixed_thresholds
from armsense.drive import make_drive
from armsense.identify.identify import identify, Options
from armsense.identify.model import model_file
from armsense.identify.signals.recording import Recording
from armsense.model import Arm
from armsense.model.model_file import ModelFile, Provenance
from armsense.sim.campaign.collision import BODIES, force_to_feel, record_collision, Truth
from armsense.sim.campaign.free_motion import record_free, SETTLE
from armsense.sim.campaign.individual import Individual
from armsense.sim.campaign.setup import Known, Setup, Worker, worker
from armsense.watch import link_torques, Tape, Trace, watch_all
from armsense.watch.collision_monitor import CollisionMonitor, DetectionConfig
from armsense.watch.state_estimator import StateEstimator

LATER = 0.02       # [s] after the decision, when the residual has settled
STEADY = 0.012     # [s] over which the true force is averaged: the memory of the residual
LASTING = 0.3      # least share of the largest force in that time, else the contact has bounced
WEAKEST = 1.0      # [N] below which there is no contact to compare with
FINE = ContactOptions()
SECONDS = 60.0     # [s] of motion that a model is identified from
BAND = 5.0         # [Hz] of torques behind springs, whose encoders are coarse
CHUNK = 20.0       # [s] of free motion in one task, one arm of the series
SEPARATION = 0.5   # [s] between two alarms that count twice
SCALES = np.round(np.geomspace(1.0 / 3.0, 3.0, 21), 4)   # of the thresholds, for the ROC
# Seeds of different purposes, and of different campaigns, never meet.
# Series and collisions begin at multiples of the nine bodies: number k is the same kind in each.
SERIES = 9 * 10**6
CALIBRATION, FREE, COLLISION, ARM = 10**6, 2 * 10**6, 9 * 4 * 10**5, 8 * 10**6


def settled_link(monitor: CollisionMonitor, trace: Trace, number: int, link: str) -> str:
    """The link that `contact` names for an event in reading `number` that named `link`."""
    period = float(np.median(np.diff(trace.time)))
    peak = np.abs(trace.filtered[number:number + round(LATER / period) + 1]).max(axis=0)
    joint = monitor.settled_joint(peak, trace.threshold[number], monitor.model.moving_joint(link))
    return monitor.model.link_names[joint]


def check_contact(monitor: CollisionMonitor, trace: Trace, number: int,
                  truth: Truth) -> dict[str, Any]:
    """Errors of force [N] and point [m] some time after the decision in reading `number`.

    None where nothing could be said or compared.
    """
    out: dict[str, Any] = {'force_error': None, 'point_error': None, 'steady_force': None}
    period = float(np.median(np.diff(trace.time)))
    then = number + round(LATER / period)
    window = slice(then - round(STEADY / period) - truth.begin, then - truth.begin)
    if window.start < 0 or window.stop > len(truth.forces) or then >= len(trace.time):
        return out
    sizes = np.linalg.norm(truth.forces[window], axis=1)
    if sizes.min() < max(LASTING * sizes.max(), WEAKEST):
        return out
    force, point = truth.forces[window].mean(axis=0), truth.points[window.stop - 1]
    found = monitor.contact(trace.filtered[then], trace.threshold[then], trace.q[then],
                            truth.joint, FINE)
    if found is None:
        return out
    out['steady_force'] = float(np.linalg.norm(force))
    if found.force_observable:
        out['force_error'] = float(np.linalg.norm(found.force - force))
    if found.point_observable:
        out['point_error'] = float(np.linalg.norm(found.point - point))
    return out


def identify_arm(individual: Individual, seed: int, seconds: float | None = None) -> ModelFile:
    """Move the arm, whose model is the nominal one, and identify it as a user would do it.

    Drives and friction are identified where the torque comes from the motor's current; behind a
    spring or a strain gauge it is that of the links alone.
    """
    model = individual.model
    tape = record_free(individual, seconds or SECONDS, seed, as_identified=True)
    rigid = all(joint.drive == 'rigid' for joint in model.config.joints.values())
    # Without drives there is nothing but the links that may explain a torque.
    options = (Options(gravity=model.gravity) if rigid else
               Options(gravity=model.gravity, cutoff=BAND, terms=()))
    found = identify([_recording(model, tape, rigid)], model, options)
    errors = {'train_percent': found.train.percent}
    if rigid:
        gears = {name: joint.gear_ratio for name, joint in model.config.joints.items()}
        return model_file(found, (), errors, gears)
    return ModelFile.create(found.model, found.parameters, Provenance.now(
        'physically consistent least squares', (), {'train': found.train.percent}))


def _recording(model: Arm, tape: Tape, rigid: bool) -> Recording:
    """Positions and torques of the moving arm."""
    estimator = StateEstimator(model.config, DetectionConfig.of(model).velocity)
    states = estimator.batch(tape.position, tape.torque, tape.joint_position, tape.strain)
    time = tape.stamp * 1e-9
    keep = time > time[0] + SETTLE
    torque = tape.torque if rigid else link_torques(make_drive(model.config, model=model), states)
    return Recording(time[keep], states.q[keep], torque[keep], name=model.name)


class Task(NamedTuple):
    """One piece of work."""

    kind: str     # 'identification', 'calibration', 'free' or 'collision'
    number: int

    @property
    def name(self) -> str:
        return f'{self.kind}-{self.number}'


def arm_of(setup: Setup, task: Task) -> int:
    """Which arm of the series does a task; collisions give every arm every body."""
    turn = task.number // len(BODIES) if task.kind == 'collision' else task.number
    return turn % setup.arms


def run_task(setup: Setup, known: Known, task: Task) -> dict[str, Any]:
    """Result of one task, plain data but for the arrays of a calibration."""
    kinds: dict[str, Callable[[Worker, Known, Task], dict[str, Any]]] = {
        'identification': _identification, 'calibration': _calibration, 'free': _free,
        'collision': _collision}
    return {'task': task.name, 'arm': arm_of(setup, task),
            **kinds[task.kind](worker(setup), known, task)}


def _seed(here: Worker, purpose: int, number: int) -> int:
    return purpose + number + SERIES * here.setup.seed


def _identification(here: Worker, known: Known, task: Task) -> dict[str, Any]:
    seed = _seed(here, ARM, task.number)
    file = identify_arm(here.individual(known, task.number, seed), seed)
    return {'model': json.dumps(schema.dump(file)), 'errors_percent': file.provenance.errors}


def _calibration(here: Worker, known: Known, task: Task) -> dict[str, Any]:
    """Free residuals of every observer, (N, n) each."""
    tape = _free_tape(here, known, task, CALIBRATION)
    traces = _watch(here, known, task, tape, silent=True)
    begin = round(SETTLE / (tape.seconds / (len(tape.stamp) - 1)))
    return {'residuals': {name: trace.watched[begin:].astype(np.float32)
                          for name, (_, trace) in traces.items()}}


def _free(here: Worker, known: Known, task: Task) -> dict[str, Any]:
    tape = _free_tape(here, known, task, FREE)
    traces = _watch(here, known, task, tape)
    return {'seconds': tape.seconds,
            'observers': {name: _alarms(trace, here) for name, (_, trace) in traces.items()}}


def _alarms(trace: Trace, here: Worker) -> dict[str, Any]:
    """Alarms of one recording, and at other heights of the thresholds."""
    options = here.config.detector
    period = float(np.median(np.diff(trace.time)))
    awake = round(options.warm_up / period)   # before that, the detector is silent
    signal = alarm_statistic(trace.ratio[awake:], options.count, options.window)
    gap = round(SEPARATION / period)
    return {'alarms': len(trace.detections),
            'at_scale': [len(cluster_maxima(signal, s, gap)) for s in SCALES.tolist()]}


def _free_tape(here: Worker, known: Known, task: Task, purpose: int) -> Tape:
    arm = arm_of(here.setup, task)
    individual = here.individual(known, arm, _seed(here, ARM, arm))
    return record_free(individual, CHUNK, _seed(here, purpose, task.number))


def _watch(here: Worker, known: Known, task: Task, tape: Tape,
           silent: bool = False) -> dict[str, tuple[CollisionMonitor, Trace]]:
    """What every observer says to a tape."""
    arm = arm_of(here.setup, task)
    model = here.model(known, arm)
    never = fixed_thresholds(np.full(model.n, 1e9))
    names = here.setup.observers
    monitors = [CollisionMonitor(model, here.config, never if silent else known.limits[name, arm],
                                 name) for name in names]
    return dict(zip(names, zip(monitors, watch_all(monitors, tape), strict=True), strict=True))


def _collision(here: Worker, known: Known, task: Task) -> dict[str, Any]:
    arm = arm_of(here.setup, task)
    individual = here.individual(known, arm, _seed(here, ARM, arm))
    tape, truth = record_collision(here.maker, individual, _seed(here, COLLISION, task.number))
    traces = _watch(here, known, task, tape)
    return {
        'truth': {'body': truth.body, 'link': truth.link, 'joint': truth.joint,
                  'peak': truth.peak, 'lever': truth.lever, 'hard': truth.hard,
                  'limit': force_to_feel(here.nominal, truth.link),
                  'speed': truth.speed, 'torque': truth.torque.tolist()},
        'observers': {name: _felt(here, monitor, trace, tape, truth)
                      for name, (monitor, trace) in traces.items()}}


def _felt(here: Worker, monitor: CollisionMonitor, trace: Trace, tape: Tape,
          truth: Truth) -> dict[str, Any]:
    """What one observer made of a collision."""
    after = [(k, d) for k, d in trace.detections if k > truth.begin]
    early = len(trace.detections) - len(after)
    options = here.config.detector
    signal = alarm_statistic(trace.ratio, options.count, options.window)
    limits = np.array(monitor.detector.thresholds.constant)
    # The link can be told where the true torques, without noise, point to it.
    pointed = monitor.isolate(truth.torque, limits)
    clear = pointed is not None and pointed.joint == truth.joint and pointed.margin >= 1.0
    out: dict[str, Any] = {
        'early': early, 'delay': None, 'link': None, 'force': None, 'link_observable': clear,
        'load': (np.abs(truth.torque) / limits).tolist(),
        'height': float(signal[truth.begin:].max(initial=0.0))}
    if not after:
        return out
    number, _ = after[0]
    delay = float(tape.stamp[number] - tape.stamp[truth.begin]) * 1e-9   # [s]
    link = trace.links[trace.detections.index(after[0])]
    return out | {'delay': delay, 'link': link,
                  'settled_link': settled_link(monitor, trace, number, link),
                  'force': truth.reached(number),
                  **check_contact(monitor, trace, number, truth)}
