"""docs/nodes.md and config/security/policy.xml, from the running nodes themselves.

    ./armsense nodes [--check]

Starts every node, asks the ROS graph what it publishes, hears, serves and calls, and reads its
parameters from the code. `--check` compares with the files instead of writing them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
import contextlib
import dataclasses
import difflib
import importlib
import os
from pathlib import Path
import sys
import tempfile
import time
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

import rclpy
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node
from rclpy.serialization import serialize_message

from armsense.recordings.bag_writer import BagWriter
from armsense.schema import valid_values
from armsense_bringup.launch.plan import load
from armsense_bringup.launch.supervisor import Supervisor
from armsense_monitor import recorder_node
from armsense_node.parameters import meaning

# What ROS itself makes of a node; docs/nodes.md leaves it out, the policy must allow it.
NODE_SERVICES = ('~/describe_parameters', '~/get_parameter_types', '~/get_parameters',
                 '~/get_type_description', '~/list_parameters', '~/set_parameters',
                 '~/set_parameters_atomically')
NODE_PUBLISHES = ('/parameter_events', '/rosout')
NODE_SUBSCRIBES = ('/clock', '/parameter_events')
LIFECYCLE_SERVICES = ('~/change_state', '~/get_available_states', '~/get_available_transitions',
                      '~/get_state', '~/get_transition_graph')
LIFECYCLE_PUBLISHES = ('~/transition_event',)
# The package robot_state_publisher says more than our node of that name.
MORE_PUBLISHES = {'robot_state_publisher': ('tf_static',)}

SPACE = 'reference'   # of the nodes while they are asked: what is outside of it is absolute
PATIENCE = 60.0   # [s] until all nodes of a launch file are there
SETTLE = 2.0      # [s] until they have made all their topics


class Described(NamedTuple):
    """A node as the reference lists it."""

    name: str
    module: str
    text: str


NODES = (
    Described('motor_board', 'armsense_driver.motor_board_node',
              'drives the motor boards and is the last arbiter of every command'),
    Described('ros2_control_bridge', 'armsense_driver.ros2_control_bridge_node',
              'the same topics on top of a robot that ros2_control runs'),
    Described('load_cells', 'armsense_driver.load_cells_node',
              'reads the load cells under the base'),
    Described('force_torque_cells', 'armsense_driver.force_torque_cells_node',
              'a force-torque sensor under the base as load cells'),
    Described('dynamic_controller', 'armsense_control.controller_node',
              'laws that know the dynamics, trajectories, reactions'),
    Described('joint_space_controller', 'armsense_control.controller_node',
              'independent joints, kinematic laws, trajectories, reactions'),
    Described('joint_command_controller', 'armsense_control.joint_command_controller_node',
              'lets the controllers of ros2_control move the arm'),
    Described('collision_observer', 'armsense_collision.collision_observer_node',
              'residual of every joint, collisions as events'),
    Described('base_reaction', 'armsense_collision.base_reaction_node',
              'wrench on the base against its prediction, collisions as events'),
    Described('identification_server', 'armsense_identification.identification_server_node',
              'excitation and identification as actions'),
    Described('simulator', 'armsense_sim.simulator_node',
              'MuJoCo arm behind emulated boards and cells'),
    Described('dart_simulator', 'armsense_sim.dart_simulator_node',
              'stands in for Gazebo: its arm, engine, world and topics'),
    Described('recorder', 'armsense_monitor.recorder_node', 'records an MCAP bag'),
    Described('bag_player', 'armsense_monitor.bag_player_node', 'plays a bag'),
    Described('web_monitor', 'armsense_monitor.web_monitor_node', 'the page in the browser'),
    Described('markers', 'armsense_monitor.markers_node', 'markers for RViz'),
    Described('robot_state_publisher', 'armsense_monitor.state_publisher_node',
              'tf and robot_description where the ROS package is missing'),
)

# Nodes that no launch file of ours starts here: a serial port that nobody feeds, RViz's nodes.
REST = """<launch><arg name="bag"/><arg name="port"/><arg name="namespace"/>
<push_ros_namespace namespace="$(var namespace)"/>
<node pkg="armsense_monitor" exec="bag_player" name="bag_player">
  <param name="bag" value="$(var bag)"/><param name="paused" value="true"/></node>
