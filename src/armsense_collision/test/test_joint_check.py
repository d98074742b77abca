"""Joints and cells are compared only while somebody tells the joints' residual."""

from types import SimpleNamespace

import numpy as np
import pytest

from armsense.model import Arm
from armsense_collision import joint_check
from armsense_node.health import Level

QUIET = SimpleNamespace(filtered=np.zeros(4), threshold=np.ones(4), valid=True,
                        lasting=[False] * 4, collision_seq=0)
BASE = SimpleNamespace(detection=None, threshold=np.ones(6), lasting=np.zeros(6, bool),
                       reading=SimpleNamespace(residual=np.zeros(6), valid=True))
MONITOR = SimpleNamespace(layout=None, options=SimpleNamespace(gain=1.0))


@pytest.mark.parametrize('lockstep', [True, False])
def test_the_last_word_of_an_observer_that_has_gone_does_not_count(monkeypatch, lockstep):
    stream = SimpleNamespace(said=QUIET, deserted=False)
    stream.wait_for = lambda seq, patience: stream.said
    stream.take_latest = lambda: stream.said
    monkeypatch.setattr(joint_check, 'StreamSubscription', lambda *args, **options: stream)
    monkeypatch.setattr(joint_check, 'ContactWatch', lambda *args: SimpleNamespace(
        step=lambda *state: None))
    check = joint_check.JointCheck(None, Arm.load('laas4'), MONITOR,
                                   SimpleNamespace(mean_gain=1.0), None, lockstep)
    check.step(np.zeros(4), BASE, 1, 0, 1e-3)
    assert check.health().level is Level.OK
    stream.said, stream.deserted = None, True
    check.step(np.zeros(4), BASE, 2, 0, 1e-3)
    assert check.health().level is Level.WARN
    assert 'no valid joint residual' in check.health().message
