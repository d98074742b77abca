"""The command: a csv file and a robot file in, a model and a JSON object out."""

import json

import numpy as np
import pytest

from armsense_core.model import ArmModel
from armsense_core.model.model_file import ModelFile
from armsense_identification.identify_command import main

COLUMNS = 'columns: {time: t, position: [q1, q2, q3, q4], effort: [u1, u2, u3, u4]}'


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp('robot')
    arm = ArmModel.load('laas4').replace(armature=np.zeros(4))
    (out / 'arm.urdf').write_text(arm.urdf)
    joints = ', '.join(arm.joint_names)
    (out / 'robot.yaml').write_text(
        f'robot: mine\nurdf: arm.urdf\njoints: [{joints}]\nsource:\n  {COLUMNS}\n'
        'drive: {gains: [2.0, 2.0, 2.0, 2.0]}\ngravity: auto\n')
    for seed, name in enumerate(('train', 'other')):
        rng = np.random.default_rng(seed)
        t = np.arange(0.0, 10.0, 0.01)
        omega = 2.0 * np.pi * 0.1 * np.arange(1, 6)
        a, b = rng.uniform(-0.5, 0.5, (2, 5, 4))
        phase = np.multiply.outer(t, omega)
        q = np.cos(phase) @ a + np.sin(phase) @ b
        dq = (-np.sin(phase) * omega) @ a + (np.cos(phase) * omega) @ b
        ddq = -(np.cos(phase) * omega ** 2) @ a - (np.sin(phase) * omega ** 2) @ b
        tau = 1.1 * arm.inverse_dynamics_batch(q, dq, ddq) + 0.2 * dq + 0.3 * np.tanh(dq / 0.01)
        tau += 0.02 * rng.standard_normal(tau.shape)
        header = 't,' + ','.join(f'{k}{j}' for k in 'qu' for j in range(1, 5))
        np.savetxt(out / f'{name}.csv', np.column_stack([t, q, tau / 2.0]), delimiter=',',
                   header=header, comments='')
    return out


def test_json_and_model_file(folder, capsys):
    code = main([str(folder / 'train.csv'), '--robot', str(folder / 'robot.yaml'), '--out',
                 str(folder / 'model.yaml'), '--validate', str(folder / 'other.csv'), '--json'])
    result = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert code == 0
    assert {'train_percent', 'validation_percent', 'gravity', 'masses_kg', 'feasible',
            'seconds'} <= result.keys()
    assert result['validation_percent'] < 1.5
    assert result['feasible'] is True
    np.testing.assert_allclose(result['gravity'], [0.0, 0.0, -9.81], atol=0.2)
    assert ModelFile.read(folder / 'model.yaml').arm == 'mine'


@pytest.mark.parametrize(('change', 'text'), [
    (('train.csv', 'nothing.csv'), 'no such file'),
    (('q4]', 'q5]'), "unknown column 'q5'"),
    (('gains: [2.0, ', 'gains: ['), 'length of drive.gains is 3'),
    (('arm.urdf', 'leg.urdf'), 'leg.urdf'),
])
def test_mistakes_end_with_one_line_and_no_file(folder, capsys, change, text):
    robot = folder / 'changed.yaml'
    robot.write_text((folder / 'robot.yaml').read_text().replace(*change))
    data = str(folder / 'train.csv').replace(*change)
    out = folder / 'never.yaml'
    assert main([data, '--robot', str(robot), '--out', str(out)]) == 1
    error = capsys.readouterr().err.strip()
    assert text in error
    assert len(error.splitlines()) == 1
    assert not out.exists()


def test_numbers_that_are_none(folder, capsys):
    rows = (folder / 'train.csv').read_text().splitlines()
    rows[20] = rows[20].replace(',', ',nan,', 1).rsplit(',', 1)[0]
    (folder / 'hole.csv').write_text('\n'.join(rows))
    assert main([str(folder / 'hole.csv'), '--robot', str(folder / 'robot.yaml')]) == 1
    assert 'sample 19' in capsys.readouterr().err
