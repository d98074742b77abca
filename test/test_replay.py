"""A live run over DDS is recorded and replayed: the residuals are the same, bit for bit."""

from arm_system import arm_system
import numpy as np
import yaml

from armsense.jobs.replay import replay
from armsense.model import Arm
from armsense.recordings.bag_tape import read_tape
from armsense_msgs.msg import DriverMode

PUSH, END = 4.6, 5.2     # [s] virtual


def test_replay_equals_live(tmp_path):
    scenario = tmp_path / 'scenario.yaml'
    scenario.write_text(yaml.safe_dump({'events': [{'time': PUSH, 'push': {
        'link': 'link4', 'point': [0.095, 0.0, 0.0], 'force': [0.0, 0.0, -15.0],
        'duration': 0.2}}]}))
    bag = tmp_path / 'bag'
    with arm_system(lockstep='true', record='true', bag=str(bag), scenario=str(scenario),
                    reaction='stop') as (client, supervisor):
        client.wait_mode(DriverMode.ENABLED)
        client.wait(lambda: client.time > END, what='the end of the run')
        collisions = list(client.collisions)
    assert supervisor.exit_code == 0, supervisor.last_words
    recorded = read_tape(bag, 4)
    run = replay(Arm.load('laas4'), recorded)
    assert recorded.residual is not None
    assert len(recorded.residual.seq) > 4000
    assert np.abs(recorded.residual.filtered).max() > 0.5    # the push is in the bag
    assert run.identical
    assert [event.link for event in run.events] == [message.link for message in collisions]
    assert collisions[0].link == 'link4'
    assert recorded.seq[run.events[0].number] == collisions[0].seq
