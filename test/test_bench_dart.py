"""`bench dart`: its output contract, and that it can fail."""

import functools
import json

from armsense import share
from armsense.model import Arm
from armsense.model.robot_description import load_description
from armsense.sim.dart_plant import DartPlant
from bench import bench_dart


def test_one_arm_keeps_the_contract(capsys):
    assert bench_dart.main(['--arms', 'crs_a465', '--quick', '--json']) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    arm = result['crs_a465']
    assert set(arm) >= {'stable', 'rms_ratio', 'missed', 'false_alarms', 'inside_intervals'}
    assert arm['stable']
    assert arm['missed'] == arm['false_alarms'] == 0
    assert arm['rms_ratio'] < bench_dart.RATIO
    assert 0.8 < arm['force_ratio'] < 1.25


def test_the_description_as_it_was_fails():
    """Neither friction nor rotors, and nodes that believe in both."""
    before = load_description(share.find('urdf/laas4.urdf.xacro'), {'hardware': 'gazebo'})
    side = bench_dart.Side('before', Arm.load('laas4'), functools.partial(DartPlant, before))
    assert 'rad/s at rest' in bench_dart.rests(side, 'computed_torque', 4.0)
    assert not bench_dart.rests(bench_dart.sides('laas4')[0], 'computed_torque', 4.0)
