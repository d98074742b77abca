"""A pushed arm yields without trembling: observer, admittance and law are one feedback loop."""

import numpy as np
import pytest

from armsense.model import Arm
from armsense.reaction.options import Phase
from armsense.sim.closed_loop import ClosedLoop
from armsense.watch.collision_monitor import CollisionMonitor, DetectionConfig

PUSHED = 0.1      # [s]
REFLEX = 0.3      # [s] in which the arm over-reacts


# laas4 has gains of its own in controllers.yaml; seven, ten times as heavy, gets them from its
# inertia, as an arm of the user's does.
@pytest.mark.parametrize(('arm', 'force'), [
    ('laas4', (0.0, 15.0, 0.0)), ('laas4', (0.0, 0.0, -15.0)),
    ('seven', (0.0, 40.0, 0.0)), ('seven', (40.0, 0.0, 0.0))])
def test_a_pushed_arm_yields_and_does_not_tremble(arm, force):
    model = Arm.load(arm)
    detection = DetectionConfig.of(model)
    loop = ClosedLoop(model, monitor=CollisionMonitor(model, detection))
    loop.run(0.3)
    before = loop.plant.state.joint_position.copy()
    loop.plant.apply_force(model.link_names[-1], np.zeros(3), force, PUSHED)
    torque, phases = [], []

    def note(cycle):
        torque.append(np.array(cycle.command.torque))
        phases.append(loop.controller.phase)

    loop.run(REFLEX, note)
    assert phases.index(Phase.REACTING) < 0.02 / loop.dt
    assert phases[-1] is Phase.REACTING
    released = round((PUSHED + 0.02) / loop.dt)
    change = np.diff(torque[released:], axis=0).std(axis=0)   # [Nm] from cycle to cycle
    assert (change < 0.3 * np.array(detection.threshold)).all()
    moved = loop.plant.state.joint_position - before
    way = model.jacobian(before, model.link_names[-1])[:3] @ moved
    assert way @ np.array(force) / np.linalg.norm(force) > 0.03   # [m] along the push
