"""The command: recordings and a robot file in; model, report and a JSON object out."""

import contextlib
import io
import json
import re

import numpy as np
import pytest
from robot_data import write_motion, write_robot

from armsense.cli import fleet, identify_command, tasks
from armsense.cli.identify_command import main
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.model.model_file import ModelFile

PAYLOAD = 0.4                          # [kg]
CENTER = np.array([0.05, 0.0, 0.02])   # [m] in the frame of the last link


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp('robot')
    arm = write_robot(out)
    heavy = arm.replace(1.1 * arm.parameters)
    write_motion(out / 'train.csv', heavy, 0)
    write_motion(out / 'other.csv', heavy, 1)
    loaded = heavy.parameters
    loaded[-10:-6] += PAYLOAD * np.array([1.0, *CENTER])
    write_motion(out / 'loaded.csv', heavy.replace(loaded), 2)
    write_motion(out / 'held.csv', heavy.replace(loaded), 3, friction=0.0, rest=1.5)
    return out


@pytest.fixture(scope='module')
def written(folder, tmp_path_factory):
    """Output folder and JSON of one run with everything."""
    out = tmp_path_factory.mktemp('out') / 'model.yaml'
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        code = main([str(folder / 'train.csv'), '--robot', str(folder / 'robot.yaml'), '--out',
                     str(out), '--validate', str(folder / 'other.csv'), '--payload',
                     str(folder / 'loaded.csv'), '--json'])
    assert code == 0
    return out.parent, json.loads(text.getvalue().strip().splitlines()[-1])


def test_json_and_model_file(written):
    out, result = written
    assert {'train_percent', 'validation_percent', 'gravity', 'masses_kg', 'feasible',
            'seconds'} <= result.keys()
    assert result['validation_percent'] < 1.5
    assert result['feasible'] is True
    np.testing.assert_allclose(result['gravity'], [0.0, 0.0, -9.81], atol=0.2)
    assert ModelFile.read(out / 'model.yaml').arm == 'mine'


def test_model_page_and_data_stand_together(written):
    out, result = written
    assert sorted(p.name for p in out.iterdir()) == ['model.yaml', 'report.html', 'report.json']
    facts = json.loads((out / 'report.json').read_text())
    assert facts['result']['validation_percent'] == result['validation_percent']
    assert facts['verdict']['grade'] == 'good'
    page = (out / 'report.html').read_text()
    assert facts['verdict']['sentence'].split(': ', 1)[1] in page
    for joint in facts['joints']:
        assert joint['name'] in page


def test_page_needs_nothing_beside_itself(written):
    page = (written[0] / 'report.html').read_text()
    outside = re.findall(r'(?:src|href)="(?!#|data:)([^"]+)"|url\((?!#|data:)([^)]+)\)', page)
    assert [a or b for a, b in outside if not (a or b).startswith('#')] == []
    assert page.count('<svg') >= 4 * 2 + 3 + 3
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_intervals_and_words_of_the_report(written):
    facts = json.loads((written[0] / 'report.json').read_text())
    assert len(facts['parameters']) == 40
    for row in facts['parameters']:
        assert row['low'] <= row['value'] <= row['high']
    states = {row['name']: row['state'] for row in facts['parameters']}
    assert states['m1'] == 'silent'       # turns about the axis of gravity only
    assert states['mx4'] == 'alone'
    words = {entry['link']: entry['text'] for entry in facts['identifiability']}
    assert 'Never felt by any joint' in words['link1']
    coulomb = [row for row in facts['drive'] if row['term'] == 'coulomb']
    np.testing.assert_allclose([row['value'] for row in coulomb], 0.3, atol=0.03)


def test_payload_from_motion(written):
    payload = written[1]['payload']
    assert payload['dynamic']['mass_kg'] == pytest.approx(PAYLOAD, abs=0.02)
    np.testing.assert_allclose(payload['dynamic']['center_m'], CENTER, atol=0.01)
    assert 'hold several poses' in payload['static']['error']


def test_payload_from_poses(folder, capsys):
    assert main([str(folder / 'train.csv'), '--robot', str(folder / 'robot.yaml'), '--payload',
                 str(folder / 'held.csv'), '--json']) == 0
    result = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert result['payload']['static']['mass_kg'] == pytest.approx(PAYLOAD, abs=0.03)


