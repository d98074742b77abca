"""The workspace machinery against a tiny fake checkout: no wheel is installed here."""

import contextlib
import importlib.machinery
import json
import os
from pathlib import Path
import shlex
import shutil
import subprocess
import sys
import threading
import time

import pytest

from armsense_bringup.workspace import workspace as module
from armsense_bringup.workspace.machine import (
    check_machine,
    explain_failure,
    own_middleware,
    SetupError,
)
from armsense_bringup.workspace.workspace import adapt_wheels, prefer_venv, Workspace

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / 'requirements').mkdir()
    for name in ('base.lock', 'ros.lock'):
        (tmp_path / 'requirements' / name).write_text('numpy==1.0\n')
    package = tmp_path / 'src' / 'demo'
    package.mkdir(parents=True)
    (package / 'package.xml').write_text('<package/>')
    return tmp_path


@pytest.fixture
def workspace(checkout, monkeypatch):
    """A workspace whose stages are recorded instead of done."""
    monkeypatch.delenv('ROS_DISTRO', raising=False)
    space = Workspace(checkout)
    space.stages = []
    python = checkout / '.venv' / 'bin' / 'python'

    def install():
        space.stages.append('install')
        python.parent.mkdir(parents=True, exist_ok=True)
        python.touch()
        (checkout / '.venv' / 'created.stamp').write_text(space._origin())
        (checkout / '.venv' / 'installed.stamp').write_text(space._install_key())

    def build():
        space.stages.append('build')
        (checkout / 'install').mkdir(exist_ok=True)
        (checkout / 'install' / 'built.stamp').write_text(space._build_key())

    monkeypatch.setattr(space, '_install', install)
    monkeypatch.setattr(space, '_build', build)
    return space


def test_nothing_is_done_twice(workspace):
    workspace.ensure()
    workspace.ensure()
    assert workspace.stages == ['install', 'build']


def test_a_changed_lock_file_installs_and_builds_again(workspace):
    workspace.ensure()
    (workspace.root / 'requirements' / 'ros.lock').write_text('numpy==2.0\n')
    workspace.ensure()
    assert workspace.stages == ['install', 'build'] * 2


def test_a_changed_package_builds_again_but_python_code_does_not(workspace):
    workspace.ensure()
    (workspace.root / 'src' / 'demo' / 'code.py').write_text('x = 1')
    workspace.ensure()
    assert workspace.stages == ['install', 'build']
    (workspace.root / 'src' / 'demo' / 'package.xml').write_text('<package format="3"/>')
    workspace.ensure()
    assert workspace.stages == ['install', 'build', 'build']


