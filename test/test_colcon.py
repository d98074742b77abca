"""`colcon test`, as users of ROS run it: every package finds its tests, one small file of each."""

import os
from pathlib import Path
import re
import subprocess
import sys

from ament_index_python import get_package_prefix
import pytest

ROOT = Path(__file__).resolve().parents[1]
SMALL = {'armsense': 'test_crc.py', 'armsense_node': 'test_health.py',
         'armsense_driver': 'test_load_cells_node.py', 'armsense_control': 'test_planning.py',
         'armsense_collision': 'test_base_markers.py', 'armsense_monitor': 'test_access.py',
         'armsense_identification': 'test_drift_watch.py',
         'armsense_sim': 'test_simulator_health.py'}


def colcon(folder, *arguments):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith('PYTEST_')}        # this may be a worker itself
    answer = subprocess.run(
        [sys.executable, '-m', 'colcon', '--log-base', str(folder / 'log'), *arguments],
        cwd=folder, env=environment, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


@pytest.mark.timeout(900)    # colcon, and a pytest below it
@pytest.mark.parametrize('package', SMALL)
def test_a_python_package_is_tested_by_pytest(package, tmp_path):
    (tmp_path / 'build' / package).mkdir(parents=True)
    colcon(tmp_path, 'test', '--base-paths', str(ROOT / 'src'), '--packages-select', package,
           '--install-base', str(Path(get_package_prefix(package)).parent),
           '--return-code-on-test-failure', '--pytest-args', f'test/{SMALL[package]}')
    told = colcon(tmp_path, 'test-result', '--all', '--test-result-base', 'build')
    tests, = map(int, re.findall(r'^Summary: (\d+) tests?, 0 errors, 0 failures', told,
                                 re.MULTILINE))
    assert tests >= (ROOT / 'src' / package / 'test' / SMALL[package]).read_text().count(
        '\ndef test_')


def test_every_package_with_tests_has_a_part_in_this():
    folders = {path.parent.name for path in ROOT.glob('src/*/test')}
    assert folders == {*SMALL, 'armsense_bringup'}
    # That one is built by CMake, which takes its tests from here.
    text = (ROOT / 'src' / 'armsense_bringup' / 'CMakeLists.txt').read_text()
    assert 'ament_add_pytest_test(test test ' in text
