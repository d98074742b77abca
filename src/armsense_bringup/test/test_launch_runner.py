"""The runner as a command, with real processes."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
import pty
import signal
import subprocess
import sys
import time

import pytest
import yaml

from armsense_bringup.launch.language import Mistake
from armsense_bringup.launch.runner import parse_arguments

LONG = 60.0  # [s] a limit that only a hanging test reaches
COMMAND = [sys.executable, '-m', 'armsense_bringup.launch.runner']


def run(prefix, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, words)], env=prefix.environment, capture_output=True, text=True,
        timeout=LONG, check=False, cwd=prefix.root)


@contextlib.contextmanager
def running(prefix, path: Path, *words: str, ready: int = 1):
    """The runner in the background, once `ready` processes have said so."""
    process = subprocess.Popen(
        [*COMMAND, str(path), *words], env=prefix.environment, stdout=subprocess.PIPE, text=True)
    try:
        for line in process.stdout:
            ready -= line.endswith('] ready\n')
            if not ready:
                break
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=LONG)


def alive(pid: int) -> bool:
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except FileNotFoundError:
        return False


def test_argument_types_arrive_as_parameters(prefix) -> None:
    path = prefix.launch_file("""
      <arg name="rate" default="1000"/><arg name="gain" default="0.5"/>
      <arg name="enabled" default="true"/><arg name="label" default="laas4"/>
      <arg name="serial" default="007"/>
      <push_ros_namespace namespace="ns"/>
      <node pkg="fake" exec="probe" name="n">
        <param name="rate" value="$(var rate)"/><param name="gain" value="$(var gain)"/>
        <param name="enabled" value="$(var enabled)"/><param name="label" value="$(var label)"/>
        <param name="serial" value="$(var serial)" type="str"/>
      </node>""")
    assert run(prefix, path, 'rate:=500', 'enabled:=false').returncode == 0
    record, = prefix.records()
    assert yaml.safe_load(record['parameters'][0]) == {'/ns/n': {'ros__parameters': {
        'rate': 500, 'gain': 0.5, 'enabled': False, 'label': 'laas4', 'serial': '007'}}}


def test_conditions_choose_the_processes(prefix) -> None:
    path = prefix.launch_file(r"""
      <arg name="hardware" default="sim"><choice value="sim"/><choice value="spi"/></arg>
      <let name="simulated" value="$(eval '\'$(var hardware)\' == \'sim\'')"/>
      <node pkg="fake" exec="probe" name="plant" args="plant" if="$(var simulated)"/>
      <node pkg="fake" exec="probe" name="wire" args="wire" unless="$(var simulated)"/>
      <group if="$(eval '\'$(var hardware)\' in [\'spi\', \'can\']')">
        <node pkg="fake" exec="probe" name="watchdog" args="watchdog"/>
      </group>""")
    assert run(prefix, path, 'hardware:=spi').returncode == 0
    assert {record['words'][0] for record in prefix.records()} == {'wire', 'watchdog'}


def test_namespaces_and_environment(prefix) -> None:
    path = prefix.launch_file("""
      <arg name="side"/>
      <group>
        <push_ros_namespace namespace="$(var side)"/>
        <set_env name="SIDE" value="$(var side)"/>
        <node pkg="fake" exec="probe" name="board" args="one $(find-pkg-share fake)/two"/>
      </group>""")
    assert run(prefix, path, 'side:=left').returncode == 0
    record, = prefix.records()
    assert record['words'] == ['one', f'{prefix.root}/share/fake/two', '--ros-args', '-r',
                               '__node:=board', '-r', '__ns:=/left']
    assert record['environment']['SIDE'] == 'left'


NODE = """
import json, rclpy
from rclpy.node import Node
rclpy.init()
node = Node('default_name', automatically_declare_parameters_from_overrides=True)
values = {name: p.value for name, p in node.get_parameters_by_prefix('').items()}
for own in ('use_sim_time', 'start_type_description_service'):
    values.pop(own, None)
print(json.dumps([
    node.get_fully_qualified_name(), node.resolve_topic_name('states'),
    {k: v if isinstance(v, (bool, int, float, str)) else list(v) for k, v in values.items()}]))
