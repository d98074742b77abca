"""A motion on a launched arm: sent again where it came too late, done only where it was driven."""

from pathlib import Path
import subprocess
import sys
import time
from types import SimpleNamespace

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
import pytest

from armsense.cli.worker import Cancelled
from armsense.errors import ArmsenseError
from armsense_identification.excitation_run import ExcitationRun, LEADS

LATE = FollowJointTrajectory.Result.OLD_HEADER_TIMESTAMP
TOLERANCE = FollowJointTrajectory.Result.PATH_TOLERANCE_VIOLATED


def drive(*codes: int) -> tuple[float, list[float]]:
    """When the motion began, and the leads that were tried, where attempts end like this."""
    run, leads, answers = ExcitationRun.__new__(ExcitationRun), [], list(codes)
    run._client = SimpleNamespace(server_is_ready=lambda: True)
    run._look = lambda: True                   # the arm is there

    def attempt(motion, lead, cancelled):
        leads.append(lead)
        yield None
        return 5.0 + lead, FollowJointTrajectory.Result(error_code=answers.pop(0),
                                                        error_string='so it is')
    run._attempt = attempt
    steps = run.drive(None, lambda: False)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, leads


@pytest.mark.parametrize('late', range(len(LEADS)))
def test_more_time_after_each_one_that_came_too_late(late):
    assert drive(*[LATE] * late, 0) == (5.0 + LEADS[late], list(LEADS[:late + 1]))


@pytest.mark.parametrize('codes', [[LATE] * len(LEADS), [TOLERANCE], [LATE, TOLERANCE]])
def test_what_more_time_does_not_mend_is_told(codes):
    with pytest.raises(ArmsenseError, match='did not follow: so it is'):
        drive(*codes)


def done(value):
    return SimpleNamespace(done=lambda: True, result=lambda: value)


class Client:
    """A controller that ends every goal with `status`, after it was looked at so many times."""

    def __init__(self, status, accepted=True, looks=3):
        self.accepted, self.looks, self.cancels = accepted, looks, 0
        self.answer = SimpleNamespace(status=status, result=FollowJointTrajectory.Result())

    def send_goal_async(self, goal, on_feedback):
        return done(self)

    def get_result_async(self):
        assert self.accepted, 'a refused goal has no result'
        return SimpleNamespace(done=self._ended, result=lambda: self.answer)

    def _ended(self):
        self.looks -= 1
        return self.looks < 0

    def cancel_goal_async(self):
        self.cancels += 1


def attempt(client, cancelled=False):
    """How a motion ends with this controller."""
    run = ExcitationRun.__new__(ExcitationRun)
    run._client, run._time, run._error = client, 5.0, 0.0
    run._look = lambda: True
    run._goal = lambda motion, begin: None
    steps = run._attempt(None, 2.0, lambda: cancelled)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def test_a_motion_that_was_driven():
    client = Client(GoalStatus.STATUS_SUCCEEDED)
    assert attempt(client) == (7.0, client.answer.result)


@pytest.mark.parametrize('status', [GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED])
def test_a_motion_that_somebody_stopped_does_not_count_as_driven(status):
    with pytest.raises(ArmsenseError, match='stopped from elsewhere') as caught:
        attempt(Client(status))
    assert not isinstance(caught.value, Cancelled)


def test_why_the_controller_gave_up_is_told_by_its_code():
    client = Client(GoalStatus.STATUS_ABORTED)
    client.answer.result.error_code = LATE
    assert attempt(client)[1].error_code == LATE


def test_a_refused_motion_is_told():
    with pytest.raises(ArmsenseError, match='refused'):
        attempt(Client(GoalStatus.STATUS_UNKNOWN, accepted=False))


def test_who_cancels_is_told_so_and_asks_once():
    client = Client(GoalStatus.STATUS_CANCELED)
    with pytest.raises(Cancelled):
        attempt(client, cancelled=True)
    assert client.cancels == 1


def test_a_server_that_is_killed_leaves_no_recorder(tmp_path):
    """It went on recording whatever arm came next."""
    recorder = tmp_path / 'recorder'
    recorder.write_text('#!/bin/sh\nexec sleep 600\n')
    recorder.chmod(0o755)
    server = subprocess.Popen([sys.executable, '-c', f"""
from pathlib import Path
import sys, time
from types import SimpleNamespace
from armsense_identification.excitation_run import ExcitationRun
run = ExcitationRun.__new__(ExcitationRun)
run._lockstep, run._listens = False, lambda: False
run._node = SimpleNamespace(get_namespace=lambda: '/')
sys.executable = {str(recorder)!r}
next(run.record(Path('nowhere')))
print(run._recorder.pid, flush=True)
time.sleep(600)
"""], stdout=subprocess.PIPE, text=True)
    state = Path('/proc', server.stdout.readline().strip(), 'stat')
    assert state.exists()
    server.kill()
    server.communicate()
    deadline = time.monotonic() + 60.0
    while state.exists() and ') Z ' not in state.read_text() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not state.exists() or ') Z ' in state.read_text()