<node pkg="armsense_monitor" exec="markers" name="markers"/>
<node pkg="armsense_monitor" exec="state_publisher" name="robot_state_publisher"/>
<node pkg="armsense_driver" exec="force_torque_cells" name="force_torque_cells"/>
<node pkg="armsense_sim" exec="dart_simulator" name="dart_simulator"/>
<node pkg="armsense_driver" exec="load_cells" name="load_cells">
  <param name="port" value="$(var port)"/></node></launch>"""


class Interfaces(NamedTuple):
    """What a node says and hears; names and types, sorted."""

    publishes: tuple[tuple[str, str], ...]
    subscribes: tuple[tuple[str, str], ...]
    services: tuple[tuple[str, str], ...]
    clients: tuple[tuple[str, str], ...]
    actions: tuple[tuple[str, str], ...]
    action_clients: tuple[tuple[str, str], ...]


def main() -> int:
    parser = argparse.ArgumentParser(prog='armsense nodes',
                                     description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--check', action='store_true', help='compare with the files')
    options = parser.parse_args()
    root = Path(os.environ['ARMSENSE_ROOT'])
    shown, had = collect(root)
    texts = {root / 'docs' / 'nodes.md': markdown(shown),
             root / 'config' / 'security' / 'policy.xml': policy(had)}
    if options.check:
        return max([_compare(path, text, root) for path, text in texts.items()])
    for path, text in texts.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        print(f'{path.relative_to(root)} written')
    return 0


def _compare(path: Path, text: str, root: Path) -> int:
    """1 and what differs, or 0."""
    written = path.read_text() if path.exists() else ''
    if written == text:
        return 0
    name = str(path.relative_to(root))
    difference = difflib.unified_diff(written.splitlines(), text.splitlines(), name, 'the nodes',
                                      lineterm='', n=1)
    print(f'{name} differs from the nodes; write it anew with '
          './armsense nodes', *difference, sep='\n', file=sys.stderr)
    return 1


# -- asking the graph ------------------------------------------------------------------------

def collect(root: Path) -> tuple[dict[str, Interfaces], dict[str, Interfaces]]:
    """Interfaces of every node by name: as its page shows them, and all that it ever had."""
    launch = root / 'launch' / 'arm.launch.xml'
    with tempfile.TemporaryDirectory() as folder, _serial_port() as port:
        rest, played = Path(folder, 'rest.launch.xml'), Path(folder, 'played')
        rest.write_text(REST)
        _write_bag(played)
        everything = {'base': 'true', 'record': 'true', 'monitor': 'web', 'identification': 'true',
                      'lockstep': 'false'}
        # The nodes that a page shows so; the others are asked, too, for what they may do.
        runs: list[tuple[Path, dict[str, str], set[str]]] = [
            (launch, {**everything, 'bag': f'{folder}/1', 'imu': 'true'},
             {'motor_board', 'dynamic_controller', 'collision_observer', 'base_reaction',
              'identification_server', 'simulator', 'recorder', 'web_monitor'}),
            (launch, {'hardware': 'ros2_control', 'controller': 'joint_space_controller',
                      'monitor': 'web', 'identification': 'true'},
             {'ros2_control_bridge', 'joint_space_controller'}),
            (launch, {'controller': 'joint_command_controller', 'monitor': 'web',
                      'lockstep': 'false'},
             {'joint_command_controller'}),
            (launch, {**everything, 'bag': f'{folder}/4', 'lockstep': 'true',
                      'real_time_factor': '0', 'controller': 'joint_space_controller'}, set()),
            (launch, {'base': 'true', 'hardware': 'dart'}, set()),
            (rest, {'bag': str(played), 'port': port},
             {'bag_player', 'markers', 'robot_state_publisher', 'load_cells',
              'force_torque_cells', 'dart_simulator'})]
        shown: dict[str, Interfaces] = {}
        had: dict[str, Interfaces] = {}
        for path, arguments, names in runs:
            plan = load(path, arguments | {'namespace': SPACE})
            with Supervisor(plan):
                found = _ask({process.name for process in plan})
            shown |= {name: found[name] for name in names}
            had |= {name: _union(had.get(name, node), node) for name, node in found.items()}
    return ({node.name: shown[node.name] for node in NODES},
            {node.name: had[node.name] for node in NODES})


def _union(one: Interfaces, other: Interfaces) -> Interfaces:
    return Interfaces(*(tuple(sorted({*a, *b})) for a, b in zip(one, other, strict=True)))


def _write_bag(folder: Path) -> None:
    """One message of every topic that a recorder knows: what a player may ever publish.

    A bag recorded just now would not do: it has a collision only if there was one.
    """
    bag = BagWriter(folder)
    for topic, kind in recorder_node.TOPICS.items():
        name = f'/{topic.lstrip("/")}'
        bag.add_topic(name, recorder_node.type_name(kind))
        bag.write(name, serialize_message(kind()), stamp=1)
    bag.close()


@contextlib.contextmanager
def _serial_port() -> Iterator[str]:
    """A port that exists and stays silent."""
    ours, theirs = os.openpty()
    try:
        yield os.ttyname(theirs)
    finally:
        os.close(ours)
        os.close(theirs)


def _ask(names: set[str]) -> dict[str, Interfaces]:
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node('node_reference', context=context)
    try:
        return _settled(node, names)
    finally:
        node.destroy_node()
        context.try_shutdown()


def _settled(node: Node, names: set[str]) -> dict[str, Interfaces]:
    """What all nodes have, once each is known to have something and nothing comes any more."""
    deadline = time.monotonic() + PATIENCE
    before: dict[str, Interfaces] = {}
    while True:
        there = {name for name, space in node.get_node_names_and_namespaces()
                 if name in names and space == f'/{SPACE}'}     # others may run beside them
        found = {name: _interfaces(node, name) for name in there}
        if there == names and found == before and all(map(any, found.values())):
            return found
        if time.monotonic() > deadline:
            missing = ', '.join(sorted(n for n in names if n not in found or not any(found[n])))
            raise RuntimeError(f'{missing or "the nodes"} did not start within {PATIENCE:.0f} s')
        before = found
        time.sleep(SETTLE)


def _interfaces(node: Node, name: str) -> Interfaces:
    def ours(pairs: list[tuple[str, list[str]]], plain: bool = True) -> tuple[Any, ...]:
        return tuple(sorted((_relative(topic, name), types[0]) for topic, types in pairs
                            if not plain or not _internal(topic, types[0])))

    arguments = (name, f'/{SPACE}')
    publishes = node.get_publisher_names_and_types_by_node(*arguments)
    subscribes = node.get_subscriber_names_and_types_by_node(*arguments)
    return Interfaces(
        ours(publishes), ours(subscribes),
        ours(node.get_service_names_and_types_by_node(*arguments)),
        ours(node.get_client_names_and_types_by_node(*arguments)),
        _actions(publishes, name), _actions(subscribes, name))


def _actions(topics: list[tuple[str, list[str]]], name: str) -> tuple[tuple[str, str], ...]:
    """A server publishes the feedback of an action, a client hears it."""
    suffix = '/_action/feedback'
    return tuple(sorted(
        (_relative(topic.removesuffix(suffix), name), types[0].removesuffix('_FeedbackMessage'))
        for topic, types in topics if topic.endswith(suffix)))


def _internal(topic: str, kind: str) -> bool:
    """What every node of ROS has, and what belongs to an action."""
    return ('/_action/' in topic or topic in ('/rosout', '/parameter_events')
            or kind.startswith(('rcl_interfaces/', 'lifecycle_msgs/', 'type_description_'))
            or topic.endswith('/transition_event'))


def _relative(topic: str, node: str) -> str:
    own = f'/{SPACE}/{node}/'
    return f'~/{topic[len(own):]}' if topic.startswith(own) else topic.removeprefix(f'/{SPACE}/')


# -- writing ---------------------------------------------------------------------------------

def markdown(found: dict[str, Interfaces]) -> str:
    """The page of all nodes."""
    parts = ['# Nodes\n\nWritten by `./armsense nodes` from the running '
             'nodes; a test fails when they differ. Names are\nrelative: a namespace moves the '
             'whole arm; a slash before a name says that it stays. Every node with a loop is a '
             'lifecycle node and has `autostart`; these and the simulator\nalso have '
             '`realtime` (the loop under SCHED_FIFO where the system '
             'allows it), and with it `cpu` (its core; -1: any) and\n`priority` (1 to 49).\n']
    for node in NODES:
        parts.append(f'\n## {node.name}\n\n{node.text[0].upper()}{node.text[1:]}.\n')
        interfaces = found[node.name]
        for title, rows in (('publishes', interfaces.publishes),
                            ('subscribes', interfaces.subscribes),
                            ('services', interfaces.services), ('actions', interfaces.actions),
                            ('calls', interfaces.clients + interfaces.action_clients)):
            if rows:
                parts.append(f'\n| {title} | type |\n|---|---|\n'
                             + ''.join(f'| `{name}` | `{kind}` |\n' for name, kind in rows))
        parts.append(_parameters(node))
    return ''.join(parts)


def _parameters(node: Described) -> str:
    rows = []
    for field in dataclasses.fields(importlib.import_module(node.module).Settings):
        span, choices = valid_values(field.metadata), field.metadata['choices'] or ()
        span = ', '.join(f'`{choice}`' if choice else 'empty' for choice in choices) or span
        default = list(field.default) if isinstance(field.default, tuple) else field.default
        shown = f'`{default}`' if default != '' else 'empty'
        rows.append(f'| `{field.name}` | {shown} | {span} | {meaning(field)} |\n')
    return '\n| parameter | default | values | meaning |\n|---|---|---|---|\n' + ''.join(rows)


def policy(found: dict[str, Interfaces]) -> str:
    """SROS2 policy: every node may do what it and ROS do, and nothing else."""
    lines = ['<?xml version="1.0"?>',
             '<!-- Written by ./armsense nodes: one enclave per node. -->',
             '<policy version="0.2.0">', '  <enclaves>']
    for name, node in found.items():
        replies, publishes = list(NODE_SERVICES), list(NODE_PUBLISHES)
        if _has_lifecycle(name):
            replies += LIFECYCLE_SERVICES
            publishes += LIFECYCLE_PUBLISHES
        publishes += MORE_PUBLISHES.get(name, ())
        lines += [f'    <enclave path="/{name}">', '      <profiles>',
                  f'        <profile node="{name}" ns="/">']
        for tag, permission, own, given in (
                ('services', 'reply', node.services, replies),
                ('services', 'request', node.clients, ()),
                ('topics', 'publish', node.publishes, publishes),
                ('topics', 'subscribe', node.subscribes, NODE_SUBSCRIBES),
                ('actions', 'execute', node.actions, ()),
                ('actions', 'call', node.action_clients, ())):
            names = sorted({*(topic for topic, _ in own), *given})
            if names:
                lines.append(f'          <{tag} {permission}="ALLOW">')
                lines += [f'            <{tag[:-1]}>{_policy_name(topic)}</{tag[:-1]}>'
                          for topic in names]
                lines.append(f'          </{tag}>')
        lines += ['        </profile>', '      </profiles>', '    </enclave>']
    return '\n'.join([*lines, '  </enclaves>', '</policy>', ''])


def _has_lifecycle(name: str) -> bool:
    module, = (node.module for node in NODES if node.name == name)
    return any(isinstance(value, type) and issubclass(value, LifecycleNode)
               for value in vars(importlib.import_module(module)).values())


def _policy_name(topic: str) -> str:
    return quoteattr(topic)[1:-1]


if __name__ == '__main__':
    sys.exit(main())