rclpy.shutdown()
"""


def test_a_ros_node_understands_what_it_is_given(prefix) -> None:
    prefix.install('fake', 'node', f'#!{sys.executable}\n{NODE}')
    path = prefix.launch_file("""
      <push_ros_namespace namespace="left"/>
      <node pkg="fake" exec="node" name="board">
        <param name="n" value="4"/><param name="text" value="4" type="str"/>
        <param name="on" value="true"/><param name="gains.p" value="1" type="float"/>
      </node>""")
    result = run(prefix, path)
    assert result.returncode == 0, result.stderr
    line = next(line for line in result.stdout.splitlines() if line.startswith('[board] ['))
    assert json.loads(line.removeprefix('[board] ')) == [
        '/left/board', '/left/states', {'n': 4, 'text': '4', 'on': True, 'gains.p': 1.0}]


def test_a_crashing_node_decides_the_exit_code(prefix) -> None:
    path = prefix.launch_file("""
      <node pkg="fake" exec="probe" name="good"/>
      <node pkg="fake" exec="probe" name="bad" args="exit=3"/>""")
    result = run(prefix, path)
    assert result.returncode == 1
    lines = result.stdout.splitlines()
    assert '[launch] good finished' in lines
    assert '[launch] bad died with exit code 3' in lines
    assert '[bad] a complaint' in lines
    assert '[bad] no newline' in lines
    assert lines[-1] == '[launch] FAILED: bad died with exit code 3: a complaint'


def test_ctrl_c_stops_all_cleanly(prefix) -> None:
    path = prefix.launch_file("""
      <node pkg="fake" exec="probe" name="a" args="polite"/>
      <node pkg="fake" exec="probe" name="b" args="polite"/>""")
    with running(prefix, path, ready=2) as process:
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=LONG)
    assert process.returncode == 0
    assert {'[a] leaving', '[b] leaving'} <= set(output.splitlines())
    assert not any(alive(record['pid']) for record in prefix.records())


def test_ctrl_c_with_a_stubborn_node(prefix) -> None:
    path = prefix.launch_file("""
      <node pkg="fake" exec="probe" name="a" args="polite"/>
      <node pkg="fake" exec="probe" name="b" args="stubborn"/>""")
    timeouts = ('--sigterm-timeout', '0.2', '--sigkill-timeout', '0.2')
    with running(prefix, path, *timeouts, ready=2) as process:
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=LONG)
    assert process.returncode == 1
    expected = [
        '[b] not at SIGINT', '[launch] b does not stop, sending SIGTERM', '[b] not at SIGTERM',
        '[launch] b does not stop, sending SIGKILL', '[launch] b died of SIGKILL (exit code -9)']
    assert [line for line in output.splitlines() if line in expected] == expected
    assert not any(alive(record['pid']) for record in prefix.records())


def test_sigterm_leaves_no_orphans(prefix) -> None:
    path = prefix.launch_file('<node pkg="fake" exec="probe" name="a" args="polite"/>')
    with running(prefix, path) as process:
        process.terminate()
        output, _ = process.communicate(timeout=LONG)
    assert process.returncode == 0
    assert '[a] leaving' in output.splitlines()
    assert not any(alive(record['pid']) for record in prefix.records())


def test_a_terminal_that_goes_away_lets_nodes_end_in_order(prefix) -> None:
    path = prefix.launch_file("""
      <node pkg="fake" exec="probe" name="a" args="polite"/>
      <node pkg="fake" exec="probe" name="b" args="polite late"/>""")
    runner, master = pty.fork()
    if runner == 0:
        os.execve(COMMAND[0], [*COMMAND, str(path)], prefix.environment)
    output = b''
    while output.count(b' ready\r\n') < 2:
        output += os.read(master, 1000)
    os.close(master)   # the runner gets SIGHUP, and EIO for all that it still says
    os.waitpid(runner, 0)
    assert prefix.left() == {record['pid'] for record in prefix.records()}


def test_a_killed_runner_takes_its_nodes_along(prefix) -> None:
    path = prefix.launch_file('<node pkg="fake" exec="probe" name="a" args="stubborn"/>')
    with running(prefix, path) as process:
        process.kill()
        process.wait(LONG)
    record, = prefix.records()
    deadline = time.monotonic() + LONG
    while alive(record['pid']) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(record['pid'])


def test_an_unknown_tag_starts_nothing(prefix) -> None:
    path = prefix.launch_file(
        '<node pkg="fake" exec="probe" name="n"/>\n<node_container pkg="fake"/>')
    result = run(prefix, path)
    assert result.returncode == 2
    assert result.stderr.startswith(f'launch: {path}:3: unknown tag <node_container> in <launch>')
    assert prefix.records() == []


def test_package_and_file_on_the_command_line(prefix) -> None:
    prefix.launch_file('<node pkg="fake" exec="probe" name="n"/>', 'here.launch.xml')
    assert run(prefix, 'fake', 'here.launch.xml').returncode == 0
    assert len(prefix.records()) == 1
    wrong = run(prefix, 'fake', 'there.launch.xml')
    assert wrong.returncode == 2
    assert "no launch file 'there.launch.xml'; known: here.launch.xml" in wrong.stderr


def test_a_bare_file_name_is_looked_up_in_bringup(prefix) -> None:
    marker = prefix.root / 'share/ament_index/resource_index/packages/armsense_bringup'
    marker.touch()
    folder = prefix.root / 'share/armsense_bringup/launch'
    folder.mkdir(parents=True)
    (folder / 'own.launch.xml').write_text(
        '<launch><node pkg="fake" exec="probe" name="n"/></launch>')
    assert run(prefix, 'own.launch.xml').returncode == 0
    assert len(prefix.records()) == 1


def test_show_args_and_dry_run_start_nothing(prefix) -> None:
    path = prefix.launch_file("""
      <arg name="arm" default="laas4" description="Which arm">
        <choice value="laas4"/><choice value="zeego"/></arg>
      <arg name="needed"/>
      <node pkg="fake" exec="probe" name="n" args="$(var needed)">
        <param name="arm" value="$(var arm)"/></node>""")
    shown = run(prefix, path, '--show-args')
    assert shown.returncode == 0
    assert shown.stdout.split('\n\n')[1:] == [
        "    'arm':\n        Which arm\n        one of: 'laas4', 'zeego'\n"
        "        (default: 'laas4')", "    'needed':\n        (a value is needed)\n"]
    printed = run(prefix, path, 'needed:=x', '--dry-run')
    assert printed.returncode == 0
    probe = prefix.root / 'lib/fake/probe'
    assert printed.stdout == f"[n] {probe} x --ros-args -r __node:=n\n    arm: 'laas4'\n"
    assert prefix.records() == []


@pytest.mark.parametrize('word', [':=1', 'a:='])
def test_malformed_argument(word: str) -> None:
    with pytest.raises(Mistake, match='NAME:=VALUE expected'):
        parse_arguments([word])
    assert parse_arguments(['a:=1', 'a:=b:=c']) == {'a': 'b:=c'}
