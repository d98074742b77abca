"""Motions, models and bags of an arm of one's own tell its file: later commands need no --arm."""

import logging
import shutil

import pytest
import yaml

from armsense import share
from armsense.cli.command import add_bag_options, watched
from armsense.cli.identify_command import _setup, parser
from armsense.errors import ArmsenseError
from armsense.identify.friction.sweep import FrictionSweep
from armsense.model import Arm
from armsense.model.arm_source import ArmSource
from armsense.model.model_file import ModelFile, Provenance
from armsense.recordings.bag_files import BagFacts


@pytest.fixture
def own(tmp_path):
    """An arm file like that of laas4, under a name that nobody knows."""
    folder = tmp_path / 'mine'
    folder.mkdir()
    text = share.find('config/arms/laas4.yaml').read_text()
    path = folder / 'my_arm.yaml'
    path.write_text(text.replace('arm: laas4', 'arm: my_arm', 1))
    return path


def stored(own, folder):
    arm = Arm.load(own)
    path = folder / 'model.yaml'
    ModelFile.create(arm, arm.parameters, Provenance.now('test')).write(path)
    return path


def asked(*words):
    import argparse
    out = argparse.ArgumentParser()
    out.add_argument('--model')
    add_bag_options(out)
    return out.parse_args(words)


def test_a_model_tells_the_file_of_its_arm(own, tmp_path):
    path = stored(own, tmp_path)
    assert ModelFile.read(path).arm_name(path) == str(own)
    assert watched(asked('--model', str(path))).model.name == 'my_arm'


def test_a_file_that_moved_along_is_found_and_a_change_is_told(own, tmp_path, caplog):
    path = stored(own, tmp_path)
    shutil.move(own, tmp_path / 'my_arm.yaml')
    with caplog.at_level(logging.WARNING, 'armsense'):
        assert ModelFile.read(path).arm_name(path) == str(tmp_path / 'my_arm.yaml')
        assert not caplog.records
        (tmp_path / 'my_arm.yaml').write_text(own.name)
        ModelFile.read(path).arm_name(path)
    assert 'has changed since model.yaml was made' in caplog.text
    (tmp_path / 'my_arm.yaml').unlink()
    with pytest.raises(ArmsenseError, match='which is not there; put it beside'):
        ModelFile.read(path).arm_name(path)


def test_an_arm_with_a_name_needs_no_file(tmp_path):
    path = stored('laas4', tmp_path)
    assert 'arm_file' not in yaml.safe_load(path.read_text())
    assert ModelFile.read(path).arm_name(path) == 'laas4'


def test_a_bag_tells_its_arm(own, tmp_path):
    bag = tmp_path / 'bag'
    bag.mkdir()
    (bag / 'metadata.yaml').write_text('rosbag2_bagfile_information: {custom_data: {}}\n')
    options = parser().parse_args([str(bag)])
    with pytest.raises(ArmsenseError, match='does not tell whose it is'):
        _setup(options)
    source = ArmSource.of(Arm.load(own).config)
    BagFacts(arm='my_arm', arm_file=source.file, arm_sha256=source.sha256).write(bag)
    assert _setup(options).arm.name == 'my_arm'
    assert watched(asked(), bag).model.name == 'my_arm'


def test_a_motion_tells_its_arm(own, tmp_path):
    sweep = FrictionSweep.plan(Arm.load(own))
    sweep.write(tmp_path / 'friction.yaml')
    again = FrictionSweep.read(tmp_path / 'friction.yaml')
    assert again.arm_file.find(again.arm, tmp_path / 'friction.yaml') == str(own)


@pytest.mark.parametrize(('old', 'new', 'said'), [
    ('current_limit: ', 'current_limit: 1000', 'is it in mA'),
    ('home: [', 'home: [9', 'is it in degrees')])
def test_units_that_cannot_be_are_refused_with_the_likely_mistake(own, old, new, said):
    text = own.read_text()
    assert old in text
    own.write_text(text.replace(old, new))
    with pytest.raises(ArmsenseError, match=said):
        Arm.load(own)


def test_an_arm_without_a_title_is_called_by_its_name(own):
    lines = own.read_text().splitlines(True)
    own.write_text(''.join(line for line in lines if not line.startswith('title:')))
    assert Arm.load(own).config.title == 'my_arm'
