import numpy as np
import pytest

from armsense.detector import Thresholds
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.model.model_file import (
    Covariance,
    DriveParameters,
    IdentifiedFriction,
    ModelFile,
    Provenance,
    ResidualStatistics,
)


@pytest.fixture
def model():
    return Arm.load('laas4')


@pytest.fixture
def written(model, tmp_path):
    source = tmp_path / 'run.mcap'
    source.write_bytes(b'123456789')
    content = ModelFile.create(
        model, model.parameters * 1.1, Provenance.now('sdp', [source], {'train': 3.25}),
        drives={'joint2': DriveParameters(torque_constant=0.03, rotor_inertia=1e-5)},
        friction={'joint1': IdentifiedFriction(viscous=0.5, coulomb=0.25)},
        covariance=Covariance(names=('m1', 'm2'), matrix=((1.0, 0.1), (0.1, 2.0))),
        residual=ResidualStatistics(mean=(0.0,) * 4, sigma=(0.1,) * 4, minutes=12.0),
        thresholds=Thresholds(kind='false_alarm_rate', constant=(1.0,) * 4, rate_per_hour=1.0))
    content.write(tmp_path / 'model.yaml')
    return content, tmp_path / 'model.yaml'


def test_reading_gives_what_was_written(written):
    content, path = written
    assert ModelFile.read(path, arm='laas4') == content


def test_source_hash_is_sha256(written):
    # printf 123456789 | sha256sum
    assert written[0].provenance.sources[0].sha256 == (
        '15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225')


def test_applied_model_has_the_parameters(written, model):
    identified = Arm.load('laas4', written[1])
    assert np.allclose(identified.parameters, model.parameters * 1.1, rtol=1e-12)
    assert identified.armature[1] == pytest.approx(1e-5 * 27**2)
    assert identified.config.joints['joint2'].motor_torque_constant == 0.03
    assert identified.config.joints['joint1'].friction.coulomb == 0.25
    assert identified.config.joints['joint3'] == model.config.joints['joint3']


def test_model_of_another_arm_is_refused(written):
    with pytest.raises(ArmsenseError, match=r"model of arm 'laas4'; this arm is 'biorob'"):
        ModelFile.read(written[1], arm='biorob')


@pytest.mark.parametrize(('old', 'new', 'message'), [
    ('format: 1', 'format: 7', 'format is 7; it must be 1'),
    ('m: 0.3036', 'm: -1.0', r'links.link1.m is -1.0; it must be > 0'),
    ('m: 0.3036', 'm: .nan', r'links.link1.m is nan; it must be finite'),
    ('method: sdp', 'metod: sdp', r"unknown key 'metod' \(did you mean 'method'"),
    ('link1:', 'link9:', r"unknown link 'link9'"),
])
def test_bad_files_are_named(written, old, new, message):
    path = written[1]
    text = path.read_text().replace('m: 0.30360000000000004', 'm: 0.3036')
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ArmsenseError, match=message):
        Arm.load('laas4', path)


def test_failed_write_leaves_the_old_file(written, monkeypatch):
    content, path = written
    before = path.read_text()
    monkeypatch.setattr('os.replace', lambda *a: (_ for _ in ()).throw(OSError('disk full')))
    with pytest.raises(ArmsenseError, match='cannot write .*disk full'):
        content.write(path)
    assert path.read_text() == before
    assert [p.name for p in path.parent.iterdir()] == ['run.mcap', 'model.yaml'] or len(
        list(path.parent.iterdir())) == 2


def test_covariance_must_be_square():
    with pytest.raises(ArmsenseError, match='2 x 2'):
        Covariance(names=('a', 'b'), matrix=((1.0,), (0.0,)))


def test_what_older_files_say_of_ripples_is_not_looked_at(written):
    content, path = written
    path.write_text(path.read_text() + 'ripples:\n- {joint: joint1, order: 2}\n')
    assert ModelFile.read(path) == content
