"""Ordinary mistakes on the command line end with one line, before the work, and no traceback."""

import functools
from pathlib import Path
import subprocess

import pytest

from armsense.cli import calibrate_command, campaign_command, replay_command
from armsense_bringup import command_line
from armsense_bringup.demo import command as demo_command
from armsense_bringup.excite import run as excite_run
from armsense_bringup.workspace.workspace import Workspace


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo_command, 'keep_apart', lambda: None)
    # Whoever gets as far as to start a process has noticed nothing.
    monkeypatch.setattr(subprocess, 'Popen', None)
    return tmp_path


@pytest.mark.parametrize(('module', 'arguments', 'message'), [
    (campaign_command, ['--model', 'missing.yaml'], 'cannot read missing.yaml'),
    (campaign_command, ['--out', 'file/out'], 'file'),
    (calibrate_command, ['--live', '20', '--out', '/proc/nodir/m.yaml'], '/proc/nodir'),
    (calibrate_command, ['--live', '20', '--model', 'missing.yaml'], 'cannot read missing.yaml'),
    (calibrate_command, ['--simulate', '20', '--out', '.'], '. is a folder; name a file'),
    (replay_command, ['missing', '--csv', '/proc/nodir/x.csv'], '/proc/nodir'),
    (excite_run, ['missing.yaml'], 'cannot read missing.yaml'),
])
def test_a_mistake_is_one_line(here, capsys, module, arguments, message):
    Path('file').touch()
    assert module.main(arguments) == 1
    error = capsys.readouterr().err.strip()
    assert message in error
    assert '\n' not in error
    assert [path.name for path in here.iterdir()] == ['file']


def stop(error):
    def work(*arguments, **options):
        raise error
    return work


@pytest.mark.parametrize(('error', 'code'), [
    (PermissionError(13, 'Permission denied', 'out/x'), 1), (KeyboardInterrupt(), 130)])
def test_demo_build_and_doctor_end_without_a_traceback(here, monkeypatch, capsys, error, code):
    monkeypatch.setenv('ARMSENSE_ROOT', str(here))
    monkeypatch.setattr('signal.signal', lambda *arguments: None)
    for name in ('ensure', 'build'):
        monkeypatch.setattr(Workspace, name, stop(error))
    monkeypatch.setattr(demo_command, '_run', stop(error))
    monkeypatch.setattr('sys.argv', ['armsense'])
    for main in (demo_command.main, *(functools.partial(command_line.main, str(here), words)
                                      for words in (['demo'], ['build'], ['doctor', '--live']))):
        assert main() == code
        said = capsys.readouterr().err.strip()
        assert '\n' not in said
        assert ('out/x: Permission denied' if code == 1 else 'interrupted') in said
