"""The three kinds of work of a campaign, each a plain function that any process can run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from armsense_core.detector import alarm_statistic, cluster_maxima, fixed_thresholds, Thresholds
from armsense_core.simulate import Tape, Trace, watch
from armsense_sim.campaign.case import BODIES
from armsense_sim.campaign.collision import Collision, force_to_feel, record_collision
from armsense_sim.campaign.contact_check import check_contact
from armsense_sim.campaign.free_motion import record_free, SETTLE
from armsense_sim.campaign.individual import Individual
from armsense_sim.campaign.setup import Setup, Worker, worker

Array = NDArray[np.float64]
CHUNK = 20.0          # [s] of free motion in one task, one arm of the series
SEPARATION = 0.5      # [s] between two alarms that count twice
SCALES = np.round(np.geomspace(0.3, 3.0, 21), 4)   # factors on the thresholds, for the ROC
# Seeds of different purposes, and of different campaigns, never meet.
# Series and collisions begin at multiples of the nine bodies: number k is the same kind in each.
SERIES = 9 * 10**6
CALIBRATION, FREE, COLLISION, ARM = 10**6, 2 * 10**6, 9 * 4 * 10**5, 8 * 10**6


class Task(NamedTuple):
    kind: str     # 'calibration', 'free' or 'collision'
    number: int

    @property
    def name(self) -> str:
        return f'{self.kind}-{self.number}'


Limits = dict[tuple[str, int], Thresholds]   # by observer and number of the arm


def arm_of(setup: Setup, task: Task) -> int:
    """Which arm of the series does a task; collisions give every arm every body."""
    turn = task.number // len(BODIES) if task.kind == 'collision' else task.number
    return turn % setup.arms


def run_task(setup: Setup, limits: Limits, task: Task) -> dict[str, Any]:
    """Result of one task, plain data but for the arrays of a calibration."""
    kinds: dict[str, Callable[[Setup, Limits, Task], dict[str, Any]]] = {
        'calibration': _calibration, 'free': _free, 'collision': _collision}
    arm = arm_of(setup, task)
    return {'task': task.name, 'arm': arm, **kinds[task.kind](setup, limits, task)}


def _calibration(setup: Setup, limits: Limits, task: Task) -> dict[str, Any]:
    """Free residuals of every observer, (N, n) each."""
    here, tape = _free_tape(setup, task, CALIBRATION)
    silent = fixed_thresholds(np.full(here.model.n, 1e9))
    begin = round(SETTLE / (tape.seconds / (len(tape.stamp) - 1)))
    return {'residuals': {name: watch(here.monitor(name, silent), tape).filtered[begin:]
                          .astype(np.float32) for name in setup.observers}}


def _free(setup: Setup, limits: Limits, task: Task) -> dict[str, Any]:
    here, tape = _free_tape(setup, task, FREE)
    arm = arm_of(setup, task)
    return {'seconds': tape.seconds, 'observers': {
        name: _alarms(watch(here.monitor(name, limits[name, arm]), tape), here)
        for name in setup.observers}}


def _alarms(trace: Trace, here: Worker) -> dict[str, Any]:
    """Alarms of one recording, and at other heights of the thresholds."""
    options = here.config.detector
    signal = alarm_statistic(trace.ratio, options.count, options.window)
    period = float(np.median(np.diff(trace.time)))
    gap = round(SEPARATION / period)
    return {'alarms': len(trace.detections),
            'at_scale': [len(cluster_maxima(signal, s, gap)) for s in SCALES.tolist()]}


def _free_tape(setup: Setup, task: Task, purpose: int) -> tuple[Worker, Tape]:
    here = worker(setup)
    return here, record_free(_individual(setup, here, task), CHUNK,
                             purpose + task.number + SERIES * setup.seed)


def _individual(setup: Setup, here: Worker, task: Task) -> Individual:
    """The arm of a task: the thresholds of an arm are made for that arm."""
    seed = ARM + arm_of(setup, task) + SERIES * setup.seed
    return Individual(here.model, setup.variation, seed)


def _collision(setup: Setup, limits: Limits, task: Task) -> dict[str, Any]:
    here, arm = worker(setup), arm_of(setup, task)
    collision = record_collision(here.maker, _individual(setup, here, task),
                                 COLLISION + task.number + SERIES * setup.seed)
    truth = collision.truth
    return {
        'truth': {'body': truth.body, 'link': truth.link, 'joint': truth.joint,
                  'peak': truth.peak, 'lever': truth.lever, 'hard': truth.hard,
                  'limit': force_to_feel(here.model, truth.link),
                  'speed': truth.speed, 'torque': truth.torque.tolist()},
        'observers': {name: _felt(here, name, limits[name, arm], collision)
                      for name in setup.observers}}


def _felt(here: Worker, name: str, thresholds: Thresholds,
          collision: Collision) -> dict[str, Any]:
    """What one observer made of a collision."""
    tape, truth = collision.tape, collision.truth
    monitor = here.monitor(name, thresholds)
    trace = watch(monitor, tape)
    after = [(k, d) for k, d in trace.detections if k > truth.begin]
    early = len(trace.detections) - len(after)
    options = here.config.detector
    signal = alarm_statistic(trace.ratio, options.count, options.window)
    load = np.abs(truth.torque) / np.array(thresholds.constant)
    out: dict[str, Any] = {
        'early': early, 'delay': None, 'link': None, 'force': None, 'load': load.tolist(),
        'height': float(signal[truth.begin:].max(initial=0.0))}
    if not after:
        return out
    number, _ = after[0]
    delay = float(tape.stamp[number] - tape.stamp[truth.begin]) * 1e-9   # [s]
    return out | {'delay': delay, 'link': trace.links[trace.detections.index(after[0])],
                  'force': truth.reached(number),
                  **check_contact(monitor, trace, number, truth)}
