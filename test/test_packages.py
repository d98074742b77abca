"""Manifests of the packages: what they need is declared, and rosdep knows it."""

import ast
import functools
from pathlib import Path
import re
import sys
import xml.etree.ElementTree as ElementTree

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = sorted(path.parent.name for path in ROOT.glob('src/armsense*/package.xml'))
# Modules whose rosdep key has another name, and those of pip packages with another.
KEYS = {'typing_extensions': 'python3-typing-extensions',
        'numpy': 'python3-numpy', 'scipy': 'python3-scipy', 'yaml': 'python3-yaml',
        'matplotlib': 'python3-matplotlib', 'rich': 'python3-rich', 'jinja2': 'python3-jinja2',
        'markupsafe': 'python3-jinja2', 'PIL': 'python3-pil', 'can': 'python3-can',
        'serial': 'python3-serial', 'spidev': 'python3-spidev-pip', 'venv': 'python3-venv',
        'pytest': 'python3-pytest', 'hypothesis': 'python3-hypothesis'}
PIP_NAMES = {'pinocchio': 'pin', 'eigenpy': 'pin', 'trimesh': 'viser', 'msgspec': 'viser',
             'websockets': 'viser'}
# Python's own from 3.14 on and what stands in for it; the tests' own, of requirements/test.in;
# data frames and Parquet files, for whoever has these.
OTHERS = {'compression', 'backports', 'playwright', 'mcap_ros2', 'pandas', 'pyarrow'}
BESIDE = {path.stem for path in (*ROOT.glob('test/*.py'), *ROOT.glob('src/*/test/*.py'))} | {
    'bench'}
NOT_OURS = set(sys.stdlib_module_names) - {'venv'}   # Debian has that in a package of its own


def manifest(package: str) -> ElementTree.Element:
    return ElementTree.parse(ROOT / 'src' / package / 'package.xml').getroot()


def declared(package: str, tests: bool = False) -> set[str]:
    """What rosdep and colcon are told that a package needs."""
    return {element.text for element in manifest(package)
            if element.tag.endswith('depend') and (tests or element.tag != 'test_depend')}


@functools.cache
def imported(folder: Path) -> set[str]:
    """Modules that code imports, without those of Python itself."""
    found = set()
    for path in folder.rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(node.module)
    return {name.split('.')[0] for name in found} - NOT_OURS


@functools.cache
def from_pip() -> dict[str, str]:
    """What requirements/base.in has because rosdep has not, with the reasons."""
    text = (ROOT / 'requirements' / 'base.in').read_text().split('# From pip alone')[1]
    lines = (line.partition('#') for line in text.splitlines()[1:])
    return {re.split('[<=>]', name.strip())[0]: reason.strip() for name, _, reason in lines}


def needed(folder: Path, package: str) -> set[str]:
    modules = imported(folder) - {package} - OTHERS - BESIDE
    return {KEYS.get(name, name) for name in modules
            if PIP_NAMES.get(name, name) not in from_pip()}


@pytest.mark.parametrize('package', PACKAGES)
def test_packages_declare_what_they_import(package):
    code = ROOT / 'src' / package / package
    assert needed(code, package) - declared(package) == set()
    tests = ROOT / 'src' / package / 'test'
    assert needed(tests, package) - declared(package, tests=True) == set()
    if tests.exists():             # conftest.py at the top belongs to the tests of every package
        assert 'python3-hypothesis' in declared(package, tests=True)


@pytest.mark.parametrize('package', PACKAGES)
def test_python_packages_need_what_they_declare(package):
    if (ROOT / 'src' / package / 'setup.py').exists():
        used = needed(ROOT / 'src' / package / package, package)
        assert declared(package) - used == set()


def test_bringup_declares_what_its_launch_files_start():
    text = '\n'.join(path.read_text() for path in (ROOT / 'launch').glob('*.launch.xml'))
    started = set(re.findall(r'pkg="(\w+)"|find-pkg-\w+ (\w+)', text))
    names = {name for pair in started for name in pair if name} - {'armsense_bringup'}
    for path, plugin in (('config/ros2_control.yaml', r'type: (\w+)/'),
                         ('urdf/ros2_control.xacro', r'<plugin>(\w+)/'),
                         ('config/armsense.rviz', r'Class: (rviz_default\w+)/')):
        found = set(re.findall(plugin, (ROOT / path).read_text()))
        assert found, path
        names |= found
    names.remove('mock_components')        # part of hardware_interface, used by no launch file
    assert {*names, 'ros2launch'} - declared('armsense_bringup') == set()


def test_rosdep_knows_every_key():
    table = yaml.safe_load((ROOT / 'test' / 'rosdep_keys.yaml').read_text())
    known = {key for place in table.values() for key in place}
    keys = set().union(*(declared(package, tests=True) for package in PACKAGES)) - set(PACKAGES)
    assert keys == known
    # Ubuntu 24.04 refuses pip outside of virtual environments, and with it rosdep.
    assert all(name.startswith('python3-') for name in table['rosdep/python.yaml'].values())


def test_what_comes_from_pip_alone_has_a_reason():
    reasons = from_pip()
    assert {'pin', 'mujoco', 'dartpy', 'viser'} <= set(reasons)
    assert all('rosdep' in reason or 'colcon' in reason for reason in reasons.values())


@pytest.mark.parametrize('package', PACKAGES)
def test_manifests_are_of_format_3(package):
    # What REP 149 demands: one name, version, description, a maintainer with address, a licence.
    root = manifest(package)
    assert root.get('format') == '3'
    assert root.findtext('name') == package
    assert re.fullmatch(r'\d+\.\d+\.\d+', root.findtext('version'))
    assert root.findtext('description').strip()
    assert re.fullmatch(r'[^@\s]+@[^@\s]+\.\w+', root.find('maintainer').get('email'))
    assert root.findtext('maintainer').strip()
    assert root.findtext('license') == 'Apache-2.0'
    assert root.findtext('export/build_type') in ('ament_python', 'ament_cmake')
    known = {'name', 'version', 'description', 'maintainer', 'license', 'export',
             'buildtool_depend', 'depend', 'exec_depend', 'test_depend', 'member_of_group'}
    assert {element.tag for element in root} <= known
    words = [(element.tag, element.text) for element in root]
    assert len(words) == len(set(words))


@pytest.mark.parametrize('package', PACKAGES)
def test_setup_says_what_the_manifest_says(package):
    path = ROOT / 'src' / package / 'setup.py'
    if not path.exists():
        return
    call, = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
             and getattr(node.func, 'id', '') == 'setup')
    said = {word.arg: word.value.value for word in call.keywords
            if isinstance(word.value, ast.Constant)}
    root = manifest(package)
    assert {name: said[name] for name in ('version', 'description', 'license')} == {
        name: root.findtext(name) for name in ('version', 'description', 'license')}
    assert "extras_require={'test': ['pytest']}" in path.read_text()   # else colcon runs unittest
