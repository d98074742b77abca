"""What a controller is told of contacts that last, by joints and load cells; no DDS."""

from types import SimpleNamespace

import numpy as np
import pytest

from armsense.recordings.record import new_record
from armsense_control import arm_stream
from armsense_control.arm_stream import CollisionInbox, SILENCE
from armsense_msgs.msg import BaseResidual, Residual

JOINTS = ('joint1', 'joint2', 'joint3', 'joint4')


class Stream:
    """A subscription that is filled by hand."""

    def __init__(self, node, msg_type, topic, *args, **options):
        self.waiting, self.deserted = [], False
        node.streams[topic] = self

    def take_latest(self):
        return self.waiting.pop() if self.waiting else None

    def take(self):
        return self.waiting.pop(0) if self.waiting else None

    def drain(self):
        return []

    def raise_if_stopped(self):
        pass


@pytest.fixture
def streams(monkeypatch):
    monkeypatch.setattr(arm_stream, 'StreamSubscription', Stream)
    monkeypatch.setattr(arm_stream, 'DirectSubscription', Stream)
    return {}


def say(stream, kind, seq, lasting, seconds):
    message = new_record(kind, 4 if kind is Residual else 0)
    message.seq, message.valid = seq, True
    message.lasting, message.lasts_for = np.array(lasting), seconds
    stream.waiting.append(message)


def test_joints_and_base_say_what_lasts(streams):
    inbox = CollisionInbox(SimpleNamespace(streams=streams), JOINTS, lockstep=False)
    say(streams['residual'], Residual, 1, [False, True, False, False], 3.2)
    say(streams['base/residual'], BaseResidual, 1, [False, False, True, True, False, False], 1.0)
    inbox.take(1)
    assert inbox.lasting == ('contact lasts on joint2, for 3.2 s now; '
                             'contact lasts on base Fz, base Mx, for 1.0 s now')
    say(streams['residual'], Residual, 2, [False] * 4, 0.0)
    inbox.take(2)
    assert inbox.lasting == 'contact lasts on base Fz, base Mx, for 1.0 s now'


@pytest.mark.parametrize('later', [1000 + SILENCE + 1, 3])     # also after a restart of the driver
def test_an_observer_that_has_gone_says_nothing(streams, later):
    inbox = CollisionInbox(SimpleNamespace(streams=streams), JOINTS, lockstep=False)
    say(streams['base/residual'], BaseResidual, 1000, [False, False, True, False, False, False], 1)
    inbox.take(1000)
    assert inbox.lasting
    inbox.take(later)
    assert inbox.lasting == ''


@pytest.mark.parametrize(('rate', 'states'), [(1000, 201), (100, 21), (30, 7)])
def test_an_observer_of_a_slow_robot_is_not_believed_for_longer(streams, rate, states):
    inbox = CollisionInbox(SimpleNamespace(streams=streams), JOINTS, lockstep=False)
    for seq in range(1, 10):
        say(streams['residual'], Residual, seq, [False, True, False, False], 1.0)
        assert inbox.take(seq, seq / rate)[0] is not None
    told = [inbox.take(9 + k, (9 + k) / rate)[0] is not None and bool(inbox.lasting)
            and not inbox.silent for k in range(1, states + 2)]
    assert sum(told) in (states - 1, states)
    assert told == sorted(told, reverse=True)
    say(streams['residual'], Residual, 9 + states, [False] * 4, 0.0)
    assert inbox.take(9 + states + 1, (10 + states) / rate)[0] is not None    # found again


def test_a_pause_of_the_robot_is_no_silence_of_the_observer(streams):
    inbox = CollisionInbox(SimpleNamespace(streams=streams), JOINTS, lockstep=False)
    say(streams['residual'], Residual, 5, [False] * 4, 0.0)
    inbox.take(5, 1.0)
    assert inbox.take(6, 3.0)[0] is not None
    assert not inbox.silent


def test_lock_step_listens_to_whom_it_waits_for_and_to_nobody_else(streams):
    inbox = CollisionInbox(SimpleNamespace(streams=streams), JOINTS, lockstep=True)
    assert 'base/residual' not in streams
    say(streams['residual'], Residual, 1, [True, False, False, False], 0.5)
    inbox.take(1)
    assert inbox.lasting == 'contact lasts on joint1, for 0.5 s now'


def test_lock_step_does_not_wait_for_an_observer_that_was_deactivated(streams):
    inbox = CollisionInbox(SimpleNamespace(streams=streams), JOINTS, lockstep=True)
    say(streams['residual'], Residual, 1, [False] * 4, 0.0)
    assert inbox.take(1)[0] is not None
    streams['residual'].deserted = True
    inbox.take(1 + SILENCE)              # `Stream` cannot be waited for
    assert (inbox.take(2 + SILENCE)[0], inbox.silent) == (None, True)
