"""Recordings that cannot be right: each is noticed and explained in one line."""

from dataclasses import replace
from pathlib import Path
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from armsense.errors import ArmsenseError, BadValue
from armsense.identify.identify import identify, Options
from armsense.identify.signals.recording import Recording
from armsense.model.robot_description import check_inertials

sys.path.insert(0, str(Path(__file__).parent))
from identify_truth import make_truth

DOWN = np.array([0.0, 0.0, -9.81])
QUICK = Options(gravity=DOWN, terms=('viscous', 'coulomb'))


@pytest.fixture(scope='module')
def truth():
    return make_truth()


def test_fewer_samples_than_parameters(truth):
    run = truth.record(1, 2.0, 100.0)
    with pytest.raises(BadValue, match=r'number of samples is 59; it must be >= 60 for 48 param'):
        identify([run.rows(0, 59)], truth.nominal, QUICK)


@pytest.mark.parametrize(('column', 'what'), [('q', 'positions'), ('tau', 'torques'),
                                              ('t', 'time'), ('dq', 'velocities')])
def test_numbers_that_are_none(truth, column, what):
    run = truth.record(1, 2.0, 100.0)
    values = getattr(run, column).copy()
    values[17] = np.nan
    with pytest.raises(BadValue, match=f'{what} in sample 17 is'):
        replace(run, **{column: values})


def test_times_that_fall_back(truth):
    run = truth.record(1, 2.0, 100.0)
    t = run.t.copy()
    t[120:] -= 1.1                      # a second log behind the first one
    with pytest.raises(BadValue, match=r'time of sample 120 is 0\.1; it must be >= 1\.19 s'):
        replace(run, t=t)
    t[120:] = np.maximum(t[120:], t[119])
    assert replace(run, t=t).t[120] == t[119]    # samples that were stamped together


def test_recordings_of_different_arms(truth):
    heavier = replace(truth, arm=truth.arm.replace(parameters=2.0 * truth.arm.parameters))
    runs = [truth.record(1, 8.0, 100.0), truth.record(2, 8.0, 100.0),
            replace(heavier.record(3, 8.0, 100.0), name='stranger')]
    found = identify(runs, truth.nominal, QUICK)
    assert any('stranger does not fit the other recordings' in note for note in found.notes)
    same = identify(runs[:2], truth.nominal, QUICK)
    assert not any('does not fit' in note for note in same.notes)
    with pytest.raises(BadValue, match='number of joints is 3'):
        identify([runs[0], Recording(runs[1].t, runs[1].q[:, :3], runs[1].tau[:, :3])],
                 truth.nominal, QUICK)


def urdf(mass, fixed):
    body = '<link name="{}"><inertial><mass value="{}"/></inertial></link>'
    joint = ('<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/></joint>')
    kind = 'fixed' if fixed else 'revolute'
    return ElementTree.fromstring(
        '<robot name="r">' + body.format('base', 0) + body.format('arm', 1.0)
        + body.format('flange', mass) + joint.format('j', 'revolute', 'base', 'arm')
        + joint.format('k', kind, 'arm', 'flange') + '</robot>')


def test_massless_links_are_sound_where_they_are_fixed():
    check_inertials(urdf(0.0, fixed=True), 'r.urdf')
    with pytest.raises(ArmsenseError, match="'flange': mass is 0.0; it must be > 0 kg, it moves"):
        check_inertials(urdf(0.0, fixed=False), 'r.urdf')
    with pytest.raises(ArmsenseError, match="'flange': mass is -1.0; it must be >= 0 kg"):
        check_inertials(urdf(-1.0, fixed=True), 'r.urdf')
