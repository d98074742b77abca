"""Launch files evaluated to processes: what `load` promises and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from armsense_bringup.launch_file import LaunchError
from armsense_bringup.launch_plan import declared_arguments, load
from armsense_bringup.launch_process import join_namespace, ParameterBlock, ProcessSpec

ROOT = Path(__file__).parents[3]


def words(process: ProcessSpec) -> list[str]:
    """Arguments of the executable, before those for ROS."""
    return list(process.command[1:process.command.index('--ros-args')])


# Tags, attributes and substitutions that ROS 2 launch has and this runner does not, or nobody.
@pytest.mark.parametrize(('body', 'line', 'message'), [
    ('<let name="a" value="b"/>\n<timer period="1"/>', 3,
     'unknown tag <timer> in <launch>; known: arg, executable, group'),
    ('<group>\n<nod pkg="fake" exec="probe"/></group>', 3, 'unknown tag <nod> in <group>'),
    ('<node pkg="fake" exec="probe"\n emulate_tty="true"/>', 2,
     "unknown attribute 'emulate_tty' in <node>; known: args, cwd"),
    ('<node exec="probe">\n<param name="a" value="1" if="true"/></node>', 3,
     "unknown attribute 'if' in <param>"),
    ('<arg name="a"><choice value="1"/>\n<choice valu="2"/></arg>', 3,
     "unknown attribute 'valu' in <choice>"),
    ('\n\n<let name="a" value="$(anon x)"/>', 4, r'unknown substitution \$\(anon'),
    ('<group if="false">\n<let name="a" value="$(eval 1 2 3)"/></group>', 3, 'takes 1 argument'),
    ('<let name="a"/>', 2, "<let> needs the attribute 'value'"),
    ('<node exec="x" if="true" unless="true"/>', 2, 'exclude each other'),
    ('<node exec="x" on_exit="panic"/>', 2, "on_exit='panic'; known: shutdown"),
    ('<node exec="x" respawn_delay="$(env X)"/>', 2, 'substitutions do not work here'),
    ('<node exec="x" respawn_max_retries="often"/>', 2, 'not a whole number'),
    ('<node exec="x" output="radio"/>', 2, "output='radio'; known: screen, log"),
    ('<group scoped="perhaps"/>', 2, 'known: true, false'),
    ('<node exec="x"><param value="1"/></node>', 2, "needs 'name' or 'from'"),
    ('<node exec="x"><param name="a"/></node>', 2, "either 'value' or nested"),
    ('<node exec="x"><param name="a" value="1" from="b"/></node>', 2, 'excludes other'),
    ('<node exec="x"><param name="a" value="null"/></node>', 2, "parameter 'a': 'null' is no"),
    ('<node exec="x">\n<param from="/no/such.yaml"/></node>', 3, 'does not exist'),
    ('hello', 2, "text 'hello' inside <launch>"),
    ('<let name="a" value="b">', 3, 'not XML: mismatched tag'),
    ('<let name="a" value="$(var b)"/>', 2, "unknown variable 'b'"),
    ('<let name="a" value="" if="maybe"/>', 2, "is 'maybe'; known: true, 1, false, 0"),
    ('<node pkg="nope" exec="x"/>', 2, "package 'nope' is not installed"),
    ('<node pkg="fake" exec="prob"/>', 2, "no executable 'prob'; known: probe"),
    ('<node exec="x" name="1st"/>', 2, "node name '1st'"),
    ('<push_ros_namespace namespace="a//b"/>', 2, "namespace '/a//b'"),
    ('<executable cmd=""/>', 2, 'cmd is empty'),
    ('<include file="x.launch.py"/>', 2, 'no XML launch file'),
    ('<include file="$(dirname)/none.launch.xml"/>', 2, 'none.launch.xml does not exist'),
    ('<include file="$(dirname)/test.launch.xml"/>', 2, 'more than 20 files include each other'),
    ('<arg name="a" description="how far"/>', 2, r'needs a value: a:=... \(how far\)'),
])
def test_error_names_file_and_line(prefix, body: str, line: int, message: str) -> None:
    path = prefix.launch_file(body)
    with pytest.raises(LaunchError, match=message) as error:
        load(path, environment=prefix.environment)
    assert str(error.value).startswith(f'{path}:{line}: ')


def test_root_and_missing_file(tmp_path: Path) -> None:
    path = tmp_path / 'x.launch.xml'
    with pytest.raises(LaunchError, match='No such file'):
        load(path)
    path.write_text('<lunch/>')
    with pytest.raises(LaunchError, match=r'x.launch.xml:1: <lunch> at the top'):
        load(path)


def test_arguments_and_choices(prefix) -> None:
    path = prefix.launch_file("""
      <arg name="arm" default="laas4"><choice value="laas4"/><choice value="zeego"/></arg>
      <arg name="gain" default="$(var arm)_gain"/>
      <node pkg="fake" exec="probe" args="$(var arm) $(var gain)"/>""")
    default, = load(path, environment=prefix.environment)
    assert words(default) == ['laas4', 'laas4_gain']
    given, = load(path, {'arm': 'zeego', 'gain': 'x y'}, prefix.environment)
    assert words(given) == ['zeego', 'x y']
    with pytest.raises(LaunchError, match="'arm' is 'puma'; known: laas4, zeego"):
        load(path, {'arm': 'puma'}, prefix.environment)
    with pytest.raises(LaunchError, match="unknown argument 'amr'; known: arm, gain"):
        load(path, {'amr': 'zeego'}, prefix.environment)


def test_a_group_gives_back_what_it_changed(prefix) -> None:
    path = prefix.launch_file("""
      <let name="x" value="outside"/>
      <set_env name="X" value="outside"/>
      <group>
        <let name="x" value="inside"/>
        <set_env name="X" value="inside"/>
        <push_ros_namespace namespace="a"/>
        <group><push_ros_namespace namespace="b"/><node exec="n" args="$(var x)"/></group>
        <group scoped="false"><push_ros_namespace namespace="c"/></group>
        <node exec="n" args="$(env X)"/>
      </group>
      <node exec="n" args="$(var x) $(env X)"/>""")
    deep, leaked, after = load(path, environment=prefix.environment)
    assert words(deep) == ['inside']
    assert '__ns:=/a/b' in deep.command
    assert words(leaked) == ['inside']
    assert leaked.environment['X'] == 'inside'
    assert '__ns:=/a/c' in leaked.command
    assert words(after) == ['outside', 'outside']
    assert not any(word.startswith('__ns') for word in after.command)


def test_an_include_shares_the_scope(prefix) -> None:
    prefix.launch_file("""
      <arg name="p"/><arg name="q" default="q_of_$(var p)"/><arg name="r" default="own"/>
      <let name="made_inside" value="yes"/>
      <node exec="n" args="$(var p) $(var q) $(var r)"/>""", 'part.launch.xml')
    path = prefix.launch_file("""
      <let name="r" value="seen"/>
      <include file="$(dirname)/part.launch.xml"><arg name="p" value="1"/></include>
      <node exec="n" args="$(var p) $(var made_inside)"/>""")
    inside, after = load(path, environment=prefix.environment)
    assert words(inside) == ['1', 'q_of_1', 'seen']
    assert words(after) == ['1', 'yes']
    # The user may set what the include leaves open.
    assert words(load(path, {'q': 'mine'}, prefix.environment)[0]) == ['1', 'mine', 'seen']


def test_an_include_refuses_an_argument_that_the_file_does_not_have(prefix) -> None:
    prefix.launch_file('<arg name="p" default="1"/>', 'part.launch.xml')
    path = prefix.launch_file(
        '<include file="$(dirname)/part.launch.xml">\n<arg name="o" value="1"/></include>')
    with pytest.raises(LaunchError, match=r":3: part.launch.xml has no argument 'o'; known: p"):
        load(path, environment=prefix.environment)


def test_an_argument_of_a_skipped_include_is_known(prefix) -> None:
    prefix.launch_file('<arg name="p" default="1"/>', 'part.launch.xml')
    path = prefix.launch_file(
        '<group if="false"><include file="$(dirname)/part.launch.xml"/></group>')
    assert load(path, {'p': '2'}, prefix.environment) == []


def test_dirname_is_refused_where_ros2_launch_takes_it_otherwise(prefix) -> None:
    prefix.launch_file('', 'sub/part.launch.xml')
    path = prefix.launch_file("""<include file="$(dirname)/sub/part.launch.xml"/>
      <node exec="n" args="$(dirname)"/>""")
    with pytest.raises(LaunchError, match=':3: .*keep it with <let> before'):
        load(path, environment=prefix.environment)


def test_parameters_keep_the_order_of_the_file(prefix) -> None:
    values = prefix.root / 'values.yaml'
    values.write_text('/**: {ros__parameters: {a: 0}}')
    path = prefix.launch_file(f"""
      <node exec="n" name="n" namespace="ns">
        <param name="a" value="1"/><param name="b"><param name="c" value="x"/></param>
        <param from="{values}"/><param name="d" value="[1.0]"/>
      </node>
      <node exec="n" name="n"><param name="a" value="1"/></node>""")
    full, partly = load(path, environment=prefix.environment)
    assert full.parameters == (
        ParameterBlock('/ns/n', {'a': 1, 'b.c': 'x'}), values,
        ParameterBlock('/ns/n', {'d': [1.0]}))
    # Without a namespace the launch file does not know the full name.
    assert partly.parameters == (ParameterBlock('/**', {'a': 1}),)
    assert [full.name, partly.name] == ['n', 'n-2']


@pytest.mark.parametrize(('base', 'namespace', 'joined'), [
    (None, None, None), (None, '', '/'), (None, 'a', '/a'), (None, '/a/', '/a'), ('/', 'a', '/a'),
    ('/a', None, '/a'), ('/a', '', '/a'), ('/a', 'b/c', '/a/b/c'), ('/a', '/b', '/b')])
def test_join_namespace(base: str | None, namespace: str | None, joined: str | None) -> None:
    assert join_namespace(base, namespace) == joined


def test_declared_arguments_reach_into_includes(prefix) -> None:
    prefix.launch_file(
        '<arg name="fixed"/><arg name="open" description="left open"/>', 'part.launch.xml')
    path = prefix.launch_file("""
      <arg name="part" default="part"/>
      <include file="$(dirname)/$(var part).launch.xml"><arg name="fixed" value="1"/></include>""")
    found = declared_arguments(path, prefix.environment)
    assert [(a.name, a.default, a.description) for a in found] == [
        ('part', 'part', ''), ('open', None, 'left open')]


EXECUTABLES = {
    'armsense_sim': ['simulator'],
    'armsense_driver': ['motor_board', 'ros2_control_bridge', 'load_cells', 'force_torque_cells'],
    'armsense_control': ['joint_space_controller', 'dynamic_controller'],
    'armsense_collision': ['collision_observer', 'base_reaction'],
    'armsense_identification': ['identification_server'],
    'armsense_monitor': ['recorder', 'web_monitor', 'state_publisher', 'markers', 'bag_player'],
    'armsense_bringup': [], 'rviz2': ['rviz2']}


@pytest.fixture
def installed(prefix):
    """A prefix with stand-ins of everything that our launch files start."""
    for package, names in EXECUTABLES.items():
        for name in names:
            prefix.install(package, name, '#!/bin/sh\n')
    return prefix


def values(process: ProcessSpec) -> dict[str, object]:
    """All parameters that a launch file gives to a node."""
    merged: dict[str, object] = {}
    for block in process.parameters:
        assert isinstance(block, ParameterBlock)
        merged |= block.values
    return merged


@pytest.mark.parametrize(('arguments', 'nodes'), [
    ({}, 'simulator motor_board dynamic_controller collision_observer'),
    ({'hardware': 'spi', 'controller': 'joint_space_controller', 'observer': 'false'},
     'motor_board joint_space_controller'),
    ({'hardware': 'gazebo', 'monitor': 'rviz', 'controller': 'none'},
     'ros2_control_bridge collision_observer robot_state_publisher markers rviz2'),
    ({'hardware': 'gazebo', 'monitor': 'rviz', 'controller': 'none', 'description': 'false'},
     'ros2_control_bridge collision_observer markers rviz2'),
    ({'hardware': 'can', 'record': 'true', 'observer': 'false'},
     'motor_board dynamic_controller recorder'),
    ({'observer': 'false', 'monitor': 'web'},
     'simulator motor_board dynamic_controller web_monitor'),
])
def test_arm_launch_file(installed, arguments: dict[str, str], nodes: str) -> None:
    plan = load(
        ROOT / 'launch/arm.launch.xml', {**arguments, 'namespace': 'left', 'model': '7'},
        installed.environment)
    assert [process.name for process in plan] == nodes.split()
    assert all('__ns:=/left' in process.command for process in plan)
    for process in plan:
        for block in process.parameters:
            assert isinstance(block, ParameterBlock)
            assert block.node == f'/left/{process.name}'
            assert block.values.get('arm', 'laas4') == 'laas4'
            assert block.values.get('model', '7') == '7'  # a path that looks like a number
            assert block.values.get('lockstep', False) is False


@pytest.mark.parametrize('arm', ['/x/my.yaml', '255'])   # the second: a name like a number
@pytest.mark.parametrize(('name', 'arguments'), [
    ('arm', {'hardware': 'sim', 'monitor': 'rviz'}),
    ('arm', {'hardware': 'spi', 'monitor': 'web', 'record': 'true'}),
    ('arm', {'hardware': 'gazebo'}),
    ('replay', {'bag': 'x', 'monitor': 'web'})])
def test_every_node_gets_an_arm_of_ones_own(installed, name, arguments, arm) -> None:
    plan = load(ROOT / f'launch/{name}.launch.xml',
                {**arguments, 'arm': arm, 'base': 'true', 'identification': 'true'},
                installed.environment)
    for process in plan:
        if process.name not in ('rviz2', 'bag_player'):
            assert values(process)['arm'] == arm, process.name


def test_files_of_an_arm_reach_the_nodes_that_read_them(installed) -> None:
    names = {'gains': '1', 'detection': '2', 'cells': '3', 'cell_port': '4',
             'base_thresholds': '5', 'cell_source': 'can'}     # paths that look like numbers
    plan = {process.name: values(process) for process in load(
        ROOT / 'launch/arm.launch.xml', {**names, 'hardware': 'spi', 'base': 'true'},
        installed.environment)}
    assert plan['dynamic_controller']['controllers'] == '1'
    assert plan['collision_observer']['detection'] == '2'
    assert plan['load_cells'] == {
        'arm': 'laas4', 'source': 'can', 'port': '4', 'calibration': '3'}
    assert plan['base_reaction']['thresholds'] == '5'


def test_arm_launch_file_describes_its_arguments() -> None:
    arguments = {a.name: a for a in declared_arguments(ROOT / 'launch/arm.launch.xml')}
    assert {'arm', 'hardware', 'bus', 'controller', 'observer', 'monitor', 'record', 'lockstep',
            'namespace', 'model'} <= set(arguments)
    assert all(a.description and a.default is not None for a in arguments.values())
    assert arguments['hardware'].choices == ('sim', 'spi', 'can', 'gazebo', 'ros2_control')
