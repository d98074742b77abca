"""Launch files evaluated to processes: what `load` promises and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from armsense_bringup.launch.language import LaunchError
from armsense_bringup.launch.plan import declared_arguments, join_namespace, load, ProcessSpec

ROOT = Path(__file__).parents[3]
NODE = '<node pkg="fake" exec="probe" name="n">\n{}</node>'


def words(process: ProcessSpec) -> list[str]:
    """Arguments of the executable, before those for ROS."""
    return list(process.command[1:process.command.index('--ros-args')])


# Tags, attributes and substitutions that ROS 2 launch has and this runner does not, or nobody.
@pytest.mark.parametrize(('body', 'line', 'message'), [
    ('<let name="a" value="b"/>\n<timer period="1"/>', 3,
     r'unknown tag <timer> in <launch>; known: arg, group, .* \(ros2 launch has more\)'),
    ('<include file="x.launch.xml"/>', 2, 'unknown tag <include> in <launch>'),
    ('<executable cmd="ls"/>', 2, 'unknown tag <executable> in <launch>'),
    ('<group>\n<nod pkg="fake" exec="probe"/></group>', 3, 'unknown tag <nod> in <group>'),
    ('<node pkg="fake" exec="probe" name="n"\n emulate_tty="true"/>', 2,
     "unknown attribute 'emulate_tty' in <node>; known: args, exec"),
    (NODE.format('<param name="a" value="1" if="true"/>'), 3, "unknown attribute 'if' in <param>"),
    (NODE.format('<param from="a.yaml"/>'), 3, "unknown attribute 'from' in <param>"),
    (NODE.format('<remap from="a" to="b"/>'), 3, 'unknown tag <remap> in <node>'),
    ('<arg name="a"><choice value="1"/>\n<choice valu="2"/></arg>', 3,
     "unknown attribute 'valu' in <choice>"),
    ('\n\n<let name="a" value="$(anon x)"/>', 4, r"'\$\(anon x\)' is not understood; known"),
    ('<group if="false">\n<let name="a" value="$(eval 1 2 3)"/></group>', 3, 'not understood'),
    ('<let name="a"/>', 2, "<let> needs the attribute 'value'"),
    ('<let name="$(var a)" value="1"/>', 2, 'must be known without a substitution'),
    ('<node exec="probe" name="n"/>', 2, "<node> needs the attribute 'pkg'"),
    ('<group if="true" unless="true"/>', 2, 'exclude each other'),
    ('<node pkg="fake" exec="x" name="n" on_exit="panic"/>', 2,
     "on_exit='panic'; known: shutdown"),
    ('<node pkg="fake" exec="x" name="n" respawn="$(var x)"/>', 2, 'known: true, false'),
    ('<node pkg="fake" exec="x" name="n" respawn_delay="$(var x)"/>', 2,
     'substitutions do not work here'),
    ('<node pkg="fake" exec="x" name="n" respawn_max_retries="often"/>', 2, 'not a number'),
    ('<node pkg="fake" exec="x" name="n" output="radio"/>', 2,
     "output='radio'; known: screen, log"),
    ('<node pkg="fake" exec="x" name="n" args="one \'two words\'"/>', 2, 'without quotes'),
    (NODE.format('<param value="1"/>'), 3, "<param> needs the attribute 'name'"),
    (NODE.format('<param name="a" value="null"/>'), 3, "'null' is no parameter: NoneType"),
    (NODE.format('<param name="a" value="1" type="double"/>'), 3,
     "type='double'; known: yaml, str, float"),
    ('hello', 2, "text 'hello' inside <launch>"),
    ('<let name="a" value="b">', 3, 'not XML: mismatched tag'),
    ('<let name="a" value="$(var b)"/>', 2, "unknown variable 'b'"),
    ('<let name="a" value="" if="maybe"/>', 2, "is 'maybe'; known: true, 1, false, 0"),
    ('<node pkg="nope" exec="x" name="n"/>', 2, "package 'nope' is not installed"),
    ('<node pkg="fake" exec="prob" name="n"/>', 2, "no executable 'prob'; known: probe"),
    ('<node pkg="fake" exec="probe" name="1st"/>', 2, "node name '1st'"),
    ('<push_ros_namespace namespace="a//b"/>', 2, "namespace '/a//b'"),
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
      <node pkg="fake" exec="probe" name="n" args="$(var arm) $(var gain)"/>""")
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
        <group>
          <push_ros_namespace namespace="b"/>
          <node pkg="fake" exec="probe" name="n" args="$(var x)"/>
        </group>
      </group>
      <node pkg="fake" exec="probe" name="n" args="$(var x)"/>""")
    deep, after = load(path, environment=prefix.environment)
    assert words(deep) == ['inside']
    assert deep.environment['X'] == 'inside'
    assert '__ns:=/a/b' in deep.command
    assert words(after) == ['outside']
    assert after.environment['X'] == 'outside'
    assert not any(word.startswith('__ns') for word in after.command)
    assert [deep.name, after.name] == ['n', 'n-2']


def test_a_later_parameter_wins(prefix) -> None:
    path = prefix.launch_file("""
      <group>
        <push_ros_namespace namespace="ns"/>
        <node pkg="fake" exec="probe" name="n">
          <param name="a" value="1"/><param name="b.c" value="x"/><param name="a" value="2"/>
        </node>
      </group>
      <node pkg="fake" exec="probe" name="m"><param name="a" value="1"/></node>""")
    full, partly = load(path, environment=prefix.environment)
    assert (full.node, full.parameters) == ('/ns/n', {'a': 2, 'b.c': 'x'})
    # Without a namespace the launch file does not know the full name.
    assert (partly.node, partly.parameters) == ('/**', {'a': 1})


@pytest.mark.parametrize(('base', 'namespace', 'joined'), [
    (None, '', '/'), (None, 'a', '/a'), (None, '/a/', '/a'), ('/', 'a', '/a'),
    ('/a', '', '/a'), ('/a', 'b/c', '/a/b/c'), ('/a', '/b', '/b')])
def test_join_namespace(base: str | None, namespace: str, joined: str) -> None:
    assert join_namespace(base, namespace) == joined


EXECUTABLES = {
    'armsense_node': ['arm'], 'armsense_sim': ['simulator', 'dart_simulator'],
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
        values = process.parameters
        assert process.node == f'/left/{process.name}'
        assert values.get('arm', 'laas4') == 'laas4'
        assert values.get('model', '7') == '7'  # a path that looks like a number
        # A simulated arm waits for its nodes, at the pace of the clock.
        simulated = arguments.get('hardware', 'sim') == 'sim'
        assert values.get('lockstep', simulated) is simulated
        assert values.get('real_time_factor', 1.0) == 1.0


@pytest.mark.parametrize(('arguments', 'nodes', 'beside'), [
    ({}, 'simulator motor_board collision_observer dynamic_controller', ''),
    ({'lockstep': 'false'}, 'motor_board collision_observer dynamic_controller', 'simulator'),
    ({'lockstep': 'true', 'record': 'true', 'base': 'true'},
     'simulator motor_board collision_observer base_reaction dynamic_controller recorder', ''),
    ({'hardware': 'spi', 'base': 'true', 'record': 'true', 'cells': '3', 'seed': '9'},
     'motor_board load_cells collision_observer base_reaction dynamic_controller', 'recorder'),
    ({'hardware': 'dart', 'base': 'true', 'controller': 'none'},
     'ros2_control_bridge collision_observer base_reaction', 'dart_simulator load_cells'),
    ({'hardware': 'ros2_control', 'observer': 'false', 'imu': 'true', 'gains': 'mine.yaml'},
     'ros2_control_bridge dynamic_controller', ''),
])
def test_one_process_has_the_nodes_and_parameters_of_many(installed, arguments, nodes, beside):
    one, many = ({process.name: process for process in load(
        ROOT / 'launch/arm.launch.xml', {**arguments, 'process': process, 'namespace': 'left'},
        installed.environment)} for process in ('one', 'many'))
    shared = one.pop('arm')
    assert [name.partition('/')[2] for name in shared.command[1].split(',')] == nodes.split()
    assert list(one) == beside.split()
    assert set(many) == {*nodes.split(), *one}
    assert (shared.node, shared.shutdown_on_exit) == ('/**', True)
    assert '__ns:=/left' in shared.command
    assert not any('__node' in word for word in shared.command)   # all would have that name
    for name in nodes.split():
        own = {key: value for key, value in many[name].parameters.items()
               if key not in ('cpu', 'priority')}                 # there is one loop
        assert {key: shared.parameters[key] for key in own} == own, name


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
            assert process.parameters['arm'] == arm, process.name


@pytest.mark.parametrize(('hardware', 'by_itself'), [
    ('sim', True), ('gazebo', True), ('spi', False), ('can', False), ('ros2_control', False)])
def test_only_an_arm_that_is_not_real_enables_itself(installed, hardware, by_itself) -> None:
    driver, = (process for process in load(
        ROOT / 'launch/arm.launch.xml', {'hardware': hardware}, installed.environment)
        if process.name in ('motor_board', 'ros2_control_bridge'))
    assert driver.parameters['enable_on_start'] is by_itself


def test_files_of_an_arm_reach_the_nodes_that_read_them(installed) -> None:
    names = {'gains': '1', 'detection': '2', 'cells': '3', 'cell_port': '4',
             'base_thresholds': '5', 'cell_source': 'can'}     # paths that look like numbers
    plan = {process.name: process.parameters for process in load(
        ROOT / 'launch/arm.launch.xml', {**names, 'hardware': 'spi', 'base': 'true'},
        installed.environment)}
    assert plan['dynamic_controller']['controllers'] == '1'
    assert plan['collision_observer']['detection'] == '2'
    assert plan['load_cells'] == {
        'arm': 'laas4', 'source': 'can', 'port': '4', 'calibration': '3'}
    assert plan['base_reaction']['thresholds'] == '5'


@pytest.mark.parametrize(('name', 'what'), [
    ('gazebo', 'unknown tag <include>'), ('ros2_control', r'unknown tag <set_remap>')])
def test_files_for_ros2_launch_alone_say_so(name: str, what: str) -> None:
    with pytest.raises(LaunchError, match=rf'xml:\d+: {what}.*ros2 launch has more'):
        load(ROOT / f'launch/{name}.launch.xml')


def test_arm_launch_file_describes_its_arguments() -> None:
    arguments = {a.name: a for a in declared_arguments(ROOT / 'launch/arm.launch.xml')}
    assert {'arm', 'hardware', 'bus', 'controller', 'observer', 'monitor', 'record', 'lockstep',
            'namespace', 'model'} <= set(arguments)
    assert all(a.description and a.default is not None for a in arguments.values())
    assert arguments['hardware'].choices == ('sim', 'spi', 'can', 'gazebo', 'dart',
                                               'ros2_control')
