"""Collisions while a trajectory is followed: real nodes over DDS in lock-step."""

from __future__ import annotations

from collections.abc import Iterator
import itertools
import threading

from arm_system import arm_system, SystemClient
from builtin_interfaces.msg import Time
from motion_tape import MotionTape
import numpy as np
import pytest
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup

from armsense.control.config import ControllerConfig
from armsense.model import Arm
from armsense_msgs.msg import Collision, DriverMode, MotorCommands, MotorStates
from armsense_msgs.srv import PlaceObstacle
from armsense_node.lockstep import lockstep_qos
from armsense_node.qos import event_qos

MODEL = Arm.load('laas4')
OPTIONS = ControllerConfig.of(MODEL).reaction
HOME = np.array(MODEL.config.home)
GOAL = HOME + [1.0, 0.0, 0.0, 0.0]
DURATION = 1.5                                           # [s]
PEAK = 1.875 * 1.0 / DURATION                            # [rad/s] of the quintic
HIT = MODEL.frame_pose(HOME + [0.6, 0.0, 0.0, 0.0])[:3, 3]   # [m] in the way of the tool
RADIUS = 0.04                                            # [m]
CONTROLLER = 'dynamic_controller'


def obstacle(client: SystemClient, *, present: bool) -> None:
    """Put the sphere in the way, or take it away."""
    request = PlaceObstacle.Request(present=present, radius=RADIUS, stiffness=5e3)
    request.position.x, request.position.y, request.position.z = map(float, HIT)
    assert client.ask(PlaceObstacle, 'simulator/place_obstacle', request).success


def seconds(stamp: Time) -> float:
    return stamp.sec + 1e-9 * stamp.nanosec


def rest(client: SystemClient) -> None:
    client.wait(lambda: np.abs(client.state.velocity).max() < 0.02, what='rest')


def wait_phase(client: SystemClient, phase: str) -> None:
    client.wait(lambda: phase in client.phases, what=f'{phase} (so far: {client.phases})')


def collide(client: SystemClient, reaction: str):
    """Drive into the obstacle; the goal's handle when the reaction has begun."""
    obstacle(client, present=True)
    handle = client.send([(DURATION, GOAL)], reaction=reaction)
    wait_phase(client, 'reacting')
    return handle


# An arm of its own comes before the one that all other tests share: one graph at a time.

class Deaf:
    """A controller that carries the arm and may not listen to collisions."""

    def __init__(self, client: SystemClient) -> None:
        self.answers = False                               # to collisions
        self.bump = threading.Event()                      # report one with the next state
        self.reported, self.reported_at = 0, 0.0           # seq and time [s] of the newest
        node, group = client.node, MutuallyExclusiveCallbackGroup()
        self._commands = node.create_publisher(MotorCommands, 'motor_commands', lockstep_qos())
        self._collisions = node.create_publisher(Collision, 'collision', event_qos())
        node.create_subscription(MotorStates, 'motor_states', self._step, lockstep_qos(),
                                 callback_group=group)

    def _step(self, state: MotorStates) -> None:
        if self.bump.is_set():
            self.bump.clear()
            self.reported, self.reported_at = state.seq, seconds(state.header.stamp)
            self._collisions.publish(Collision(seq=state.seq, joint='joint1', link='link4'))
        zero = [0.0] * 4
        self._commands.publish(MotorCommands(
            header=state.header, seq=state.seq, position=list(state.position), velocity=zero,
            torque=MODEL.gravity_torque(np.array(state.position)).tolist(), kp=zero,
            kd=[0.5] * 4, ki=zero, collision_seq=self.reported if self.answers else 0))


def test_the_boards_brake_after_a_collision_that_nobody_answers():
    with arm_system(process='many', lockstep='true', observer='false', controller='none'
                    ) as (client, supervisor):
        deaf = Deaf(client)
        client.wait_mode(DriverMode.ENABLED)
        deaf.answers = True
        deaf.bump.set()
        client.wait(lambda: deaf.reported > 0, what='a collision')
        client.wait(lambda: client.state.seq > deaf.reported + 50, what='50 ms')
        assert client.modes[-1].mode == DriverMode.ENABLED   # answered: no reason to brake
        deaf.answers, first = False, deaf.reported
        deaf.bump.set()
        client.wait_mode(DriverMode.DAMPING)
        assert deaf.reported > first
        assert client.modes[-1].fault == 'collision_unanswered'
        waited = seconds(client.modes[-1].stamp) - deaf.reported_at
        assert 0.010 <= waited <= 0.016
    assert supervisor.exit_code == 0, supervisor.last_words


@pytest.fixture(scope='module')
def system() -> Iterator[SystemClient]:
    # In one process time would pass faster than the client hears of a phase.
    with arm_system(process='many', lockstep='true', reaction='retract') as (client, supervisor):
        client.wait_mode(DriverMode.ENABLED)
        yield client
    assert supervisor.exit_code == 0, supervisor.last_words


