"""With the real tools of ROS 2; left out, and named by pytest, where they are not installed."""

from pathlib import Path
import shutil
import signal
import subprocess
import sys
import time

import pytest

ROOT = Path(__file__).resolve().parents[1]
NAMES = sorted(path.name for path in (ROOT / 'launch').glob('*.launch.xml'))
PATIENCE = 240.0   # [s]


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None,
                              reason=f'{program} is not installed')


def run(*words: str) -> str:
    answer = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


@needs('ros2')
@pytest.mark.parametrize('name', NAMES)
def test_ros2_launch_reads_every_launch_file(name):
    assert 'arm' in run('ros2', 'launch', 'armsense_bringup', name, '--show-args')


@needs('ros2')
def test_ros2_pkg_lists_our_executables():
    listed = run('ros2', 'pkg', 'executables', 'armsense_driver').split()
    assert {'motor_board', 'ros2_control_bridge', 'load_cells'} <= set(listed)


@needs('launch_test')
def test_the_arm_answers_four_questions_under_ros2_launch():
    run('launch_test', str(ROOT / 'test' / 'launch' / 'four_questions_under_launch.py'))


@needs('ros2')
@pytest.mark.skipif(shutil.which('ros2') is not None and subprocess.run(
    ['ros2', 'pkg', 'prefix', 'controller_manager'], capture_output=True).returncode != 0,
    reason='controller_manager is not installed')
@pytest.mark.timing
def test_ros2_control_activates_its_controllers():
    # Whoever runs the tests in the background ignores SIGINT, and then so does ros2 launch.
    launch = subprocess.Popen(['ros2', 'launch', 'armsense_bringup', 'ros2_control.launch.xml'],
                              stdout=sys.stderr,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    try:
        deadline = time.monotonic() + PATIENCE
        listed = ''
        while listed.count(' active') < 2 and time.monotonic() < deadline:
            answer = subprocess.run(['ros2', 'control', 'list_controllers'], text=True,
                                    capture_output=True)
            listed = answer.stdout
        assert listed.count(' active') >= 2, listed
    finally:
        launch.send_signal(signal.SIGINT)
        launch.wait(60.0)
