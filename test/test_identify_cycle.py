"""Excite, record, identify: the parameters of the simulated arm come back from its own bag."""

import json
import os
from pathlib import Path
import subprocess
import sys

import numpy as np

from armsense.model import Arm

ROOT = Path(__file__).resolve().parents[1]


def armsense(*arguments: str) -> str:
    """Standard output of a command of the suite."""
    environment = {**os.environ, 'ARMSENSE_ROOT': str(ROOT)}
    result = subprocess.run([sys.executable, '-m', *arguments], env=environment, cwd=ROOT,
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_cycle_recovers_the_arm(tmp_path):
    armsense('armsense.cli.excite_group', 'design', '--arm', 'laas4', '--period', '8',
             '--starts', '1', '--no-figure', '--out', str(tmp_path / 'excite.yaml'))
    told = armsense('armsense.cli.excite_group', 'run', str(tmp_path / 'excite.yaml'),
                    '--periods', '1', '--bag', str(tmp_path / 'bag'), '--json')
    assert 'nothing collided' in json.loads(told)['checks']
    out = armsense('armsense.cli.identify_command', str(tmp_path / 'bag'), '--arm',
                   'laas4', '--out', str(tmp_path / 'model.yaml'), '--json')
    found = json.loads(out.splitlines()[-1])
    assert found['feasible']
    assert found['cross_validated_percent'] < 0.5
    report = json.loads((tmp_path / 'report.json').read_text())
    assert report['verdict']['grade'] == 'good'
    assert (tmp_path / 'report.html').exists()
    truth = Arm.load('laas4')
    model = Arm.load('laas4', tmp_path / 'model.yaml')
    joints = zip(truth.config.joints.values(), model.config.joints.values(), strict=True)
    for true, identified in joints:
        wrong = abs(identified.friction.coulomb - true.friction.coulomb)
        assert wrong < 0.15 * true.friction.coulomb
    rng = np.random.default_rng(1)
    for _ in range(20):
        q, dq, ddq = rng.uniform(-1.0, 1.0, (3, 4))
        expected = truth.inverse_dynamics(q, dq, 3.0 * ddq)
        error = np.abs(model.inverse_dynamics(q, dq, 3.0 * ddq) - expected)
        assert error.max() < 0.03 * np.abs(expected).max() + 0.02


def test_springs_come_back_through_boards_without_signs(tmp_path):
    armsense('armsense.cli.excite_group', 'design', '--arm', 'biorob', '--period', '6',
             '--starts', '1', '--no-figure', '--out', str(tmp_path / 'excite.yaml'))
    told = armsense('armsense.cli.excite_group', 'run', str(tmp_path / 'excite.yaml'),
                    '--periods', '1', '--bag', str(tmp_path / 'bag'), '--json')
    assert 'nothing collided' in json.loads(told)['checks']
    out = armsense('armsense.cli.identify_command', str(tmp_path / 'bag'), '--arm', 'biorob',
                   '--out', str(tmp_path / 'model.yaml'), '--json')
    assert json.loads(out.splitlines()[-1])['grade'] == 'good'
    joints = Arm.load('biorob', tmp_path / 'model.yaml').config.joints.values()
    np.testing.assert_allclose([joint.elastic.stiffness for joint in joints],
                               [17.5, 10.0, 6.0, 6.0], rtol=0.05)     # thesis 000, table 4.2
