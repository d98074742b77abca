"""Thesis 004, table 4.3: friction of the motors from sweeps at constant velocity."""

from __future__ import annotations

import dataclasses

import numpy as np

from armsense.model import Arm, ArmConfig
from armsense.sim import make_plant
from armsense.trajectory.reference import Samples
from armsense.types import Array
from bench.papers.entry import Progress, Row, Table
from bench.papers.least_squares import ordinary
from bench.papers.simulated import drive_rigid

# Motor: joint that it drives, b_eq [Nm s] on the motor side, f [Nm] on the joint side.
PRINTED = {'mn4004': (2, 2.42e-6, 0.122), 'mn4006': (1, 3.96e-6, 0.103),
           'mn5006': (0, 6.45e-6, 0.247)}
SPEEDS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)   # [rad/s] of the joint
TRAVEL = 2.0                           # [rad] at constant velocity
STEP, RAMP, SETTLE = 1e-3, 0.1, 0.35   # [s]
REPEATS = 20                           # of every sweep
WITHIN = 0.05                          # of the value that was put in


def make(progress: Progress) -> list[Table]:
    """Table 4.3."""
    rows = []
    for number, (motor, (joint, viscous, coulomb)) in enumerate(PRINTED.items()):
        progress(f'friction of {motor}')
        b, f = bench_test(joint, seed=number)
        rows += [_found(f'{motor} b_eq [Nm s]', viscous, b),
                 _found(f'{motor} f [Nm]', coulomb, f)]
    return [Table(
        'thesis-004-4.3', 'friction coefficients of the motors', tuple(rows),
        'constant velocities both ways, 0.5 to 3 rad/s, twenty times each; links without weight, '
        'current noise of the arm file',
        ('the viscous coefficients of table A.1 (CAD column 5.3e-6, 4.2e-6, 8.0e-6, 4.2e-6) are '
         'not those of table 4.3 (6.45e-6, 3.96e-6, 2.42e-6), and their order is another',
         'table 4.3 counts viscous friction on the motor side; table A.1 and the printed URDF use '
         'such numbers on the joint side, where they are 27^2 or 31^2 times larger',
         'simulated annealing (table A.1) finds Coulomb friction of 0.300, 0.048, 0.046, 0.225 Nm '
         'where the bench test of table 4.3 found 0.247, 0.103, 0.122, 0.103 Nm'),
        ('the document has no truth to compare with; its numbers are put into the simulated '
         f'motors, and finding them again within {100 * WITHIN:g} % counts as better',))]


def _found(label: str, printed: float, ours: float) -> Row:
    return Row(label, printed, ours, bool(abs(ours - printed) <= WITHIN * printed), printed)


def bench_test(joint: int, seed: int) -> tuple[float, float]:
    """b_eq on the motor side [Nm s] and f on the joint side [Nm] (eqs. 4.12-4.14)."""
    config = dataclasses.replace(ArmConfig.load('laas4'), gravity=(0.0, 0.0, 0.0))
    model = Arm.load(config)
    drive = list(config.joints.values())[joint]
    rng = np.random.default_rng(seed)
    plant = make_plant(config)
    W, y = [], []
    for speed in (sign * s for s in SPEEDS for sign in (1.0, -1.0)):
        run = drive_rigid(plant, model, sweep(np.array(config.home), joint, speed))
        steady = (run.t > RAMP + SETTLE) & (run.t < run.t[-1] - RAMP)
        # The simulated arm repeats itself exactly: only the noise of the current differs.
        current = np.tile(run.tau[steady, joint] / drive.torque_per_ampere, REPEATS)
        current = current + drive.current_sensor.noise * rng.standard_normal(len(current))
        omega = np.tile(drive.gear_ratio * run.dq[steady, joint], REPEATS)
        W.append(np.stack([omega, np.sign(omega) / drive.gear_ratio], axis=1))
        y.append(current * drive.torque_per_ampere / drive.gear_ratio)
    b, f = ordinary(np.concatenate(W), np.concatenate(y)).theta
    return float(b), float(f)


def sweep(home: Array, joint: int, speed: float) -> Samples:
    """One joint moves at a constant speed between smooth ramps; the others stand."""
    t = np.arange(0.0, 2.0 * RAMP + TRAVEL / abs(speed), STEP)
    up, down = np.clip(t / RAMP, 0.0, 1.0), np.clip((t[-1] - t) / RAMP, 0.0, 1.0)
    s = np.minimum(up, down)
    velocity = speed * (3.0 * s**2 - 2.0 * s**3)
    q, dq, ddq = (np.zeros((len(t), len(home))) for _ in range(3))
    dq[:, joint] = velocity
    ddq[:, joint] = np.gradient(velocity, STEP)
    q[:, joint] = np.cumsum(velocity) * STEP - 0.5 * velocity.sum() * STEP
    return Samples(t, home + q, dq, ddq, np.zeros_like(q))
