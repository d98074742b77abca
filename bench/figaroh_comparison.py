"""FIGAROH beside us: its own environment, the same data, checked results.

It is installed once from PyPI into out/figaroh; where that fails, its figures are None and a
note says why. Both sides have one thread; ratios are of processor time, which other work on the
machine does not change.
"""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path
import re
import subprocess
import sys
import time
from typing import Any, NamedTuple

import numpy as np

from armsense.identify.robot_file import RobotFile
from armsense.identify.signals.filters import low_pass
from armsense.jobs.identify_job import Setup
from armsense.model import Arm
from armsense.recordings.reader import read_recording
from armsense.types import Array
from bench.base_estimate import base_estimate

VERSION = '1.0.2'
WORKER = Path(__file__).with_name('figaroh_worker.py')
SAMPLES = 20_000
REPEATS = 3            # of our side; the best counts
SAME = 1e-6            # relative difference of results that are the same
FILTER = 100.0         # [Hz] of positions, as in FIGAROH's own example
BLOCK = 500            # samples of the regressor at once
ERROR = 1.0            # [% points]: it puts a median filter before the same low-pass


class Compared(NamedTuple):
    """Processor seconds of the same work, and whether the results agree."""

    theirs: float
    ours: float
    agree: bool
    remark: str

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours


class Figaroh:
    """FIGAROH in its own environment."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.python = folder / 'venv' / 'bin' / 'python'

    def install(self) -> str:
        """Install once; returns '' or why it could not be installed."""
        done = self._folder / f'installed-{VERSION}'
        if done.exists():
            return ''
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / 'COLCON_IGNORE').touch()   # its wheels bring package.xml files
        steps = ([sys.executable, '-m', 'venv', '--clear', str(self._folder / 'venv')],
                 [str(self.python), '-m', 'pip', 'install', '--quiet', f'figaroh=={VERSION}'],
                 [str(self.python), '-c', 'import figaroh.tools.regressor'])
        for step in steps:
            run = subprocess.run(step, env=_environment(), capture_output=True, text=True)
            if run.returncode != 0:
                return f'FIGAROH {VERSION} left out: {_last(run.stderr)}'
        done.touch()
        return ''

    def run(self, task: str, **data: Any) -> dict[str, Any]:
        """One task of the worker."""
        source, target = self._folder / f'{task}_in.npz', self._folder / f'{task}_out.npz'
        np.savez(source, **data)
        done = subprocess.run([str(self.python), str(WORKER), task, str(source), str(target)],
                              env=_environment(), capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f'FIGAROH {task}: {_last(done.stderr)}')
        with np.load(target) as found:
            result = {key: found[key] for key in found}
        source.unlink()
        target.unlink()
        return result

    def urdf(self, text: str, name: str) -> str:
        """A URDF without shapes, whose meshes it would want to load."""
        path = self._folder / f'{name}.urdf'
        path.write_text(re.sub(r'<(visual|collision)>.*?</\1>', '', text, flags=re.DOTALL))
        return str(path)


def compare_regressor(figaroh: Figaroh) -> Compared:
    """zeego, 20,000 samples: 120,000 x 84 with friction, rotor inertia and offsets."""
    model, motion = _motion()
    seconds, W = best(lambda: all_columns(model, *motion))
    found = figaroh.run('regressor', urdf=figaroh.urdf(model.urdf, model.name),
                        **dict(zip(('q', 'dq', 'ddq'), motion, strict=True)))
    theirs = found['W'].reshape(model.n, SAMPLES, -1).transpose(1, 0, 2).reshape(W.shape)
    return Compared(float(found['cpu']), seconds, _same(W, theirs), f'{W.shape[0]} x {W.shape[1]}')


def compare_base(figaroh: Figaroh) -> Compared:
    """The same regressor: base parameters and their least-squares values."""
    model, motion = _motion()
    W = all_columns(model, *motion)
    names = [*model.parameter_names, *(f'{t}{k}' for t in ('fv', 'fs', 'ia', 'off')
                                       for k in range(1, model.n + 1))]
    rng = np.random.default_rng(2)
    tau = W @ rng.normal(size=len(names)) + rng.normal(size=len(W))
    seconds, (base, beta, _) = best(lambda: base_estimate(W, tau, names))
    found = figaroh.run('base', W=W, tau=tau, names=np.array(names))
    return Compared(float(found['cpu']), seconds,
                    _same(base.regressor(W) @ beta, found['predicted']),
                    f'{W.shape[0]} x {W.shape[1]}, {int(found["count"])} base parameters')


def compare_tx40(figaroh: Figaroh, folder: Path, robot: RobotFile) -> Compared:
    """From the files of a Staubli TX40 to base parameters, all 45,000 samples."""
    urdf = next(folder.glob('*.urdf'))

    def ours() -> tuple[float, int]:
        return tx40_base(folder, robot)

    seconds, (percent, count) = best(ours)
    found = figaroh.run('tx40', urdf=figaroh.urdf(urdf.read_text(), 'tx40'), decimate=False,
                        positions=str(folder / 'pos_read_data.csv'),
                        currents=str(folder / 'curr_data.csv'),
                        motor_matrix=np.array(robot.drive.motor_matrix))
    theirs = float(found['percent'])
    agree = abs(theirs - percent) < ERROR and count == int(found['count'])
    return Compared(float(found['cpu']), seconds, agree,
                    f'error {theirs:.2f} % and {percent:.2f} %, {int(found["count"])} and {count} '
                    'base parameters')


def tx40_base(folder: Path, robot: RobotFile) -> tuple[float, int]:
    """The work of FIGAROH's example: filter, derive, regressor, base parameters, least squares."""
    setup = Setup.of_robot(robot, folder)
    recording, _ = read_recording(folder, setup.origin)
    model, rate = setup.arm, recording.rate
    q = low_pass(recording.q, FILTER, rate)
    dq = np.gradient(q, 1.0 / rate, axis=0)
    ddq = np.gradient(dq, 1.0 / rate, axis=0)
    W = all_columns(model, q, dq, ddq, extra=3)
    blocks, turn = W.reshape(len(q), model.n, -1), np.sign(dq[:, 4] + dq[:, 5])
    for joint, other in ((4, 5), (5, 4)):       # motor 6 turns with both
        blocks[:, joint, -3:] = np.stack([ddq[:, other], dq[:, other], turn], axis=1)
    tau = recording.tau.ravel()
    base, _, error = base_estimate(W, tau, tuple(f'p{k}' for k in range(W.shape[1])))
    return float(100.0 * error / np.linalg.norm(tau)), len(base)


