"""Lock-step: the same seed gives the same run, bit for bit; who is deactivated is not awaited."""

from pathlib import Path

from arm_system import arm_system
from bag_contents import contents, first_difference
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import yaml

from armsense_msgs.msg import DriverMode

COMPARED = ('/motor_states', '/motor_commands', '/residual', '/ground_truth')
START, END = 5, 8.0    # [s] virtual; late: a client on a busy machine is slow


def recorded(folder: Path, seed: int) -> dict[str, list[str]]:
    """Messages of a run in which the arm moves and is pushed."""
    scenario = folder / 'scenario.yaml'
    scenario.write_text(yaml.safe_dump({'events': [{'time': START + 1.5, 'push': {
        'link': 'link4', 'point': [0.095, 0.0, 0.0], 'force': [0.0, -10.0, 0.0],
        'duration': 0.2}}]}))
    with arm_system(lockstep='true', record='true', bag=str(folder / 'bag'), seed=str(seed),
                    scenario=str(scenario), reaction='stop') as (client, supervisor):
        client.wait_mode(DriverMode.ENABLED)
        client.send([(1.0, [0.5, 0.5, 0.2, -0.4])], start=START)
        client.wait(lambda: client.time > END + 0.1, what='the end of the run')
    assert supervisor.exit_code == 0, supervisor.last_words
    return contents(folder / 'bag', COMPARED, END)


def test_the_same_seed_gives_the_same_bag_and_another_seed_another(tmp_path):
    runs = []
    for name, seed in (('one', 5), ('two', 5), ('other', 6)):
        (tmp_path / name).mkdir()
        runs.append(recorded(tmp_path / name, seed))
    for topic in COMPARED:
        assert len(runs[0][topic]) > 100
        assert not first_difference(runs[0][topic], runs[1][topic]), topic
    assert first_difference(runs[0]['/motor_states'], runs[2]['/motor_states'])


def change(client, node: str, transition: int) -> None:
    request = ChangeState.Request(transition=Transition(id=transition))
    assert client.ask(ChangeState, f'{node}/change_state', request).success


def test_time_goes_on_without_a_deactivated_node_and_with_it_again():
    with arm_system(lockstep='true') as (client, supervisor):
        client.wait_enabled()
        change(client, 'dynamic_controller', Transition.TRANSITION_DEACTIVATE)
        client.wait_mode(DriverMode.DAMPING)
        assert client.mode.fault.startswith('command_timeout')
        change(client, 'dynamic_controller', Transition.TRANSITION_ACTIVATE)
        assert client.call('motor_board/clear_fault').success
        assert client.call('motor_board/enable').success
        client.wait_mode(DriverMode.ENABLED)
        client.wait_enabled()
        change(client, 'collision_observer', Transition.TRANSITION_DEACTIVATE)
        begin = client.time
        client.wait(lambda: client.time > begin + 0.5, what='time without an observer')
        change(client, 'collision_observer', Transition.TRANSITION_ACTIVATE)
        handle = client.send([(1.0, [0.5, 0.5, 0.2, -0.4])])
        assert client.result(handle).error_code == 0
    assert supervisor.exit_code == 0, supervisor.last_words
