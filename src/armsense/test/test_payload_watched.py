"""A monitor that is told of the payload feels pushes, not the weight."""

import pytest

from armsense.model import Arm
from armsense.sim.closed_loop import ClosedLoop
from armsense.watch.collision_monitor import CollisionMonitor

MODEL = Arm.load('laas4')
CARRIED = 0.3   # [kg]


def loaded_arm(told):
    loop = ClosedLoop(MODEL, monitor=CollisionMonitor(MODEL), seed=3)
    loop.controller.reaction.choose('ignore')
    loop.plant.set_payload(CARRIED)
    loop.controller.set_payload(CARRIED)
    if told:
        loop.monitor.set_model(MODEL.with_payload(CARRIED))
    return loop


def alarms(loop, seconds):
    found = []
    loop.run(seconds, lambda cycle: found.append(cycle.time)
             if cycle.result.detection is not None else None)
    return found


@pytest.mark.parametrize('told', [False, True])
def test_the_weight_is_a_collision_only_to_who_was_not_told(told):
    loop = loaded_arm(told)
    assert bool(alarms(loop, 0.6)) is not told
    if told:
        loop.plant.apply_force('link4', (0.05, 0.0, 0.0), (0.0, 12.0, 0.0), 0.1)
        assert len(alarms(loop, 0.1)) == 1
