"""Recordings of a made-up robot as csv files, for the tests of the commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from armsense.model import Arm

COLUMNS = 'columns: {time: t, position: [q1, q2, q3, q4], effort: [u1, u2, u3, u4]}'
GAIN = 2.0      # [Nm] per unit of effort


def write_robot(folder: Path) -> Arm:
    """Robot file and URDF; the nominal arm."""
    arm = Arm.load('laas4').replace(armature=np.zeros(4))
    (folder / 'arm.urdf').write_text(arm.urdf)
    joints = ', '.join(arm.joint_names)
    (folder / 'robot.yaml').write_text(
        f'robot: mine\nurdf: arm.urdf\njoints: [{joints}]\nsource:\n  {COLUMNS}\n'
        f'drive: {{gains: [{GAIN}, {GAIN}, {GAIN}, {GAIN}]}}\ngravity: auto\n')
    return arm


def write_motion(path: Path, arm: Arm, seed: int, *, friction: float = 0.3,
                 rest: float = 0.0) -> None:
    """Ten seconds of Fourier motion, or poses held for `rest` seconds each."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, 10.0, 0.01)
    if rest:
        steps = np.repeat(rng.uniform(-1.0, 1.0, (int(10.0 / rest) + 1, 4)), int(100 * rest), 0)
        q = _smooth(steps[:len(t)])
    else:
        omega = 2.0 * np.pi * 0.1 * np.arange(1, 6)
        a, b = rng.uniform(-0.5, 0.5, (2, 5, 4))
        phase = np.multiply.outer(t, omega)
        q = np.cos(phase) @ a + np.sin(phase) @ b
    dq = np.gradient(q, t, axis=0, edge_order=2)
    ddq = np.gradient(dq, t, axis=0, edge_order=2)
    tau = arm.inverse_dynamics_batch(q, dq, ddq) + 0.2 * dq + friction * np.tanh(dq / 0.01)
    tau += 0.02 * rng.standard_normal(tau.shape)
    header = 't,' + ','.join(f'{k}{j}' for k in 'qu' for j in range(1, 5))
    np.savetxt(path, np.column_stack([t, q, tau / GAIN]), delimiter=',', header=header,
               comments='')


def _smooth(steps: np.ndarray) -> np.ndarray:
    """Steps with transitions of half a second."""
    window = np.hanning(52)
    padded = np.concatenate([np.repeat(steps[:1], 26, 0), steps, np.repeat(steps[-1:], 25, 0)])
    return np.stack([np.convolve(column, window / window.sum(), 'valid')[:len(steps)]
                     for column in padded.T], axis=1)
