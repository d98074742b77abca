"""Every node killed (SIGKILL) while the others run: what stops, who says so, how it goes on.

One arm for all tests, in real time. Each node runs under a supervisor of its own, so that it can
be killed and started again as from another terminal. Every test leaves a whole arm behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
from dataclasses import replace
import json
import os
from pathlib import Path
import pty
import signal
import subprocess
import sys
import time
import tty

from arm_system import ROOT, SystemClient
from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import pytest
from rclpy.task import Future
from std_srvs.srv import Trigger
import yaml

from armsense.model import Arm
from armsense_bringup.launch.plan import load, ProcessSpec
from armsense_bringup.launch.supervisor import Supervisor
from armsense_msgs.msg import DriverMode, LoadCells, MotorCommands
from armsense_node.health import Health, Level, parts_of
from armsense_node.qos import stream_qos
from bench.cell_lines import encode_line
from bench.slow_arm import changed, slow_arm, soft_gains, WATCHDOG

PATIENCE = 60.0      # [s] on a busy machine; a second or two on a quiet one
PUSH_EVERY = 2.0     # [s]
ASK_AGAIN = 2.0      # [s]
COUNT = 0.001        # [N] of the converter behind the load cells
HOME = Arm.load('laas4').config.home         # [rad]
AROUND = {                                        # and what they say when they are back
    'identification_server': ('model fit', ''), 'recorder': ('bag', 'messages in'),
    'web_monitor': ('page', 'open at'), 'robot_state_publisher': ('tf', 'follows the joints')}
REST = """<launch><arg name="arm"/><arg name="port"/><arg name="calibration"/>
<node pkg="armsense_monitor" exec="state_publisher" name="robot_state_publisher">
  <param name="arm" value="$(var arm)"/></node>