def test_an_interrupted_start_resumes_with_the_missing_stage(workspace, monkeypatch):
    build = workspace._build
    monkeypatch.setattr(workspace, '_build', lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        workspace.ensure()
    monkeypatch.setattr(workspace, '_build', build)
    workspace.ensure()
    assert workspace.stages == ['install', 'build']


def test_two_starts_at_once_do_the_work_once(workspace, monkeypatch, capsys):
    install, inside = workspace._install, []

    def slow():
        inside.append(1)
        time.sleep(0.3)
        assert len(inside) == 1
        install()

    monkeypatch.setattr(workspace, '_install', slow)
    threads = [threading.Thread(target=workspace.ensure) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert workspace.stages == ['install', 'build']
    assert 'waiting' in capsys.readouterr().err


@pytest.fixture
def commands(monkeypatch):
    """What the set-up would run; it leaves no more behind than is looked at later."""
    monkeypatch.delenv('ROS_DISTRO', raising=False)
    monkeypatch.delenv('ARMSENSE_ROS', raising=False)
    ran = []

    def run(space, command, what, *rest, **options):
        ran.append(command)
        if 'venv' in command:
            space.python.parent.mkdir(parents=True)
            space.python.symlink_to(sys.executable)
        if command[0] == 'bash':
            for name in ('build', 'install'):
                (space.root / name).mkdir(exist_ok=True)

    monkeypatch.setattr(Workspace, '_run', run)
    monkeypatch.setattr(Workspace, '_capture_environment', lambda space: None)
    monkeypatch.setattr(module, 'adapt_wheels', lambda venv: None)
    monkeypatch.setattr(module, 'prefer_venv', lambda venv: None)
    monkeypatch.setattr(module, 'check_machine', lambda *arguments, **options: None)
    return ran


def copied(root, _):
    copy = root.parent / f'{root.name}_copy'
    shutil.copytree(root, copy, symlinks=True)
    return copy


def python_removed(root, _):
    python = root / '.venv' / 'bin' / 'python'
    python.unlink()
    python.symlink_to('/nowhere/python3')
    return root


def other_python(root, monkeypatch):
    monkeypatch.setattr('sysconfig.get_python_version', lambda: '3.99')
    return root


def ros_sourced(root, monkeypatch):
    monkeypatch.setenv('ROS_DISTRO', 'jazzy')
    return root


@pytest.mark.parametrize('change', [copied, python_removed, other_python, ros_sourced])
def test_another_place_or_python_or_ros_makes_everything_anew(
        checkout, commands, monkeypatch, change):
    root = checkout
    Workspace(root).ensure()
    (root / 'build' / 'CMakeCache.txt').touch()
    count = len(commands)
    Workspace(root).ensure()
    assert len(commands) == count          # all is there
    root = change(root, monkeypatch)
    Workspace(root).ensure()
    again = commands[count:]
    assert len(again) == count
    assert again[0][:4] == [sys._base_executable, '-m', 'venv', str(root / '.venv')]
    assert ('--system-site-packages' in again[0]) == (change is ros_sourced)
    assert not (root / 'build' / 'CMakeCache.txt').exists()
    count = len(commands)
    Workspace(root).ensure()
    assert len(commands) == count


def test_an_installed_ros_needs_no_ros_wheels(checkout, monkeypatch):
    monkeypatch.setenv('ROS_DISTRO', 'jazzy')
    monkeypatch.delenv('ARMSENSE_ROS', raising=False)
    assert [lock.name for lock in Workspace(checkout).lock_files] == ['base.lock']


def test_our_own_children_are_not_an_installed_ros(checkout, monkeypatch):
    monkeypatch.setenv('ROS_DISTRO', 'jazzy')
    monkeypatch.setenv('ARMSENSE_ROS', 'wheels')
    assert Workspace(checkout).ros_distro is None


def test_a_shell_that_forgot_to_source_ros_costs_no_build(checkout, commands, monkeypatch):
    with monkeypatch.context() as sourced:
        sourced.delenv('ARMSENSE_ROS', raising=False)
        sourced.setenv('ROS_DISTRO', 'jazzy')
        Workspace(checkout).ensure()
    count = len(commands)
    monkeypatch.delenv('ROS_DISTRO', raising=False)
    with pytest.raises(SetupError, match=r'built with ROS 2 jazzy: source /opt/ros/jazzy/setup'):
        Workspace(checkout).ensure()
    assert len(commands) == count
    shutil.rmtree(checkout / '.venv')
    Workspace(checkout).ensure()
    assert '--system-site-packages' not in commands[count]


def test_the_virtual_environment_comes_before_what_ros_has(tmp_path):
    venv, ros = tmp_path / '.venv', tmp_path / 'opt'
    subprocess.run([sys.executable, '-m', 'venv', '--without-pip', '--system-site-packages', venv],
                   check=True)
    prefer_venv(venv)
    site, = venv.glob('lib/python3.*/site-packages')
    (site / 'prefix').mkdir()
    (site / 'cmeel.pth').write_text('prefix\n')       # as that of Pinocchio
    ros.mkdir()
    for folder, names in ((site, ['plain']), (site / 'prefix', ['pinocchio']),
                          (ros, ['plain', 'pinocchio', 'rclpy', 'yaml'])):
        for name in names:
            (folder / f'{name}.py').touch()
    answer = subprocess.run(
        [venv / 'bin' / 'python', '-c', 'import plain, pinocchio, rclpy, yaml\n'
         'for module in plain, pinocchio, rclpy, yaml: print(module.__file__)'],
        env={'PYTHONPATH': str(ros)}, text=True, check=True, capture_output=True)
    assert answer.stdout.split() == [str(path) for path in (
        site / 'plain.py', site / 'prefix' / 'pinocchio.py', ros / 'rclpy.py', ros / 'yaml.py')]


@pytest.mark.parametrize(('found', 'message'), [
    (None, 'rclpy is not on PYTHONPATH: source /opt/ros/jazzy/setup.bash'),
    ('/opt/ros/jazzy/lib/python3.99/site-packages/rclpy/__init__.py', 'is not of python3'),
    (f'/opt/ros/jazzy/lib/python3.{sys.version_info.minor}/site-packages/rclpy/__init__.py', '')])
def test_an_installed_ros_has_to_be_sourced_and_of_this_python(
        tmp_path, monkeypatch, found, message):
    spec = None if found is None else importlib.machinery.ModuleSpec('rclpy', None, origin=found)
    monkeypatch.setenv('ROS_DISTRO', 'jazzy')
    monkeypatch.delenv('ARMSENSE_ROS', raising=False)
    monkeypatch.setattr('importlib.util.find_spec', lambda name: spec)
    told = pytest.raises(SetupError, match=message) if message else contextlib.nullcontext()
    with told:
        check_machine(tmp_path)


def base_paths(script):
    words = shlex.split(script)
    first = words.index('--base-paths') + 1
    return words[first:words.index('--symlink-install', first)]


def test_the_wheels_lack_two_message_packages(checkout, monkeypatch):
    monkeypatch.delenv('ROS_DISTRO', raising=False)
    monkeypatch.setenv('AMENT_PREFIX_PATH', '/opt/ros/jazzy')   # cleared before the build
    script = Workspace(checkout)._build_script()
    assert base_paths(script) == ['src', 'src/compat/control_msgs', 'src/compat/tf2_msgs']
    assert script.startswith(f'. "{checkout}/.venv/local_setup.sh" && exec "')


@pytest.mark.parametrize(('present', 'built'), [
    ([], ['src/compat/control_msgs', 'src/compat/tf2_msgs']),
    (['tf2_msgs'], ['src/compat/control_msgs']),
    (['control_msgs', 'tf2_msgs'], [])])
def test_an_installed_ros_keeps_its_own_message_packages(checkout, tmp_path, monkeypatch, present,
                                                         built):
    ours, theirs = checkout / 'install' / 'control_msgs', tmp_path / 'opt'
    for prefix, names in ((ours, ['control_msgs']), (theirs, present)):
        for name in names:
            (prefix / 'share' / name).mkdir(parents=True)
            (prefix / 'share' / name / 'package.xml').touch()
    monkeypatch.setenv('ROS_DISTRO', 'jazzy')
    monkeypatch.delenv('ARMSENSE_ROS', raising=False)
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{ours}:{theirs}')
    script = Workspace(checkout)._build_script()
    assert base_paths(script) == ['src', *built]
    assert script.startswith('exec "')   # so that a signal reaches colcon


def test_colcon_finds_message_packages_only_where_they_are_named():
    def found(*folders):
        return set(subprocess.run(
            [sys.executable, '-m', 'colcon', '--log-base', '/dev/null', 'list', '--names-only',
             '--base-paths', *folders], cwd=ROOT, check=True, text=True,
            capture_output=True).stdout.split())

    usual, added = found('src'), found('src', 'src/compat/tf2_msgs')
    assert 'armsense' in usual
    assert not usual & set(module.COMPAT_PACKAGES)
    assert added - usual == {'tf2_msgs'}


@pytest.mark.parametrize(('patch', 'message'), [
    (('shutil.which', lambda name: None), 'no C\\+\\+ compiler was found: sudo apt install g'),
    (('shutil.which', lambda name: name if name == 'c++' else None),
     'make was not found: sudo apt install make'),
    (('platform.machine', lambda: 'aarch64'), 'x86_64 only, this is aarch64'),
    (('sysconfig.get_paths', lambda: {'include': '/nowhere'}), 'Python headers are missing'),
])
def test_what_is_missing_is_said_with_what_to_type(tmp_path, monkeypatch, patch, message):
    monkeypatch.delenv('ROS_DISTRO', raising=False)
    monkeypatch.setattr(patch[0], patch[1])
    with pytest.raises(SetupError, match=message):
        check_machine(tmp_path)


def test_a_full_disk_is_said(tmp_path, monkeypatch):
    usage = type('Usage', (), {'free': 1e8})
    monkeypatch.setattr('shutil.disk_usage', lambda path: usage)
    with pytest.raises(SetupError, match=r'0\.1 GB of disk are free'):
        check_machine(tmp_path)


@pytest.mark.parametrize(('output', 'message'), [
    ('error: [Errno 28] No space left on device', 'the disk is full'),
    ('Failed to establish: NewConnectionError', 'the package index cannot be reached'),
    ('something else\nboom', 'boom'),
])
def test_failures_are_explained(output, message):
    assert message in explain_failure('installing', [output], Path('log'))


def test_a_failing_tool_ends_with_its_last_lines(checkout):
    space = Workspace(checkout)
    command = [sys.executable, '-c', 'print("half done"); raise SystemExit(3)']
    with pytest.raises(SetupError, match='half done'):
        space._run(command, 'trying', lambda line: None)
    assert 'half done' in space.log.read_text()


def test_wheels_get_the_include_folders_of_this_machine(tmp_path):
    venv = tmp_path / '.venv'
    (venv / 'share' / 'x').mkdir(parents=True)
    (venv / 'bin').mkdir()
    (venv / 'bin' / 'python').symlink_to(sys.executable)
    cmake = venv / 'share' / 'x' / 'x.cmake'
    cmake.write_text('INTERFACE "/opt/python/cp311-cp311/include/python3.11;'
                     '/tmp/build-env-1/lib/python3.11/site-packages/numpy/_core/include"')
    adapt_wheels(venv)
    folders = cmake.read_text().split('"')[1].split(';')
    assert Path(folders[0], 'Python.h').exists()
    assert Path(folders[1], 'numpy', 'arrayobject.h').exists()
    assert str(venv) in (venv / 'local_setup.sh').read_text()


def run(*arguments):
    root = Path(__file__).resolve().parents[3]
    return subprocess.run([sys.executable, str(root / 'armsense'), *arguments],
                          capture_output=True, text=True)


MIDDLEWARE = ('ROS_AUTOMATIC_DISCOVERY_RANGE', 'FASTRTPS_DEFAULT_PROFILES_FILE',
              'FASTDDS_DEFAULT_PROFILES_FILE')


@pytest.mark.parametrize('chosen', MIDDLEWARE)
def test_the_users_own_middleware_settings_stay(chosen):
    assert own_middleware(ROOT, {chosen: 'mine'}) == {}


def test_another_middleware_stays_on_this_machine():
    assert own_middleware(ROOT, {'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp'}) == {
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}


@pytest.mark.parametrize('reach', [{}, {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}])
def test_nodes_use_the_loopback_and_no_shared_memory(reach):
    """For LOCALHOST the middleware takes shared memory, which stops publishers; we do not."""
    code = """
import os, pathlib, rclpy
rclpy.init()
node = rclpy.create_node('quiet')
print(*(p.read_text().strip() for p in pathlib.Path('/proc/self/task').glob('*/comm')))
own = {os.readlink(f) for f in pathlib.Path('/proc/self/fd').iterdir() if f.is_symlink()}
for line in open('/proc/self/net/udp').readlines()[1:]:
    if f'socket:[{line.split()[9]}]' in own:
        print(line.split()[1])
"""
    ours = {name: value for name, value in os.environ.items() if name not in MIDDLEWARE}
    environment = {**ours, **reach, **own_middleware(ROOT, reach)}
    out = subprocess.run([sys.executable, '-c', code], env=environment, text=True, check=True,
                         capture_output=True).stdout
    threads, *addresses = out.splitlines()
    assert 'dds.udp' in threads
    assert 'dds.shm' not in threads
    assert addresses
    assert all(a.startswith('0100007F') for a in addresses)


def test_unknown_command_suggests_the_nearest():
    result = run('tset')
    assert result.returncode == 2
    assert "did you mean 'test'?" in result.stderr


def test_help_lists_the_commands():
    from armsense_bringup.command_line import COMMANDS
    result = run('help')
    assert result.returncode == 0
    assert all(name in result.stdout for name in COMMANDS)


def test_doctor_prints_one_json_object():
    result = run('doctor', '--json')
    found = json.loads(result.stdout)
    assert result.returncode == 0
    assert found['problems'] == []
    assert {'python', 'ros', 'rmw', 'can', 'spi', 'realtime_priority',
            'disk_free_gb'} <= set(found)


def test_doctor_reads_kernel_and_governor_and_advises(tmp_path):
    from armsense_bringup.workspace.doctor import governor, kernel, notes
    assert governor(tmp_path) is None
    file = tmp_path / 'cpu0/cpufreq/scaling_governor'
    file.parent.mkdir(parents=True)
    file.write_text('powersave\n')
    (tmp_path / 'realtime').write_text('1\n')
    assert (governor(tmp_path), kernel(tmp_path)) == ('powersave', 'real-time (PREEMPT_RT)')
    found = {'can': ['can0'], 'spi': ['x'], 'realtime_priority': 98, 'kernel': kernel(tmp_path)}
    assert any('powersave' in note for note in notes({**found, 'governor': 'powersave'}))
    assert any('ordinary' in note for note in notes(
        {**found, 'governor': None, 'kernel': 'ordinary'}))
    assert not any('kernel' in note or 'clock' in note for note in notes(
        {**found, 'governor': 'performance'}))


def test_version_is_checked_before_anything_is_imported():
    source = (ROOT / 'armsense').read_text()
    assert source.index('version_info') < source.index('armsense_bringup')
