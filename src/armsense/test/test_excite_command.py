"""`excite design` from the command line: files, JSON, errors, Ctrl-C."""

import json
import os
import signal
import subprocess
import sys

import pytest

from armsense.cli.excite_command import main
from armsense.excite import Excitation

QUICK = ['--arm', 'crs_a465', '--starts', '1', '--time-limit', '0.5']


def test_design_writes_file_figure_and_json(tmp_path, capsys):
    out = tmp_path / 'excite.yaml'
    code = main([*QUICK, '--out', str(out), '--period', '5', '--harmonics', '4',
                 '--criterion', 'condition', '--seed', '7', '--json'])
    assert code == 0
    excitation = Excitation.read(out, arm='crs_a465')
    assert excitation.period == 5.0
    assert excitation.seed == 7
    assert len(excitation.coefficient_names) == 9
    assert excitation.quality.criterion == 'condition'
    told = json.loads(capsys.readouterr().out)
    assert told['condition_number'] == pytest.approx(excitation.quality.condition_number)
    assert {p.name for p in tmp_path.iterdir()} == {'excite.yaml', 'excite.png'}


@pytest.mark.parametrize(('arguments', 'text'), [
    (['--arm', 'laas5'], "did you mean 'laas4'"),
    ([*QUICK, '--harmonics', '1'], 'options.harmonics is 1; it must be >= 2'),
    ([*QUICK, '--band-limit', '0.1'], '<= the band limit of 0.1 Hz'),
    ([*QUICK, '--floor', '0.9'], 'below the floor at 0.9 m'),
    ([*QUICK, '--out', '/proc/excite.yaml'], 'cannot write into /proc'),
    ([*QUICK, '--out', '.'], 'such as excite.yaml'),
    ([*QUICK, '--start', '0', '0'], r'shape of the start pose is (2,); it must be (3,)'),
])
def test_errors_are_one_line_and_leave_no_file(arguments, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 1
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith('armsense: ')
    assert text in error
    assert list(tmp_path.iterdir()) == []


def test_control_c_keeps_the_best_motion(tmp_path):
    out = tmp_path / 'excite.yaml'
    # A search that would take long: it is interrupted as soon as it tells of its first step.
    script = ('import sys, armsense.excite.search as d\n'
              'from armsense.cli.excite_command import main\n'
              'old = d.Search._accepted\n'
              'def accepted(self, point):\n'
              '    old(self, point)\n'
              '    print("step", flush=True)\n'
              'd.Search._accepted = accepted\n'
              'sys.exit(main(sys.argv[1:]))\n')
    process = subprocess.Popen(
        [sys.executable, '-c', script, '--arm', 'laas4', '--starts', '20',
         '--time-limit', '0', '--no-figure', '--out', str(out)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    assert process.stdout.readline() == 'step\n'
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    assert 'cut short' in error
    assert Excitation.read(out).arm == 'laas4'
