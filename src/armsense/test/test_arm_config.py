"""The arm's yaml: derived quantities and errors of a user's own file."""

from __future__ import annotations

import copy
import math
from pathlib import Path

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest
import yaml

from armsense.errors import ArmsenseError, UnknownName
from armsense.model import ArmConfig, JointConfig
from armsense.schema import read_yaml
from armsense.share import arm_names, find_arm

RIGID = {'drive': 'rigid', 'gear_ratio': 27.0, 'kv': 380.0, 'current_limit': 16.0}
DUMPER = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)
ARM = {'arm': 'own', 'title': 't', 'urdf': 'own.urdf', 'joints': {'joint1': RIGID}}


def load(folder: Path, data) -> ArmConfig:
    path = folder / 'own.yaml'
    path.write_text(yaml.dump(data, Dumper=DUMPER))
    return ArmConfig.load(path)


@pytest.mark.parametrize('arm', arm_names())
def test_arms_of_the_workspace_load(arm):
    config = ArmConfig.load(arm)
    assert config.arm == arm
    assert config.n == len(config.joint_names) == len(config.home)
    assert config.folder == find_arm(arm).parent


def test_derived_quantities():
    joint = JointConfig(drive='rigid', gear_ratio=27.0, kv=380.0, current_limit=16.0,
                        efficiency=0.9, rotor_inertia=8e-6)
    torque_constant = 3 / 2 / math.sqrt(3) / (380.0 * 2 * math.pi / 60)   # thesis 004, eq. 4.3
    assert joint.motor_torque_constant == pytest.approx(torque_constant)
    assert joint.torque_per_ampere == pytest.approx(torque_constant * 27 * 0.9)
    assert joint.torque_limit == pytest.approx(torque_constant * 27 * 0.9 * 16)
    assert joint.reflected_inertia == pytest.approx(8e-6 * 27**2)
    assert joint.armature == joint.reflected_inertia


def test_stated_torque_constant_wins_over_kv():
    joint = JointConfig(drive='rigid', gear_ratio=1.0, kv=380.0, torque_constant=0.5,
                        current_limit=1.0)
    assert joint.motor_torque_constant == 0.5


def joint_with(**changes) -> dict:
    return {**ARM, 'joints': {'joint1': {**RIGID, **changes}}}


