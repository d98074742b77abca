"""A fleet: one model per arm and day, an arm that changed is named, a broken bag stops nobody."""

import json
import os
from pathlib import Path

import pytest
from robot_data import write_motion, write_robot

from armsense.cli.identify_command import main

pytestmark = pytest.mark.slow

DAY = 86400.0
FIRST = 1.7e9     # [s] of the epoch


@pytest.fixture(scope='module')
def report(tmp_path_factory):
    """Two arms: the friction of one grows on the second day, a bag of the other is bad."""
    folder = tmp_path_factory.mktemp('fleet')
    arm = write_robot(folder)
    runs = {'left/mon.csv': (0.2, 0), 'left/tue.csv': (0.5, 1)}
    for name, (friction, day) in runs.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        write_motion(path, arm, seed=len(name) + day, friction=friction)
        os.utime(path, (FIRST + day * DAY,) * 2)
    bad = folder / 'right' / 'tue.csv'
    bad.parent.mkdir()
    bad.write_text('t,q1\n0,0\n')
    os.utime(bad, (FIRST + DAY,) * 2)
    code = main([str(folder / '*' / '*.csv'), '--robot', str(folder / 'robot.yaml'), '--fleet',
                 str(folder / 'out'), '--jobs', '1'])
    assert code == 0
    return folder / 'out', json.loads((folder / 'out' / 'fleet.json').read_text())


def test_one_model_and_report_per_arm_and_day(report):
    folder, data = report
    days = [(day['arm'], day['date']) for day in data['days']]
    assert days == sorted(days)
    assert [arm for arm, _ in days] == ['left', 'left', 'right']
    for day in data['days'][:2]:
        assert Path(day['model']).exists()
        assert (Path(day['model']).parent / 'report.html').exists()


def test_changed_arm_is_told(report):
    first, second, _ = report[1]['days']
    assert not first['outdated']
    assert second['outdated']
    assert 're-identify' in second['verdict']
    assert second['first_model_percent'] > 2.0 * first['first_model_percent']
    assert sum(second['coulomb_nm']) == pytest.approx(4 * 0.5, rel=0.1)


def test_broken_recording_is_told_and_stops_nobody(report):
    broken = report[1]['days'][2]
    assert 'unknown column' in broken['error']
