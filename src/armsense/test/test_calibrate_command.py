"""Thresholds keep the rate that was asked for, and land in the model file."""

import json
import time

import numpy as np
import pytest
import scipy.signal

from armsense.cli import calibrate_command
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.model.model_file import ModelFile
from armsense.watch import Tape
from armsense.watch.calibrate import calibrate, count_alarms, free_residuals, store
from armsense.watch.collision_monitor import DetectionConfig

MODEL = Arm.load('laas4')
CONFIG = DetectionConfig.of(MODEL)
PERIOD = 0.01   # [s] coarser than an arm: the same statistics with fewer samples


def noise(hours, seed):
    """Low-passed noise of four joints, in recordings of six minutes."""
    rng = np.random.default_rng(seed)
    white = rng.standard_normal((round(hours * 10), 36_000, 4))
    slow = scipy.signal.lfilter([0.2], [1.0, -0.8], white, axis=1)
    return list(slow * np.array([0.3, 0.2, 0.1, 0.05]))


def test_rates_asked_for_are_the_rates_seen():
    known, unseen = noise(6.0, 1), noise(30.0, 2)
    hours = sum(map(len, unseen)) * PERIOD / 3600.0
    for rate in (10.0, 1.0):
        limits = calibrate(known, MODEL.n, CONFIG, PERIOD, rate, confidence=0.5).thresholds
        seen = count_alarms(unseen, limits, CONFIG, PERIOD) / hours
        assert 0.5 * rate < seen < 2.0 * rate


def test_statistics_and_file(tmp_path):
    found = calibrate(noise(1.0, 3), MODEL.n, CONFIG, PERIOD, 1.0)
    assert found.statistics.minutes == pytest.approx(60.0)
    sigma = np.array([0.3, 0.2, 0.1, 0.05]) * 0.2 / np.sqrt(1.0 - 0.64)
    np.testing.assert_allclose(found.statistics.sigma, sigma, rtol=0.03)
    path = tmp_path / 'model.yaml'
    store(path, MODEL, found, 'test')
    first = ModelFile.read(path, 'laas4')
    assert first.thresholds == found.thresholds
    assert first.thresholds.minutes == pytest.approx(60.0)
    # What the file held before stays.
    store(path, MODEL, calibrate(noise(1.0, 3), MODEL.n, CONFIG, PERIOD, 0.1), 'test')
    second = ModelFile.read(path, 'laas4')
    assert second.provenance == first.provenance
    assert second.thresholds.constant[0] > first.thresholds.constant[0]


def test_six_sigma_of_paper_001(tmp_path):
    found = calibrate(noise(0.5, 3), MODEL.n, CONFIG, PERIOD, 0.1, sigmas=6.0)
    sigma = np.array([0.3, 0.2, 0.1, 0.05]) * 0.2 / np.sqrt(1.0 - 0.64)
    np.testing.assert_allclose(found.thresholds.constant, 6.0 * sigma, rtol=0.03)
    store(tmp_path / 'model.yaml', MODEL, found, 'test')
    assert ModelFile.read(tmp_path / 'model.yaml', 'laas4').thresholds.kind == 'sigma'
    with pytest.raises(ArmsenseError, match='standard deviations'):
        calibrate(noise(0.1, 3), MODEL.n, CONFIG, PERIOD, 0.1, sigmas=-1.0)


def test_only_enabled_and_settled_samples_count():
    count = 2000
    q = np.tile(np.array(MODEL.config.home), (count, 1))
    torque = np.tile(MODEL.gravity_torque(q[0]), (count, 1))
    torque[:700] = 0.0            # something else holds the arm
    enabled = np.arange(count) >= 500
    tape = Tape(1_000_000 * np.arange(count), q, torque, np.zeros((count, 0)),
                np.zeros((count, 0)), enabled)
    residuals = free_residuals(MODEL, CONFIG, tape)
    assert 1100 < len(residuals) < 1300
    assert np.abs(residuals).max() < 0.01


def test_a_simulated_arm_is_calibrated(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr('armsense.sim.campaign.tasks.CHUNK', 3.0)
    path = tmp_path / 'model.yaml'
    code = calibrate_command.main(['--simulate', '0.1', '--rate', '10', '--jobs', '1', '--out',
                                   str(path), '--json'])
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert code == 0
    assert result['minutes'] == pytest.approx(0.1, rel=0.2)
    assert result['warnings']     # six seconds are no basis
    assert ModelFile.read(path, 'laas4').thresholds.constant == tuple(result['threshold_nm'])


def test_the_check_has_the_keys_of_its_contract(capsys, monkeypatch):
    monkeypatch.setattr(calibrate_command, '_simulated',
                        lambda options, config, hours, first, console: noise(0.3, first))
    assert calibrate_command.main(['--check', '--json']) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result['requested_per_hour'] == [10.0, 1.0, 0.1]
    assert len(result['observed_per_hour']) == 3
    for seen, (low, high) in zip(result['observed_per_hour'], result['observed_bounds_per_hour'],
                                 strict=True):
        assert low <= seen <= high


@pytest.mark.parametrize('arguments', [[], ['--live', '1', '--simulate', '1']])
def test_there_is_one_source(arguments, capsys):
    assert calibrate_command.main(arguments) == 1
    assert 'either bags, --live MINUTES or --simulate' in capsys.readouterr().err


def test_a_model_that_is_not_there_is_not_made_up(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(calibrate_command, '_simulated', lambda *arguments: noise(0.3, 1))
    path = tmp_path / 'typo.yaml'
    assert calibrate_command.main(['--simulate', '1', '--model', str(path)]) == 1
    assert f'cannot read {path}' in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_live_arm_is_recorded_until_the_time_is_over(tmp_path, monkeypatch):
    """The recorder is ended as by Ctrl-C, so that it can close its bag."""
    (tmp_path / 'fake_recorder.py').write_text(
        'import pathlib, signal, sys, time\n'
        'signal.signal(signal.SIGINT, signal.default_int_handler)\n'   # a shell may have hidden it
        'folder = pathlib.Path(sys.argv[-1].split(":=")[1])\n'
        'try:\n'
        '    folder.mkdir()\n'
        '    time.sleep(600)\n'
        'except KeyboardInterrupt:\n'
        '    (folder / "closed").touch()\n')
    monkeypatch.setenv('PYTHONPATH', str(tmp_path))
    monkeypatch.setattr(calibrate_command, 'RECORDER', 'fake_recorder')
    bag = tmp_path / 'bag'

    def tell(now):
        while not bag.exists():       # until the recorder is up
            time.sleep(0.01)

    assert calibrate_command.record_live(bag, 0.01, tell) == bag
    assert (bag / 'closed').exists()


def test_a_recorder_that_ends_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(calibrate_command, 'RECORDER', 'armsense.no_such_module')
    with pytest.raises(ArmsenseError, match='the recorder ended'):
        calibrate_command.record_live(tmp_path / 'bag', 60.0, lambda now: None)