<node pkg="armsense_driver" exec="load_cells" name="load_cells">
  <param name="arm" value="$(var arm)"/><param name="port" value="$(var port)"/>
  <param name="calibration" value="$(var calibration)"/></node></launch>"""


def pushes(folder: Path) -> Path:
    push = {'link': 'link4', 'point': [0.1, 0.0, 0.0], 'force': [0.0, 8.0, 0.0], 'duration': 0.15}
    path = folder / 'pushes.yaml'
    path.write_text(yaml.safe_dump({'events': [
        {'time': 3.0 + PUSH_EVERY * k, 'push': push} for k in range(300)]}))
    return path


def plan(folder: Path, port: str) -> list[ProcessSpec]:
    """Every node of an arm on load cells; nobody enables the motors but the test."""
    arm = str(slow_arm(folder))
    rest, cells = folder / 'rest.launch.xml', folder / 'cells.yaml'
    rest.write_text(REST)
    cells.write_text('cells:\n' + f'- {{gain: {COUNT}, offset: 0.0}}\n' * 4)
    whole = load(ROOT / 'launch' / 'arm.launch.xml', {
        'base': 'true', 'record': 'true', 'bag': str(folder / 'bag'), 'monitor': 'web',
        'lockstep': 'false', 'web_port': '0', 'identification': 'true', 'reaction': 'ignore',
        'scenario': str(pushes(folder))})
    # Real time where the system grants it: other load on the machine shall not decide.
    specs = [replace(changed(spec, arm=arm, realtime=spec.shutdown_on_exit),
                     shutdown_on_exit=False, respawn=False) for spec in whole]
    specs += load(rest, {'arm': arm, 'port': port, 'calibration': str(cells)})
    by_name = {spec.name: spec for spec in specs}
    by_name['motor_board'] = changed(by_name['motor_board'], enable_on_start=False,
                                     command_timeout=1.0, command_age=1.0,
                                     collision_answer=1.0)
    by_name['dynamic_controller'] = changed(by_name['dynamic_controller'],
                                            controllers=str(soft_gains(folder)))
    simulator = by_name['simulator']
    by_name['simulator'] = replace(simulator, command=(
        *simulator.command, '-r', 'load_cells:=simulated_cells'))
    return list(by_name.values())


class Microcontroller:
    """Sends what the simulated cells feel over a serial line."""

    def __init__(self) -> None:
        self._ours, self._theirs = pty.openpty()
        tty.setraw(self._theirs)
        os.set_blocking(self._ours, False)       # a wire does not wait for its reader
        self.port = os.ttyname(self._theirs)

    def send(self, message: LoadCells) -> None:
        counts = tuple(round(force / COUNT) for force in message.force)
        with contextlib.suppress(BlockingIOError):
            os.write(self._ours, encode_line(message.seq, counts))

    def close(self) -> None:
        os.close(self._ours)
        os.close(self._theirs)


class System:
    """The processes and a client that hears what they say of themselves."""

    def __init__(self, specs: list[ProcessSpec], wire: Microcontroller) -> None:
        self._specs = {spec.name: spec for spec in specs}
        self._running: dict[str, Supervisor] = {}
        self._heard: dict[str, tuple[float, dict[str, Health]]] = {}
        self.client = SystemClient()
        node = self.client.node
        node.create_subscription(DiagnosticArray, 'diagnostics', self._on_diagnostics, 100)
        node.create_subscription(LoadCells, 'simulated_cells', wire.send, stream_qos())
        for name in self._specs:
            self.start(name)
        self.wait(lambda: set(self._specs) <= set(self._heard), 'diagnostics of all nodes')

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        parts = parts_of(message)
        self._heard[parts[0][0]] = time.monotonic(), {part.part: part for _, part in parts}

    def start(self, name: str, **parameters: object) -> None:
        self._running[name] = Supervisor([changed(self._specs[name], **parameters)]).start()

    def kill(self, name: str) -> None:
        """Kill -9; all others go on."""
        supervisor = self._running.pop(name)
        os.kill(supervisor.pid(name), signal.SIGKILL)
        supervisor.wait(PATIENCE)
        assert supervisor.failure == f'{name} died of SIGKILL (exit code -9)'

    def output(self, name: str) -> Supervisor:
        return self._running[name]

    def assert_alive(self) -> None:
        dead = {name: supervisor.lines[-5:] for name, supervisor in self._running.items()
                if not supervisor.running()}
        assert not dead

    def stop(self) -> None:
        self.client.close()
        for supervisor in self._running.values():
            supervisor.stop()
        for supervisor in self._running.values():
            supervisor.wait(PATIENCE)

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Fails with what the nodes complain of."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, f'{what} did not come true: {self.complaints()}'
            time.sleep(0.02)

    def complaints(self) -> list[str]:
        mode = self.client.modes[-1] if self.client.modes else None
        told = [f'{event.source}: {event.seq}' for event in self.client.collisions[-6:]]
        return [f'mode {mode and (mode.mode, mode.explanation)}, state {self.client.state.seq}, '
                f'last collisions {told}'] + [
            f'{node}, {part.part}: {part.message}' for node, (_, parts) in self._heard.items()
            for part in parts.values() if part.level != Level.OK]

    def wait_mode(self, mode: int) -> None:
        self.wait(lambda: bool(self.client.modes) and self.client.modes[-1].mode == mode,
                  f'mode {mode}')

    def wait_health(self, node: str, part: str, words: str) -> Health:
        """What a node says from now on."""
        begin = time.monotonic()
        found: list[Health] = []

        def said() -> bool:
            at, parts = self._heard.get(node, (0.0, {}))
            if at > begin and part in parts:
                found.append(parts[part])
            return bool(found) and words in found[-1].message
        self.wait(said, f'{node}, {part}: {words}')
        return found[-1]

    def call(self, service: str) -> Trigger.Response:
        """Answer; asked anew, because what is sent to a killed server is lost."""
        client = self.client.node.create_client(Trigger, service)
        answers: list[Future] = []

        def answered() -> bool:
            if time.monotonic() > begin + ASK_AGAIN * len(answers):
                answers.append(client.call_async(Trigger.Request()))
            return any(answer.done() for answer in answers)
        begin = time.monotonic()
        self.wait(answered, f'an answer of {service}')
        return next(answer.result() for answer in answers if answer.done())

    def enable(self) -> None:
        """As a person does it: again until the boards are there and stay."""
        count = len(self.client.modes)

        def enabled() -> bool:
            mode = self.client.modes[-1].mode if len(self.client.modes) > count else None
            if mode in (DriverMode.STARTING, DriverMode.ENABLED):
                return mode == DriverMode.ENABLED
            self.call('motor_board/clear_fault')
            self.call('dynamic_controller/clear_fault')    # it may have missed states
            return self.call('motor_board/enable').message == 'already enabled'
        self.wait(enabled, 'enabling')

    def wait_push(self, *sources: str) -> None:
        """Until a push is noticed from now on."""
        count = len(self.client.collisions)

        def noticed() -> bool:
            self.overlook_pause()
            return set(sources) <= {c.source for c in self.client.collisions[count:]}
        self.wait(noticed, f'collisions seen by {", ".join(sources)}')

    def overlook_pause(self) -> None:
        """Go on where a pause of a busy machine has stopped the arm, as it should."""
        mode = self.client.modes[-1]
        if mode.mode == DriverMode.DAMPING:
            if mode.fault == 'watchdog':
                self.power_cycle()
            self.enable()

    def power_cycle(self) -> None:
        """Boards without power, the arm at home."""
        assert self.call('simulator/power_cycle').success

    def wait_driving(self) -> None:
        """The motors are on and the states flow."""
        seq = self.client.state.seq

        def driving() -> bool:
            self.overlook_pause()
            state = self.client.state
            return state.enabled and state.seq > seq + 50
        self.wait(driving, '50 more states of an enabled arm')

    def wait_whole(self) -> None:
        self.wait_push('joints', 'base')
        self.wait_driving()
        self.assert_alive()


@pytest.fixture(scope='module')
def system(tmp_path_factory) -> Iterator[System]:
    wire = Microcontroller()
    found = System(plan(tmp_path_factory.mktemp('recovery'), wire.port), wire)
    try:
        found.enable()
        found.wait_whole()
        yield found
    finally:
        found.stop()
        wire.close()


def doctor() -> list[str]:
    """Problems of `./armsense doctor --live`."""
    command = [sys.executable, '-m', 'armsense_bringup.workspace.doctor_live', '--json',
               '--seconds', '2']
    answer = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    return json.loads(answer.stdout)['problems']


@pytest.mark.timing
def test_what_stands_around_the_arm_does_not_disturb_it(system, tmp_path):
    for name in AROUND:
        system.kill(name)
        system.wait_driving()
        system.assert_alive()
    system.wait_push('joints', 'base')
    for name in AROUND:
        system.start(name, **({'bag': str(tmp_path / 'bag')} if name == 'recorder' else {}))
    for name, (part, words) in AROUND.items():
        system.wait_health(name, part, words)
    system.wait_whole()


@pytest.mark.timing
def test_without_the_collision_observer_the_controller_warns(system):
    system.kill('collision_observer')
    found = system.wait_health('dynamic_controller', 'collisions', 'observer is silent')
    assert found.level == Level.ERROR
    system.wait_push('base')              # the cells still feel it
    system.assert_alive()
    system.start('collision_observer')
    system.wait_health('dynamic_controller', 'collisions', 'watched')
    system.wait_whole()


@pytest.mark.timing
def test_base_reaction_comes_back(system):
    system.kill('base_reaction')
    system.wait_push('joints')
    system.wait_driving()
    system.assert_alive()
    system.start('base_reaction')
    system.wait_health('base_reaction', 'cells', 'watching')
    system.wait_whole()


@pytest.mark.timing
def test_without_the_load_cells_base_reaction_says_so(system):
    system.kill('load_cells')
    found = system.wait_health('base_reaction', 'cells', 'cells')
    assert found.level == Level.ERROR
    system.wait_push('joints')
    system.assert_alive()
    system.start('load_cells')
    system.wait_health('base_reaction', 'cells', 'watching')
    system.wait_whole()


@pytest.mark.timing
def test_without_a_controller_the_driver_damps_until_it_is_told_otherwise(system):
    system.kill('dynamic_controller')
    system.wait_mode(DriverMode.DAMPING)
    assert system.client.modes[-1].fault == 'command_timeout'
    assert 'check that a controller runs' in system.client.modes[-1].explanation
    system.assert_alive()
    system.start('dynamic_controller')
    system.wait_health('dynamic_controller', 'control', '')
    assert system.client.modes[-1].mode == DriverMode.DAMPING       # nobody enabled it
    refused = system.call('motor_board/enable')
    assert not refused.success
    assert 'cannot enable in mode DAMPING' in refused.message
    system.enable()
    system.wait_whole()


@pytest.mark.timing
def test_boards_that_vanish_are_damped_and_found_again(system):
    system.kill('simulator')
    system.wait_mode(DriverMode.DAMPING)
    assert system.client.modes[-1].fault == 'board_lost'
    assert 'does not answer' in system.wait_health('motor_board', 'arm', 'board').message
    system.assert_alive()
    system.start('simulator')
    system.enable()
    system.wait_whole()


@pytest.mark.timing
def test_a_dead_driver_is_met_by_the_watchdog_and_a_new_one_waits_to_be_enabled(system):
    client = system.client
    system.kill('motor_board')
    for board in (0, 1):
        system.output('simulator').wait_for_line(
            rf'board {board} tripped at .* receive_timeout, {WATCHDOG} ms', PATIENCE)
    system.wait_health('simulator', 'emulated board 0', 'tripped: receive_timeout')
    system.wait_health('dynamic_controller', 'loop', 'stands still')
    assert doctor()[0].startswith('no motor_states: ')
    system.assert_alive()
    told = len(client.modes)
    system.start('motor_board')
    system.wait_health('motor_board', 'arm', 'a board stopped because commands came too late')
    assert not system.call('motor_board/enable').success
    assert DriverMode.ENABLED not in {mode.mode for mode in client.modes[told:]}
    system.power_cycle()
    system.wait(lambda: np.allclose(client.state.position, HOME, atol=0.01), 'an arm at home')
    system.enable()
    commands: list[MotorCommands] = []
    client.node.create_subscription(MotorCommands, 'motor_commands', commands.append, stream_qos())
    system.wait_whole()
    # What the controller answered to the old driver must not count for the new one.
    assert commands
    assert all(command.collision_seq <= command.seq for command in commands)


def test_only_what_cannot_move_or_protect_the_arm_is_started_again_by_the_launch_file():
    arguments = {'base': 'true', 'record': 'true', 'monitor': 'web', 'identification': 'true'}
    found = load(ROOT / 'launch' / 'arm.launch.xml', arguments)
    assert {spec.name for spec in found if spec.respawn} == {'web_monitor',
                                                             'identification_server'}
    assert {spec.name for spec in found if spec.shutdown_on_exit} == {
        'simulator', 'motor_board', 'dynamic_controller', 'collision_observer', 'base_reaction'}
