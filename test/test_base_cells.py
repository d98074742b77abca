"""Load cells under the base: alone, with the joints, and always the same with the same seed."""

from pathlib import Path

from arm_system import arm_system
from bag_contents import contents, first_difference
import numpy as np
import pytest
import yaml

from armsense_msgs.msg import BaseResidual, Collision, DriverMode
from armsense_node.qos import event_qos, stream_qos

COMPARED = ('/motor_states', '/motor_commands', '/residual', '/base/residual', '/load_cells')
PUSH, END = 6.0, 6.6         # [s] virtual
FORCE = (0.0, -10.0, 0.0)    # [N]


def write_scenario(path: Path, time: float, force, duration: float) -> str:
    path.write_text(yaml.safe_dump({'events': [{'time': time, 'push': {
        'link': 'link4', 'point': [0.095, 0.0, 0.0], 'force': list(force),
        'duration': duration}}]}))
    return str(path)


def test_a_push_is_felt_at_the_base(tmp_path):
    scenario = write_scenario(tmp_path / 'scenario.yaml', 8.0, (0.0, 0.0, -15.0), 0.5)
    residuals = []
    with arm_system(observer='false', base='true', lockstep='true', reaction='ignore',
                    scenario=scenario) as (client, supervisor):
        client.node.create_subscription(BaseResidual, 'base/residual', residuals.append,
                                        stream_qos())
        client.wait_mode(DriverMode.ENABLED)
        client.wait(lambda: client.time > 8.5, what='the push')
        client.wait(lambda: bool(client.collisions), what='a collision event')
    assert supervisor.exit_code == 0, supervisor.last_words
    assert client.collisions[0].source == 'base'
    assert client.collisions[0].header.stamp.sec == 8
    assert residuals
    assert residuals[-1].observed[2]
    assert not residuals[-1].observed[0]


def recorded(folder: Path) -> tuple[dict[str, list[str]], list[Collision]]:
    """Messages of a run in which the arm is pushed, and the contacts that were located."""
    scenario = write_scenario(folder / 'scenario.yaml', PUSH, FORCE, 0.3)
    contacts: list[Collision] = []
    with arm_system(base='true', lockstep='true', record='true', bag=str(folder / 'bag'),
                    seed='5', scenario=scenario, reaction='stop') as (client, supervisor):
        client.node.create_subscription(Collision, 'contact', contacts.append, event_qos(10))
        client.wait_mode(DriverMode.ENABLED)
        client.wait(lambda: client.time > END + 0.1, what='the end of the run')
    assert supervisor.exit_code == 0, supervisor.last_words
    return contents(folder / 'bag', COMPARED, END), contacts


def test_joints_and_base_locate_a_push_and_the_same_seed_gives_the_same_run(tmp_path):
    runs = []
    for name in ('one', 'two'):
        (tmp_path / name).mkdir()
        runs.append(recorded(tmp_path / name))
    for topic in COMPARED:
        assert len(runs[0][0][topic]) > 100
        assert not first_difference(runs[0][0][topic], runs[1][0][topic]), topic
    for _, contacts in runs:
        fused = [c for c in contacts if c.source == 'fusion']
        assert fused[0].link == 'link4'
        assert fused[0].header.stamp.sec + 1e-9 * fused[0].header.stamp.nanosec \
            == pytest.approx(PUSH, abs=0.05)
        force = fused[0].force
        np.testing.assert_allclose([force.x, force.y, force.z], FORCE, atol=2.5)
        assert fused[0].confidence > 0.9
    assert runs[0][1][0].point == runs[1][1][0].point
