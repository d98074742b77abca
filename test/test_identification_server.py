"""The whole cycle as actions of real nodes: design, drive, identify; cancel, failures."""

from __future__ import annotations

import json
from pathlib import Path

from action_msgs.msg import GoalStatus
from arm_system import arm_system
from diagnostic_msgs.msg import DiagnosticArray
import pytest

from armsense.excite import Excitation
from armsense.model import Arm
from armsense.model.model_file import ModelFile
from armsense.recordings.bag_files import BagFacts
from armsense.recordings.recording_check import model_hash
from armsense_msgs.action import DesignExcitation, Identify, RunExcitation

KINDS = {'design_excitation': DesignExcitation, 'run_excitation': RunExcitation,
         'identify': Identify}
PATIENCE = 280.0   # [s] wall clock of a busy machine


class Server:
    """Client of the three actions."""

    def __init__(self, client) -> None:
        self._client = client
        self.feedback: list = []
        self.fit: list[str] = []
        client.node.create_subscription(
            DiagnosticArray, 'diagnostics',
            lambda m: self.fit.extend(s.message for s in m.status if 'model fit' in s.name), 10)

    def send(self, name: str, **goal):
        self.feedback = []
        return self._client.send_goal(KINDS[name], name, KINDS[name].Goal(**goal),
                                      lambda m: self.feedback.append(m.feedback))

    def finish(self, handle):
        outcome = self._client.outcome(handle, PATIENCE)
        return outcome.status, outcome.result

    def ask(self, name: str, **goal):
        return self.finish(self.send(name, **goal))


@pytest.fixture(scope='module')
def server(folder):
    with arm_system(process='many', arm='laas4', lockstep='true', identification='true',
                    identification_folder=str(folder)) as (client, _):
        yield Server(client), client


@pytest.fixture(scope='module')
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp('cycle')


@pytest.fixture(scope='module')
def excitation(server, folder) -> Path:
    file = folder / 'excite.yaml'
    status, result = server[0].ask('design_excitation', period=5.0, harmonics=4, time_limit=20.0,
                                   out=str(file))
    assert status == GoalStatus.STATUS_SUCCEEDED, result.message
    assert result.success
    assert result.file == str(file)
    designed = Excitation.read(file, 'laas4')
    assert designed.period == 5.0
    assert result.condition_number == pytest.approx(designed.quality.condition_number)
    assert all(0.0 <= f.progress <= 1.0 for f in server[0].feedback)
    assert server[0].feedback
    return file


@pytest.fixture(scope='module')
def bag(server, folder, excitation) -> Path:
    path = folder / 'bag'
    status, result = server[0].ask('run_excitation', file=str(excitation), periods=1,
                                   bag=str(path))
    assert status == GoalStatus.STATUS_SUCCEEDED, result.message
    assert 'nothing collided' in result.message
    shares = [f.progress for f in server[0].feedback]
    assert shares == sorted(shares)
    assert shares[-1] > 0.8
    assert max(f.tracking_error for f in server[0].feedback) < 0.05
    return path


def test_bag_tells_where_it_comes_from(bag):
    facts = BagFacts.read(bag)
    assert (facts.arm, facts.checks, facts.motion) == ('laas4', 'ok', 'excite.yaml')
    assert facts.model_sha256 == model_hash(Arm.load('laas4'))
    begin, end = facts.window()
    assert end - begin == pytest.approx(5.0)


def test_identify_writes_model_and_report(server, folder, bag):
    status, result = server[0].ask('identify', bags=[str(bag)], arm='laas4', method='sdp',
                                   out=str(folder / 'model.yaml'))
    assert status == GoalStatus.STATUS_SUCCEEDED, result.message
    assert 0.0 < result.error_percent < 5.0
    assert result.grade == 'good'
    assert result.message.startswith('Use it: ')
    assert ModelFile.read(folder / 'model.yaml').arm == 'laas4'
    assert (folder / 'report.html').exists()
    facts = json.loads((folder / 'report.json').read_text())
    assert facts['provenance']['sources'][0]['checks'] == 'ok'
    assert {f.step for f in server[0].feedback} & {'identifying', 'writing the report'}


def test_cancelled_run_stops_the_arm_and_leaves_no_bag(server, folder, excitation):
    actions, client = server
    handle = actions.send('run_excitation', file=str(excitation), periods=10,
                          bag=str(folder / 'cut'))
    client.wait(lambda: bool(actions.feedback) and actions.feedback[-1].progress > 0.01, PATIENCE,
                'the motion')
    client.cancel(handle)
    status, result = actions.finish(handle)
    assert status == GoalStatus.STATUS_CANCELED
    assert not result.success
    assert not (folder / 'cut').exists()
    client.wait(lambda: max(map(abs, client.joint_state.velocity)) < 0.05, what='standstill')


def test_cancelled_design_writes_nothing(server, folder):
    actions, client = server
    handle = actions.send('design_excitation', period=10.0, out=str(folder / 'never.yaml'))
    client.wait(lambda: bool(actions.feedback), PATIENCE, 'first step')
    client.cancel(handle)
    status, result = actions.finish(handle)
    assert status == GoalStatus.STATUS_CANCELED
    assert 'cancelled' in result.message
    assert not (folder / 'never.yaml').exists()


@pytest.mark.parametrize(('name', 'goal', 'text'), [
    ('design_excitation', {'arm': 'laas5'}, "did you mean 'laas4'"),
    ('design_excitation', {'criterion': 'beauty'}, "unknown value 'beauty'"),
    ('run_excitation', {'file': 'no/such.yaml', 'bag': 'x'}, 'cycle0/no/such.yaml'),
    ('identify', {'bags': ['no/such/bag']}, 'cycle0/no/such/bag'),
    ('identify', {'bags': []}, 'no bag is given'),
    ('identify', {'bags': ['x'], 'arm': 'zeego2'}, "unknown arm 'zeego2'"),
    ('identify', {'bags': ['x'], 'method': 'magic'}, "unknown method 'magic'"),
    ('identify', {'bags': ['/etc/passwd']}, '/etc/passwd does not lie within'),
    ('identify', {'bags': ['x'], 'arm': '/tmp/arm.yaml'}, '/tmp/arm.yaml does not lie within'),
    ('run_excitation', {'file': 'excite.yaml', 'bag': '../bag'}, '../bag does not lie within'),
])
def test_failures_say_why(server, folder, name, goal, text):
    out = {} if name == 'run_excitation' else {'out': str(folder / 'bad.yaml')}
    status, result = server[0].ask(name, **goal, **out)
    assert status == GoalStatus.STATUS_ABORTED
    assert not result.success
    assert text in result.message
    assert not (folder / 'bad.yaml').exists()


def test_nothing_is_written_outside_the_folder(server, folder, tmp_path):
    status, result = server[0].ask('design_excitation', out=str(tmp_path / 'out.yaml'))
    assert status == GoalStatus.STATUS_ABORTED
    assert f'does not lie within {folder}' in result.message
    assert list(tmp_path.iterdir()) == []


def test_fit_of_the_model_is_in_the_diagnostics(server):
    actions, client = server
    client.wait(lambda: bool(actions.fit), what='diagnostics')
    assert all('no longer fits' not in text for text in actions.fit)
