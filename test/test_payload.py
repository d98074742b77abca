"""The controller is told of a payload, and everybody else hears of it: real nodes over DDS."""

from __future__ import annotations

from arm_system import arm_system
import yaml

from armsense_msgs.msg import DriverMode
from armsense_msgs.srv import SetPayload

MASS = 0.3       # [kg]
# [s] virtual; the event of the weight must not come before DDS has told the client of its sender.
LOADED = 4.0


def test_the_weight_of_a_payload_is_a_collision_until_it_is_told(tmp_path):
    file = tmp_path / 'scenario.yaml'
    file.write_text(yaml.safe_dump({'events': [{'time': LOADED, 'payload': {'mass': MASS}}]}))
    with arm_system(lockstep='true', reaction='ignore', scenario=str(file)) as (client, system):
        client.wait_mode(DriverMode.ENABLED)
        client.wait(lambda: bool(client.collisions), what='the weight, felt as a contact')
        assert client.ask(SetPayload, 'dynamic_controller/set_payload',
                          SetPayload.Request(mass=MASS)).success
        forgotten = client.time + 2.0
        client.wait(lambda: client.time > forgotten, what='the observer to forget the weight')
        client.push((0.0, 15.0, 0.0))
        client.wait(lambda: client.collisions[-1].header.stamp.sec >= int(forgotten),
                    what='the push')
    assert system.exit_code == 0, system.last_words
    stamps = [c.header.stamp.sec + 1e-9 * c.header.stamp.nanosec for c in client.collisions]
    assert LOADED < stamps[0] < LOADED + 1.0
    assert not [t for t in stamps if forgotten - 1.0 < t < forgotten]
    assert stamps[-1] >= forgotten
