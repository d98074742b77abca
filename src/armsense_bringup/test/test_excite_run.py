"""`./armsense excite run` without its nodes: which arm it launches, and what it says instead."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from armsense_bringup.excite import run
from armsense_bringup.launch.language import LaunchError

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def motion(tmp_path, monkeypatch):
    """A motion file of an arm that no file of ours describes."""
    monkeypatch.setenv('ARMSENSE_ROOT', str(ROOT))
    monkeypatch.setattr(run, 'read_motion',
                        lambda path: SimpleNamespace(
                            kind='fourier', arm='my_arm', arm_file=None))
    return tmp_path / 'excite.yaml'


@pytest.mark.parametrize(('arguments', 'arm'), [
    ([], 'my_arm'), (['--arm', 'my_arm.yaml'], 'my_arm.yaml')])
def test_an_arm_of_your_own_is_launched(motion, monkeypatch, arguments, arm):
    driven = []
    monkeypatch.setattr(run, 'drive',
                        lambda file, periods, bag, arm, *rest: driven.append(arm) or 'complete')
    assert run.main([str(motion), *arguments]) == 0
    assert driven == [arm]


def test_what_the_launch_file_refuses_is_said(motion, monkeypatch, capsys):
    def refuse(*arguments):
        raise LaunchError('arm.launch.xml:4: nobody offers that')
    monkeypatch.setattr(run, 'drive', refuse)
    assert run.main([str(motion)]) == 1
    error = capsys.readouterr().err
    assert 'nobody offers that' in error
    assert 'Traceback' not in error
