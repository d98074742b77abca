"""Real contacts: pushes by hand on a UR10e, and joint 1 of a UR against a forearm of rubber.

    python -m bench.bench_contacts [--data FOLDER] [--observer NAME] [--json]

The model is identified from one free recording of the UR10e. Thresholds are the largest values of
free recordings, so `false` counts alarms outside the pushes alone. A push begins where a current
leaves its level; the forearm's sensor tells contact some tens of milliseconds late, so an alarm is
early where it comes more than `SENSOR_LAG` before it. The recordings are not part of the
repository: they are looked up in ../shared/data beside it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
import sys
from typing import Any, NamedTuple

import numpy as np

from armsense.detector import alarm_statistic, fixed_thresholds, Thresholds
from armsense.errors import ArmsenseError
from armsense.identify.robot_file import RobotFile
from armsense.identify.signals.recording import Recording
from armsense.jobs.identify_job import run, Setup
from armsense.model import Arm
from armsense.observer import OBSERVERS
from armsense.recordings.reader import Origin, read_recording
from armsense.types import Array
from armsense.watch import Tape, Trace, watch
from armsense.watch.collision_monitor import CollisionMonitor, DetectionConfig
from bench.report import emit

ROOT = Path(__file__).resolve().parents[1]
FREE = ('*ptp*', '*load*', '*20sec*', '*30sec*', '*40sec*', '*50sec*')   # seven of the UR10e
# [s] just before each push, by eye from the currents of the two recordings.
PUSHES = (1.75, 4.5, 8.2, 11.75), (0.4, 2.4, 4.85, 7.95, 11.25, 14.05)
LEVEL, LEAST, HELD = 5.0, 0.15, 6   # standard deviations, [A], samples: a current has left
LASTS = 1.0            # [s] after its begin in which a push must be felt
SETTLE = 0.5           # [s] at the begin of a recording that count for nothing
FREE_SHARE = 0.85      # of the runs of single joints; the rest is not free
RULE = 1.75            # [A] in joint 1: the authors' rule
SENSOR = 37            # column of the forearm's sensor, which falls on contact
SENSOR_LAG = 0.2       # [s]


class Watch(NamedTuple):
    """A robot and how it is watched."""

    model: Arm
    observer: str | None
    thresholds: Thresholds

    def trace(self, recording: Recording) -> Trace:
        """What the monitor says to a recording with its true stamps."""
        rows = len(recording.t)
        stamps = np.round((recording.t - recording.t[0]) * 1e9).astype(np.int64)
        tape = Tape(stamps, recording.q, recording.tau, np.zeros((rows, 0)), np.zeros((rows, 0)),
                    np.ones(rows, bool))
        config = DetectionConfig.of(self.model)
        return watch(CollisionMonitor(self.model, config, self.thresholds, self.observer), tape)

    def fitted(self, free: Sequence[Recording]) -> Watch:
        """With thresholds that no free recording exceeds."""
        options = DetectionConfig.of(self.model).detector
        silent = self._replace(thresholds=fixed_thresholds(np.full(self.model.n, 1e9)))
        tops = []
        for recording in free:
            trace = silent.trace(recording)
            settled = trace.watched[trace.valid & (trace.time > SETTLE)]
            residuals = [alarm_statistic(np.abs(column), options.count, options.window).max()
                         for column in settled[:, :self.model.n].T]
            tops.append([*residuals, *settled[:, self.model.n:].max(axis=0)])
        height = np.max(tops, axis=0)
        limits = fixed_thresholds(height[:self.model.n])
        return self._replace(thresholds=replace(limits, onset=tuple(height[self.model.n:])))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--data', type=Path, default=ROOT.parent / 'shared' / 'data')
    parser.add_argument('--observer', choices=OBSERVERS, help='default: that of the arm')
    parser.add_argument('--json', action='store_true')
    arguments = parser.parse_args()
    folder = arguments.data / 'ur10e'
    if not folder.is_dir():
        print(f'bench contacts: no recordings in {folder}', file=sys.stderr)
        return 1
    robot = RobotFile.read(ROOT / 'bench' / 'robots' / 'ur10e.yaml')
    data = next(folder.glob('*30sec*'))
    setup = Setup.of_robot(robot, data)
    model = run(setup, [data]).model_file().apply(setup.arm)
    result = {'ur10e_pushes': pushes(folder, setup.origin, model.with_rate(100.0),
                                     arguments.observer),
              'nist_impact': impacts(arguments.data / 'nist_impact', robot, model.with_rate(125.0),
                                     arguments.observer)}
    rows = [(name, f'{r["found"]} of {r["of"]}', r.get('median_ms', r.get('before_rule_ms')),
             r.get('false', r.get('early'))) for name, r in result.items()]
    emit('Real contacts', ('recordings', 'found', 'delay or lead ms', 'false or early'),
         rows, result, arguments.json)
    return 0


def pushes(folder: Path, origin: Origin, model: Arm, observer: str | None) -> dict[str, Any]:
    """Pushes by hand on an arm that stands."""
    files = sorted({path for pattern in FREE for path in folder.glob(pattern)})
    free = [read_recording(path, origin)[0] for path in files]
    monitor = Watch(model, observer, DetectionConfig.of(model).thresholds(model)).fitted(free)
    assert origin.robot is not None
    delays, missed, false = [], 0, 0
    for path, starts in zip(sorted((folder / 'collision').glob('*.csv')), PUSHES, strict=True):
        recording = read_recording(path, origin)[0]
        current = recording.tau / np.array(origin.robot.drive.gains)
        trace = monitor.trace(recording)
        alarms = np.array([trace.time[k] for k, _ in trace.detections])
        felt = np.zeros(len(alarms), bool)
        for start in starts:
            begin = push_begin(trace.time, current, start)
            mine = (alarms > begin - 0.1) & (alarms < begin + LASTS)
            delays += [1e3 * float(alarms[mine][0] - begin)] if mine.any() else []
            missed += not mine.any()
            felt |= (alarms > begin - 0.1) & (alarms < begin + 3.0)   # it lets go, and swings
        false += int((~felt).sum())
    return {'found': len(delays), 'of': len(delays) + missed,
            'median_ms': round(float(np.median(delays)), 1) if delays else None, 'false': false}


def push_begin(time: Array, current: Array, start: float) -> float:
    """When a current [A], (N, n), leaves the level it had before a push [s]."""
    before = (time > start - 0.3) & (time < start)
    mean = current[before].mean(axis=0)
    band = np.maximum(LEVEL * current[before].std(axis=0), LEAST)
    for k in range(int(np.searchsorted(time, start)), len(time) - HELD):
        if (np.abs(current[k:k + HELD] - mean) > band).all(axis=0).any():
            return float(time[k])
    raise ArmsenseError(f'no push after {start} s')


def impacts(folder: Path, robot: RobotFile, model: Arm, observer: str | None) -> dict[str, Any]:
    """Runs of joint 1 into a forearm, against the authors' rule."""
    free = []
    for path in sorted(folder.glob('Axis_*')):
        recording, _ = _nist(path, robot)
        free.append(recording.between(0.0, FREE_SHARE * float(recording.t[-1] - recording.t[0])))
    monitor = Watch(model, observer, DetectionConfig.of(model).thresholds(model)).fitted(free)
    found = early = 0
    lead = []
    files = sorted(folder.glob('Drift*'))
    for path in files:
        recording, table = _nist(path, robot)
        time = recording.t - recording.t[0]
        counts = table[:, SENSOR]
        half = 0.5 * (float(np.median(counts[:50])) + float(counts.min()))
        touch = float(time[np.flatnonzero(counts < half)[0]])
        rule = time[np.flatnonzero(np.abs(table[:, 13]) > RULE)]
        trace = monitor.trace(recording)
        alarms = np.array([trace.time[k] for k, _ in trace.detections])
        early += bool((alarms < touch - SENSOR_LAG).any())
        hits = alarms[alarms >= touch - SENSOR_LAG]
        found += len(hits) > 0
        later = rule[rule >= touch - SENSOR_LAG]
        if len(hits) and len(later):
            lead.append(1e3 * float(later[0] - hits[0]))
    return {'found': found, 'of': len(files), 'early': early,
            'before_rule_ms': round(float(np.median(lead)), 1) if lead else None}


def _nist(path: Path, robot: RobotFile) -> tuple[Recording, Array]:
    """Angles and torques of a table, and the table."""
    table = np.genfromtxt(path, delimiter=',')
    tau = table[:, 13:19] * np.array(robot.drive.gains)
    return Recording(table[:, 0] * 1e-3, np.radians(table[:, 1:7]), tau, None, path.name), table


if __name__ == '__main__':
    sys.exit(main())