@pytest.fixture
def client(system: SystemClient) -> SystemClient:
    """At home, nothing in the way, tracking."""
    obstacle(system, present=False)
    system.call(f'{CONTROLLER}/hold')
    rest(system)
    assert system.result(system.send([(1.0, HOME)])).error_code == 0
    system.wait(lambda: system.phases[-1] == 'tracking', what='tracking')
    del system.phases[:-1]
    system.contacts.clear()
    return system


def test_ignore_presses_on(client):
    obstacle(client, present=True)
    handle = client.send([(DURATION, GOAL)], reaction='ignore', path_tolerance={'joint1': -1.0})
    client.wait(lambda: bool(client.contacts), what='contact')
    obstacle(client, present=False)
    assert client.result(handle).error_code in (0, -5)
    assert 'reacting' not in client.phases


def test_stop_halts_at_the_contact_and_says_why(client):
    result = client.result(collide(client, 'stop'))
    assert result.error_code == -4
    assert result.error_string.startswith('stop: contact at link')
    wait_phase(client, 'holding')
    rest(client)
    assert 0.2 < client.state.position[0] < 0.65
    assert np.abs(np.array(client.state.position)[1:] - HOME[1:]).max() < 0.1


def test_without_a_choice_the_parameter_counts_and_retract_clears_the_contact(client):
    result = client.result(collide(client, ''))
    assert result.error_string.startswith('retract: contact at link')
    wait_phase(client, 'holding')
    rest(client)
    assert client.contacts[-1].link == ''                 # no longer touching


def test_float_carries_itself_until_it_is_told_to_hold(client):
    client.result(collide(client, 'float'))
    with MotionTape(client) as tape:
        end = client.time + 0.3
        client.wait(lambda: client.time > end, what='floating')
    last = tape.commands[max(tape.commands)]
    assert not any(last.kp)                                # no spring pulls it anywhere
    assert any(last.torque)
    assert client.call(f'{CONTROLLER}/hold').success
    client.wait(lambda: client.phases[-1] == 'tracking', what='tracking')
    rest(client)


def test_retrace_drives_the_path_back(client):
    client.result(collide(client, 'retrace'))
    wait_phase(client, 'holding')
    rest(client)
    assert np.abs(np.array(client.state.position) - HOME).max() < 0.05


def test_resume_finishes_the_same_goal_slowly(client):
    with MotionTape(client) as tape:       # which needs a while to hear: in lock-step much passes
        handle = collide(client, 'resume')
        obstacle(client, present=False)
        wait_phase(client, 'resuming')
        since = client.state.seq
        result = client.result(handle)
    assert result.error_code == 0, result.error_string
    heard = [phase for phase, _ in itertools.groupby(client.phases)]
    assert heard[:2] == ['tracking', 'reacting']
    assert heard[-2:] == ['resuming', 'tracking']
    assert np.abs(np.array(client.state.position) - GOAL).max() < 0.02
    fastest = np.abs(tape.velocities(since)[:, 0]).max()
    assert 0.5 * OPTIONS.resume_speed * PEAK < fastest < 1.3 * OPTIONS.resume_speed * PEAK


def test_a_contact_that_stays_ends_in_giving_up(client):
    result = client.result(collide(client, 'resume'))
    assert result.error_code == -4
    assert f'gave up after {OPTIONS.attempts} resumptions' in result.error_string
    assert client.phases.count('resuming') == OPTIONS.attempts
    rest(client)
    assert client.state.position[0] < 0.65


def test_an_unknown_reaction_is_refused_with_the_known_ones(client):
    result = client.result(client.send([(DURATION, GOAL)], reaction='flee'))
    assert result.error_code == -1
    assert 'flee' in result.error_string
    assert 'retrace' in result.error_string


def test_a_hand_leads_the_stopped_arm_and_the_rest_is_driven_from_there(client):
    assert client.result(collide(client, 'stop')).error_code == -4
    wait_phase(client, 'holding')
    obstacle(client, present=False)
    assert client.call(f'{CONTROLLER}/switch', 'float').success
    hit = np.array(client.state.position)
    client.push((2.0, -3.0, 0.0), seconds=0.5)
    refused = client.call(f'{CONTROLLER}/resume')
    assert not refused.success
    assert 'hand' in refused.message
    rest(client)
    led = np.array(client.state.position)
    assert np.abs(led - hit).max() > 0.1
    assert client.call(f'{CONTROLLER}/switch', 'computed_torque').success
    rest(client)
    assert np.abs(np.array(client.state.position) - led).max() < 0.15   # it holds there
    # That the law takes a moving arm over may be felt as a touch: nothing resumes meanwhile.
    client.wait(lambda: client.call(f'{CONTROLLER}/resume').success, what='nothing to last')
    client.wait(lambda: client.phases[-1] == 'tracking',
                what=f'the rest (so far: {client.phases})')
    assert client.phases[-2:] == ['resuming', 'tracking']
    rest(client)
    assert np.abs(np.array(client.state.position) - GOAL).max() < 0.02