@pytest.mark.parametrize(('data', 'text'), [
    ({**ARM, 'joints': {}}, 'own.yaml: an arm needs at least one joint'),
    ({**ARM, 'home': [0, 0]}, 'own.yaml: home is (0.0, 0.0); it must be a list of 1'),
    ({**ARM, 'gravity': [0, 0]}, 'own.yaml: gravity is [0, 0]; it must be a list of 3'),
    ({**ARM, 'gravity': [0, 0, float('nan')]}, 'own.yaml: gravity[2] is nan; it must be finite'),
    ({**ARM, 'rate': 0}, 'own.yaml: rate is 0.0; it must be > 0 Hz'),
    ({**ARM, 'tool': 'x'}, "own.yaml: unknown key 'tool'; known: arm, title, urdf"),
    ({k: v for k, v in ARM.items() if k != 'urdf'}, "own.yaml: 'urdf' is missing"),
    (joint_with(gear_ratio=-27.0), 'own.yaml: joints.joint1.gear_ratio is -27.0; it must be > 0'),
    (joint_with(drive='elastic'),
     "own.yaml: joints.joint1.drive: unknown value 'elastic' (did you mean 'elastic_joint'?)"),
    (joint_with(direction=2), 'own.yaml: joints.joint1: direction is 2; it must be 1 or -1'),
    (joint_with(kv=None), 'own.yaml: joints.joint1: a drive needs torque_constant or kv'),
    (joint_with(elastic={'stiffness': 1}),
     "own.yaml: joints.joint1: drive 'rigid': 'elastic' belongs to elastic_joint"),
    (joint_with(drive='elastic_joint'),
     "own.yaml: joints.joint1: drive 'elastic_joint': 'elastic' belongs to elastic_joint"),
    (joint_with(drive='elastic_joint', elastic={'stiffness': 1}),
     "own.yaml: joints.joint1: drive 'elastic_joint' needs a joint_encoder"),
    (joint_with(drive='strain_link'),
     "own.yaml: joints.joint1: drive 'strain_link': 'strain' belongs to strain_link"),
    (joint_with(drive='elastic_joint', elastic={'stiffness': 1, 'coupled_to': 'joint9'},
                joint_encoder={'counts': 4096}),
     "own.yaml: joints.joint1.elastic.coupled_to is 'joint9'; it must be one of joint1"),
    (joint_with(friction={'coulomb': -1}),
     'own.yaml: joints.joint1.friction.coulomb is -1.0; it must be >= 0 Nm'),
    (joint_with(current_sensor={'bits': 99}),
     'own.yaml: joints.joint1.current_sensor.bits is 99; it must be <= 24'),
    (joint_with(slot={'board': 0, 'motor': 3}),
     'own.yaml: joints.joint1.slot.motor is 3; it must be <= 2'),
    ({**ARM, 'load_cells': {'positions': [[0, 0, 0]]}},
     'own.yaml: load_cells.positions[0] is [0, 0, 0]; it must be a list of 2'),
    ({**ARM, 'boards': {'protocol': 'spi'}},
     "own.yaml: boards.protocol: unknown value 'spi'; known: udriver_spi"),
    ({**ARM, 'boards': {'index_search': True}},
     'own.yaml: boards.index_search needs the offset of every joint, its angle at the index '
     'pulse; none is stated for joint1'),
])
def test_bad_arm(tmp_path, data, text):
    with pytest.raises(ArmsenseError) as error:
        load(tmp_path, data)
    assert text in str(error.value)
    assert '\n' not in str(error.value)
    assert str(error.value).count('own.yaml') == 1


def test_missing_file_and_unknown_name(tmp_path):
    with pytest.raises(ArmsenseError, match=r'the arm file .*none.yaml does not exist'):
        ArmConfig.load(tmp_path / 'none.yaml')
    with pytest.raises(UnknownName, match=r"unknown arm 'bio' .*known: biorob, crs_a255"):
        ArmConfig.load('bio')


def test_every_assumption_is_marked():
    """Documents without drives (thesis 003) leave nothing unmarked in the yaml's joints."""
    for arm in ('crs_a255', 'zeego'):
        joints = find_arm(arm).read_text().split('joints:')[1].split('load_cells:')[0]
        for line in joints.splitlines():
            stated = line.strip() and not line.strip().startswith('#')
            if stated and not line.strip().startswith(('joint', 'drive', 'slot')):
                assert '# assumed' in line, f'{arm}: {line}'


# -- fuzz: whatever stands in the file, only our errors escape -----------------------------------

BIOROB = read_yaml(find_arm('biorob'))
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5)


def paths(data, prefix=()):
    """Places in nested mappings and lists."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(
        data, list) else ()
    for key, value in items:
        yield (*prefix, key)
        yield from paths(value, (*prefix, key))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None,
          max_examples=60)
@given(data=st.data())
def test_only_our_errors_escape_from_a_changed_arm(tmp_path, data):
    changed = copy.deepcopy(BIOROB)
    place = data.draw(st.sampled_from(list(paths(BIOROB))))
    owner = changed
    for key in place[:-1]:
        owner = owner[key]
    if data.draw(st.booleans()):
        owner[place[-1]] = data.draw(PLAIN)
    elif isinstance(owner, dict):
        owner[data.draw(st.text(max_size=5))] = owner.pop(place[-1])
    try:
        config = load(tmp_path, changed)
    except ArmsenseError:
        return
    assert config.n >= 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None,
          max_examples=60)
@given(content=st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_only_our_errors_escape_from_any_file(tmp_path, content):
    path = tmp_path / 'own.yaml'
    path.write_bytes(content)
    with pytest.raises(ArmsenseError):
        ArmConfig.load(path)
