"""What was installed is where ROS looks for it: `ros2 run`, `ros2 launch`, `ros2 pkg`."""

from importlib.metadata import EntryPoint
import os
from pathlib import Path
import re
import subprocess

from ament_index_python import get_package_prefix, get_packages_with_prefixes
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = sorted(path.parent.name for path in ROOT.glob('src/armsense*/package.xml'))
DOCS = [ROOT / 'README.md', *sorted((ROOT / 'docs').glob('*.md'))]


def scripts(package: str) -> dict[str, str]:
    """Executables of a package, and the functions behind them."""
    path = ROOT / 'src' / package / 'setup.py'
    return dict(re.findall(r"'(\w+) = ([\w.]+:\w+)'", path.read_text())) if path.exists() else {}


@pytest.mark.parametrize('package', PACKAGES)
def test_the_index_knows_every_package(package):
    assert package in get_packages_with_prefixes()
    share = Path(get_package_prefix(package), 'share', package)
    assert f'<name>{package}</name>' in (share / 'package.xml').read_text()


@pytest.mark.parametrize('package', PACKAGES)
def test_every_executable_is_found_by_ros2_run(package):
    folder = Path(get_package_prefix(package), 'lib', package)
    found = {path.name for path in folder.glob('*') if os.access(path, os.X_OK)}
    assert found == set(scripts(package))
    for name, function in scripts(package).items():
        assert callable(EntryPoint(name, function, 'console_scripts').load())


def test_commands_among_them_tell_their_arguments():
    program = Path(get_package_prefix('armsense'), 'lib', 'armsense', 'armsense_description')
    answer = subprocess.run([program, '--help'], capture_output=True, text=True)
    assert answer.returncode == 0
    assert '--model' in answer.stdout


@pytest.mark.parametrize('folder', ['launch', 'config', 'urdf'])
def test_files_that_users_edit_are_shared(folder):
    share = Path(get_package_prefix('armsense_bringup'), 'share', 'armsense_bringup')
    ours = {path.relative_to(ROOT) for path in (ROOT / folder).rglob('*') if path.is_file()}
    assert {name for name in ours if not (share / name).is_file()} == set()


def test_names_in_documents_and_launch_files_exist():
    text = '\n'.join(path.read_text() for path in DOCS)
    launched = '\n'.join(path.read_text() for path in (ROOT / 'launch').glob('*.xml'))
    named = re.findall(r'ros2 run (armsense\w*) (\w+)', text)
    named += re.findall(r'pkg="(armsense\w*)" exec="(\w+)"', launched)
    assert len(named) > 10
    for package, name in named:
        assert name in scripts(package), (package, name)
    for package, name in re.findall(r'ros2 launch (armsense\w*) ([\w.]+)', text):
        assert package == 'armsense_bringup'
        assert (ROOT / 'launch' / name).exists()


def test_only_message_packages_are_left_without_tests():
    meta = yaml.safe_load((ROOT / 'colcon.meta').read_text())['names']
    untested = {name for name, block in meta.items()
                if '-DBUILD_TESTING=OFF' in block['cmake-args']}
    assert untested & set(PACKAGES) == {'armsense_msgs'}
