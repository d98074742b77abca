"""`colcon test`, as users of ROS run it: every package finds its tests, one small file of each."""

import os
from pathlib import Path
import re
import subprocess
import sys

from ament_index_python import get_package_prefix
import pytest
import yaml

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


@pytest.mark.timeout(900)    # colcon, and a pytest for each package below it
def test_python_packages_are_tested_by_pytest(tmp_path):
    """All in one go: to start colcon takes longer than most of these tests."""
    for package in SMALL:
        (tmp_path / 'build' / package).mkdir(parents=True)
    metas = tmp_path / 'small.meta'
    metas.write_text(yaml.safe_dump({'names': {
        package: {'pytest-args': [f'test/{file}']} for package, file in SMALL.items()}}))
    colcon(tmp_path, 'test', '--base-paths', str(ROOT / 'src'), '--packages-select', *SMALL,
           '--install-base', str(Path(get_package_prefix('armsense')).parent), '--metas',
           str(metas), '--executor', 'sequential', '--return-code-on-test-failure')
    told = colcon(tmp_path, 'test-result', '--all', '--test-result-base', 'build')
    run = dict(re.findall(r'^build/(\w+)/pytest\.xml: (\d+) tests?, 0 errors, 0 failures', told,
                          re.MULTILINE))
    for package, file in SMALL.items():
        tests = (ROOT / 'src' / package / 'test' / file).read_text().count('\ndef test_')
        assert int(run[package]) >= tests, told


def test_every_package_with_tests_has_a_part_in_this():
    folders = {path.parent.name for path in ROOT.glob('src/*/test')}
    assert folders == {*SMALL, 'armsense_bringup'}
    # That one is built by CMake, which takes its tests from here.
    text = (ROOT / 'src' / 'armsense_bringup' / 'CMakeLists.txt').read_text()
    assert 'ament_add_pytest_test(test test ' in text