def test_identified_description_and_gains(folder, tmp_path, capsys):
    urdf = tmp_path / 'new' / 'arm.urdf'
    assert main([str(folder / 'train.csv'), '--robot', str(folder / 'robot.yaml'), '--payload',
                 str(folder / 'loaded.csv'), '--payload-mass', str(PAYLOAD), '--urdf', str(urdf),
                 '--json']) == 0
    result = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    again = Arm(urdf.read_text())
    np.testing.assert_allclose(again.masses, list(result['masses_kg'].values()), rtol=1e-5)
    told = [row for row in result['gains'] if row['gain']]
    assert [row['joint'] for row in told][-2:] == ['joint3', 'joint4']
    for row in told:
        assert row['told'] == 2.0
        assert row['gain'] == pytest.approx(2.0, rel=0.1)
    assert main([str(folder / 'train.csv'), '--robot', str(folder / 'robot.yaml'), '--payload',
                 str(folder / 'loaded.csv'), '--payload-mass', '1', '2']) == 1
    assert 'number of --payload-mass is 2' in capsys.readouterr().err


def test_an_unreadable_payload_is_told_before_the_fit(folder, monkeypatch, capsys):
    monkeypatch.setattr(identify_command, 'run', never)
    assert main([str(folder / 'train.csv'), '--robot', str(folder / 'robot.yaml'), '--payload',
                 str(folder / 'nothing.csv')]) == 1
    assert 'no such file' in capsys.readouterr().err


@pytest.mark.parametrize(('change', 'text'), [
    (('train.csv', 'nothing.csv'), 'no such file'),
    (('train.csv', 'nothing*.csv'), 'nothing matches'),
    (('q4]', 'q5]'), "unknown column 'q5'"),
    (('gains: [2.0, ', 'gains: ['), 'length of drive.gains is 3'),
    (('arm.urdf', 'leg.urdf'), 'leg.urdf'),
])
def test_mistakes_end_with_one_line_and_no_file(folder, tmp_path, capsys, change, text):
    robot = folder / 'changed.yaml'
    robot.write_text((folder / 'robot.yaml').read_text().replace(*change))
    data = str(folder / 'train.csv').replace(*change)
    assert main([data, '--robot', str(robot), '--out', str(tmp_path / 'never.yaml')]) == 1
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith('identify: ')
    assert text in error
    assert list(tmp_path.iterdir()) == []


def never(*_, **__):
    raise AssertionError('it began to identify')


def test_a_folder_as_target_is_refused_before_the_fit(folder, tmp_path, monkeypatch, capsys):
    for module in (identify_command, tasks):
        monkeypatch.setattr(module, 'run', never)
    (tmp_path / 'kept.mcap').write_text('precious')
    assert main([str(folder / 'train.csv'), '--robot', str(folder / 'robot.yaml'), '--out',
                 str(tmp_path)]) == 1
    assert f'such as {tmp_path}/model.yaml' in capsys.readouterr().err
    with pytest.raises(ArmsenseError, match='is a folder'):
        tasks.identify(('run',), 'laas4', str(tmp_path), 'sdp', print)
    assert (tmp_path / 'kept.mcap').read_text() == 'precious'


@pytest.mark.parametrize(('option', 'target', 'text'), [
    ('--out', '/proc/nowhere/model.yaml', 'cannot write into /proc/nowhere'),
    ('--out', '/proc/model.yaml', 'cannot write into /proc'),
    ('--fleet', '/proc/fleet', 'cannot write into /proc/fleet')])
def test_a_target_that_cannot_be_written_is_told_before_the_fit(
        folder, monkeypatch, capsys, option, target, text):
    monkeypatch.setattr(identify_command, 'run', never)
    monkeypatch.setattr(fleet, 'identify_day', never)
    assert main([str(folder / 'train.csv'), '--robot', str(folder / 'robot.yaml'), option,
                 target, '--jobs', '1']) == 1
    assert text in capsys.readouterr().err


def test_numbers_that_are_none(folder, capsys):
    rows = (folder / 'train.csv').read_text().splitlines()
    rows[20] = rows[20].replace(',', ',nan,', 1).rsplit(',', 1)[0]
    (folder / 'hole.csv').write_text('\n'.join(rows))
    assert main([str(folder / 'hole.csv'), '--robot', str(folder / 'robot.yaml'), '--json']) == 0
    notes = json.loads(capsys.readouterr().out.strip().splitlines()[-1])['notes']
    assert any('1 of 1000 rows lack a number, the first in line 21' in note for note in notes)
