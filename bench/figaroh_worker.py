"""FIGAROH's side of `bench identify`; runs in FIGAROH's own environment.

    python figaroh_worker.py regressor|base|tx40 IN.npz OUT.npz

IN has the motion, the URDF's path and what the task needs; OUT gets the seconds of wall clock and
processor and the result, so that the benchmark can check that both sides did the same work.
"""

from __future__ import annotations

import logging
import sys
import time
from typing import Any

from figaroh.identification.base_identification import BaseIdentification
from figaroh.tools.qrdecomposition import QRDecomposer
from figaroh.tools.regressor import build_regressor_basic
from figaroh.tools.robot import load_robot
import numpy as np

OPTIONS = {'is_joint_torques': True, 'is_external_wrench': False, 'force_torque': None}


def regressor(data: Any) -> dict[str, Any]:
    """Columns of rigid body, friction, rotors and offsets of every sample."""
    robot = load_robot(str(data['urdf']))
    options = {**OPTIONS, 'has_friction': True, 'has_actuator_inertia': True,
               'has_joint_offset': True, 'act_idxv': list(range(robot.model.nv))}
    clock = Clock()
    W = build_regressor_basic(robot, data['q'], data['dq'], data['ddq'], options)
    return {**clock.read(), 'W': W}


def base(data: Any) -> dict[str, Any]:
    """Base parameters of a given regressor, and their least-squares values."""
    names = [str(name) for name in data['names']]
    W, tau = data['W'], data['tau']
    clock = Clock()
    lengths = np.diag(W.T @ W)
    keep = [k for k, length in enumerate(lengths) if length >= 1e-6]
    decomposer = QRDecomposer()
    W_b, _, _, phi = decomposer.double_decomposition(tau, W[:, keep], [names[k] for k in keep])
    return {**clock.read(), 'count': len(phi), 'predicted': W_b @ phi}


def tx40(data: Any) -> dict[str, Any]:
    """From the recorded files to base parameters, with the settings of FIGAROH's own example."""
    clock = Clock()
    robot = load_robot(str(data['urdf']))
    job = Tx40(robot, '')
    job.files = (str(data['positions']), str(data['currents']))
    job.motor = np.asarray(data['motor_matrix'])
    job.initialize()
    job.solve(decimate=bool(data['decimate']), plotting=False, save_results=False)
    error = np.linalg.norm(job.tau_noised - job.tau_identif) / np.linalg.norm(job.tau_noised)
    return {**clock.read(), 'percent': 100.0 * error, 'count': len(job.phi_base)}


class Tx40(BaseIdentification):
    """The Staubli TX40: motor positions and currents in, wrist coupling added."""

    files: tuple[str, str]
    motor: np.ndarray

    def load_param(self, config_file: str, setting_type: str = 'identification') -> None:
        n = self.model.nv
        joints = list(self.model.names)[1:]
        self.identif_config = {
            **OPTIONS, 'has_friction': True, 'has_actuator_inertia': True,
            'has_joint_offset': True, 'ts': 2e-4, 'active_joints': joints,
            'act_Jid': list(range(1, n + 1)), 'act_idxq': list(range(n)),
            'act_idxv': list(range(n)), 'idx_act_joints': list(range(n)), 'robot_name': 'tx40',
            **{name: [0.0] * n for name in ('fv', 'fs', 'Ia', 'offset', 'off')}}

    def load_trajectory_data(self, data_source: Any = None) -> dict[str, Any]:
        positions, currents = (np.loadtxt(path, delimiter=',', skiprows=1) for path in self.files)
        ratio = np.diag(np.diag(self.motor))
        ratio[4, 5] = self.motor[5, 4]
        joints = positions @ np.linalg.inv(self.motor).T
        joints[:, 1] -= 0.5 * np.pi
        joints[:, 2] += 0.5 * np.pi
        count, step = len(joints), self.identif_config['ts']
        self.filter_config = {'differentiation_method': 'gradient', 'filter_params': {
            'nbutter': 4, 'f_butter': 100.0, 'f_sample': 1.0 / step, 'med_fil': 5}}
        self.raw_data = {'timestamps': np.arange(count)[:, None] * step, 'positions': joints,
                         'velocities': None, 'accelerations': None, 'torques': currents @ ratio.T}
        return self.raw_data

    def process_kinematics_data(self, filter_config: Any = None) -> None:
        self.filter_kinematics_data(self.filter_config)

    def process_torque_data(self, **kwargs: Any) -> Any:
        self.processed_data['torques'] = self.raw_data['torques']
        return self.raw_data['torques']

    def add_additional_parameters(self) -> None:
        """Inertia and friction of motor 6, which turns with both joints of the wrist."""
        count = self.num_samples
        v, a = self.processed_data['velocities'], self.processed_data['accelerations']
        extra = np.zeros((len(self.dynamic_regressor), 3))
        both = np.sign(v[:, 4] + v[:, 5])
        extra[4 * count:5 * count] = np.stack([a[:, 5], v[:, 5], both], axis=1)
        extra[5 * count:6 * count] = np.stack([a[:, 4], v[:, 4], both], axis=1)
        self.dynamic_regressor = np.hstack([self.dynamic_regressor, extra])
        self.standard_parameter |= {'Iam6': 0.0, 'fvm6': 0.0, 'fsm6': 0.0}

    def _compute_validation_metrics(self) -> None:
        """No unseen data; its fallback does not know the added columns."""

    def initialize_standard_parameters(self, *args: Any, **kwargs: Any) -> None:
        super().initialize_standard_parameters(*args, **kwargs)
        self.add_additional_parameters()


class Clock:
    """Wall clock and processor since its making."""

    def __init__(self) -> None:
        self._start = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, float]:
        return {'wall': time.perf_counter() - self._start[0],
                'cpu': time.process_time() - self._start[1]}


def main() -> None:
    logging.disable(logging.CRITICAL)
    task, source, target = sys.argv[1:]
    run = {'regressor': regressor, 'base': base, 'tx40': tx40}[task]
    np.savez(target, **run(np.load(source)))


if __name__ == '__main__':
    main()
