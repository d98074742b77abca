"""Load cells under the base feel a push that the joint observer, switched off, cannot report."""

from arm_system import arm_system
import yaml

from armsense_driver.qos import stream_qos
from armsense_msgs.msg import BaseResidual, DriverMode


def test_a_push_is_felt_at_the_base(tmp_path):
    scenario = tmp_path / 'scenario.yaml'
    scenario.write_text(yaml.safe_dump({'events': [{'time': 8.0, 'push': {
        'link': 'link4', 'point': [0.095, 0.0, 0.0], 'force': [0.0, 0.0, -15.0],
        'duration': 0.5}}]}))
    residuals = []
    with arm_system(observer='false', base='true', lockstep='true', reaction='ignore',
                    scenario=str(scenario)) as (client, supervisor):
        client.node.create_subscription(BaseResidual, 'base/residual', residuals.append,
                                        stream_qos())
        client.wait_mode(DriverMode.ENABLED)
        client.wait(lambda: client.time > 8.5, 60.0, 'the push')
        client.wait(lambda: bool(client.collisions), 10.0, 'a collision event')
    assert supervisor.exit_code == 0, supervisor.lines[-20:]
    assert client.collisions[0].source == 'base'
    assert client.collisions[0].header.stamp.sec == 8
    assert residuals
    assert residuals[-1].observed[2]
    assert not residuals[-1].observed[0]
