"""What `pip install .` brings: dependencies, data, commands; away from checkout and ROS."""

from pathlib import Path
import re
import shutil
import subprocess
import sys

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip('pip._vendor.tomli')

ROOT = Path(__file__).resolve().parents[1]
SAID = tomllib.loads((ROOT / 'pyproject.toml').read_text())
WHEEL = SAID['tool']['hatch']['build']['targets']['wheel']


def bare(requirement: str) -> str:
    return re.split(r'[\[<>=]', requirement)[0]


@pytest.fixture(scope='module')
def installed(tmp_path_factory) -> Path:
    """A folder with what the wheel has, by the table that it is built by."""
    folder = tmp_path_factory.mktemp('site')
    for package in WHEEL['packages']:
        shutil.copytree(ROOT / package, folder / 'armsense')
    for source, target in WHEEL['force-include'].items():
        path = folder / target
        path.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / source).is_dir() else shutil.copy)(ROOT / source, path)
    return folder


def run(installed: Path, code: str) -> subprocess.CompletedProcess:
    """Python without the workspace: only the folder and site-packages."""
    lines = f'import sys; sys.path.insert(0, {str(installed)!r}); {code}'
    return subprocess.run([sys.executable, '-I', '-c', lines], capture_output=True, text=True,
                          cwd=installed, env={'PATH': '/usr/bin:/bin'}, timeout=200)


def test_everything_that_the_library_needs_is_declared():
    project = SAID['project']
    extras = project['optional-dependencies']
    named = {bare(need) for need in project['dependencies']}
    named |= {bare(need) for needs in extras.values() for need in needs} - {'armsense'}
    base = (ROOT / 'requirements' / 'base.in').read_text().splitlines()
    data = (ROOT / 'requirements' / 'data.in').read_text().splitlines()
    pinned = {bare(line.split('#')[0].strip()) for line in (*base, *data)}
    # The set-up of a checkout has them all, but for what only fetches URDFs.
    assert named - pinned == {'robot_descriptions', 'xacrodoc'}
    # Of what it pins, a pip user does without drivers, a second engine and the build.
    assert pinned - named - {''} == {'spidev', 'pyserial', 'dartpy', 'colcon-common-extensions',
                                     'empy', 'setuptools'}
    assert all(re.search(r'>=\d', need) for need in project['dependencies'])
    assert set(re.search(r'\[(.*)\]', extras['all'][0])[1].split(',')) == set(extras) - {'all'}


def test_every_arm_loads_from_the_data_of_the_wheel(installed):
    answer = run(installed, 'import armsense; from armsense.share import arm_names\n'
                 'for name in arm_names(): print(armsense.load(name), armsense.__file__)')
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert len(lines) == len(list((ROOT / 'config' / 'arms').glob('*.yaml')))
    assert all(str(installed) in line for line in lines)


def test_an_observer_and_a_recorder_find_their_files(installed):
    answer = run(installed, 'import armsense; from armsense.share import message_definitions; '
                 'print(armsense.watch(armsense.load("laas4")), len(message_definitions()))')
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith('<Watch laas4: 1000 Hz')


@pytest.mark.parametrize(('words', 'code', 'said'), [
    ([], 0, 'usage: armsense COMMAND'), (['robots', 'panda'], 0, 'Franka Emika Panda'),
    (['replay', '--help'], 0, 'usage: armsense replay'),
    (['excite', 'design', '--help'], 0, 'usage: armsense excite design'),
    (['excite', 'run'], 1, 'needs ROS'), (['launch'], 2, 'needs ROS'),
    (['replya'], 2, "did you mean 'replay'?")])
def test_commands_without_ros(installed, words, code, said):
    answer = run(installed, f'from armsense.cli.main import main; sys.exit(main({words!r}))')
    assert answer.returncode == code, answer.stderr
    assert said in answer.stdout + answer.stderr
    assert 'Traceback' not in answer.stderr