def all_columns(model: Arm, q: Array, dq: Array, ddq: Array, extra: int = 0) -> Array:
    """[Y | dq | sign dq | ddq | 1 | zeros], (N n, 14 n + extra)."""
    N, n = q.shape
    joint = np.arange(n)
    W = np.empty((N, n, 14 * n + extra))
    for k in range(0, N, BLOCK):                # what is written stays in the cache
        part, moving = W[k:k + BLOCK], tuple(x[k:k + BLOCK] for x in (q, dq, ddq))
        part[:, :, :10 * n] = model.torque_regressor_batch(*moving).reshape(len(part), n, -1)
        part[:, :, 10 * n:] = 0.0
        for number, signal in enumerate((moving[1], np.sign(moving[1]), moving[2], 1.0)):
            part[:, joint, (10 + number) * n + joint] = signal
    return W.reshape(N * n, -1)


def _motion() -> tuple[Arm, tuple[Array, Array, Array]]:
    model = Arm.load('zeego')
    q, dq, ddq = np.random.default_rng(1).uniform(-1.5, 1.5, (3, SAMPLES, model.n))
    return model, (q, dq, ddq)


def best(work: Callable[[], Any]) -> tuple[float, Any]:
    """Least processor time of some runs [s], and the result."""
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        result = work()
        seconds.append(time.process_time() - start)
    return min(seconds), result


def _same(a: Array, b: Array) -> bool:
    return bool(np.linalg.norm(a - b) <= SAME * np.linalg.norm(a))


def _environment() -> dict[str, str]:
    """Without the paths of this workspace."""
    dropped = ('PYTHONPATH', 'LD_LIBRARY_PATH', 'PYTHONHOME', 'VIRTUAL_ENV')
    kept = {key: value for key, value in os.environ.items() if key not in dropped}
    return {**kept, 'OMP_NUM_THREADS': '1'}


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else 'no message'
