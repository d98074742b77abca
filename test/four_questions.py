"""Four questions that every running arm must answer, whoever launched it.

The pytest system tests and the launch_testing tests ask the same ones.
"""

from pathlib import Path

import numpy as np

from armsense_msgs.msg import DriverMode

NODES = {'simulator', 'motor_board', 'dynamic_controller', 'collision_observer'}
PUSHED_AT = 13         # [s] of virtual time; the arm is enabled long before
LEAD = 3               # [s] that the arm moves before it is pushed
SCENARIO = f"""
events:
  - time: {PUSHED_AT}
    push: {{link: link4, point: [0.1, 0.0, 0.0], force: [0.0, 15.0, 0.0], duration: 0.3}}
"""
ARGUMENTS = {'lockstep': 'true', 'real_time_factor': '0', 'reaction': 'stop'}


def write_scenario(folder: Path) -> str:
    """The launch argument `scenario`."""
    path = folder / 'push.yaml'
    path.write_text(SCENARIO)
    return str(path)


def nodes_are_up(client) -> None:
    client.wait(lambda: set(client.node.get_node_names()) >= NODES, what=f'nodes {NODES}')
    client.wait_mode(DriverMode.ENABLED)


def topics_flow(client) -> None:
    client.wait(lambda: client.state is not None and client.joint_state is not None,
                what='motor_states and joint_states')
    seq = client.state.seq
    client.wait(lambda: client.state.seq > seq + 100, what='100 more states')
    assert np.isfinite(client.state.position).all()
    assert client.joint_state.name == ['joint1', 'joint2', 'joint3', 'joint4']


def a_push_stops_the_arm(client) -> None:
    # The arm is on its way when it is pushed: the goal would take it much further.
    start = client.state.position[0]
    handle = client.send([(6.0, [start + 1.4, 0.6, 0.0, -0.6])], start=PUSHED_AT - LEAD)
    assert handle.accepted
    client.wait(lambda: bool(client.collisions), what='a collision event')
    client.wait(lambda: client.phases and client.phases[-1] == 'holding', what='holding')
    assert abs(client.state.velocity[0]) < 0.05
    assert client.state.position[0] < start + 1.2
