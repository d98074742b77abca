"""Joints and base together on a simulated arm: contacts are located, wrong sensors are named."""

from __future__ import annotations

import numpy as np
import pytest

from armsense.base.base_monitor import BaseMonitor
from armsense.base.contact_watch import ContactWatch, Side
from armsense.detector import fixed_thresholds
from armsense.model import Arm
from armsense.sim import make_plant
from armsense.sim.sensors import CellErrors, SimulatedCells
from armsense.watch.collision_monitor import CollisionMonitor

DT = 1e-3
POSE = np.array([0.3, 0.6, 0.5, -0.4])


class Bench:
    """laas4 held by its motors, both observers and the watch."""

    def __init__(self):
        model = Arm.load('laas4')
        self.plant = make_plant('laas4')
        self.plant.reset(POSE)
        self.model, config = model, model.config
        self.cells = SimulatedCells(config.load_cells, 3, CellErrors(base_mass=0.3))
        self.joints = CollisionMonitor(model)
        self.base = BaseMonitor(model, thresholds=fixed_thresholds([0.5, 0.3, 0.3]))
        self.watch = ContactWatch(model, self.base.layout, self.joints.config.mean_gain,
                                  self.base.options.gain)
        self.hold = self.plant.holding_torque
        self.encoder, self.torque, self.cell = np.zeros(4), np.zeros(4), np.zeros(4)

    def look(self):
        """The next explanation; the arm stands as it was explained."""
        for _ in range(150):
            found = self.run(1)
            if found:
                return found[0]
        raise AssertionError('nothing was explained')

    def run(self, cycles):
        """The explanations."""
        found = []
        for _ in range(cycles):
            state = self.plant.state
            q, dq = state.joint_position, state.joint_velocity
            tau = self.hold + 60.0 * (POSE - q) - 3.0 * dq
            force = self.cells.step(self.plant.base_wrench, DT) + self.cell
            read = q + self.encoder
            joint = self.joints.step(read, tau + self.torque, (), (), True, DT)
            felt = self.base.step(read, force, np.ones(4, bool), DT)
            self.plant.step(tau, DT)
            explanation = self.watch.step(
                read, Side(joint.filtered, joint.threshold, joint.valid, joint.lasting.any()),
                Side(felt.reading.residual, felt.threshold, felt.reading.valid,
                     felt.lasting.any()),
                joint.detection is not None or felt.detection is not None, DT)
            if explanation is not None:
                found.append(explanation)
        return found


@pytest.fixture
def bench():
    bench = Bench()
    assert bench.run(600) == []
    return bench


@pytest.mark.parametrize('force', [(0.0, 0.0, -8.0), (0.0, 8.0, 0.0), (6.0, -4.0, 4.0)])
def test_a_push_is_located_by_both(bench, force):
    inside = np.array([0.05, 0.0, 0.0])                # on the axis of the link
    bench.plant.apply_force('link4', inside, force)
    explanation = bench.look()
    touch = explanation.best.touch
    assert (explanation.best.kind, explanation.best.name) == ('contact', 'link4')
    assert explanation.consistent
    assert explanation.probability > 0.99
    np.testing.assert_allclose(touch.force, force, atol=0.6)
    # The line of the force is what can be known: it passes the point, which the push has moved
    # by a centimetre or two until the look.
    T = bench.model.frame_pose(bench.plant.state.joint_position, 'link4')
    gap = np.cross(T[:3, :3] @ inside + T[:3, 3] - touch.point, force) / np.linalg.norm(force)
    assert np.linalg.norm(gap) < 0.015


def test_of_a_further_push_only_what_is_new_is_located(bench):
    inside = np.array([0.05, 0.0, 0.0])
    first, second = np.array([0.0, 0.0, -8.0]), np.array([0.0, -8.0, 0.0])
    bench.plant.apply_force('link4', inside, first)
    np.testing.assert_allclose(bench.look().best.touch.force, first, atol=0.6)
    bench.run(1500)                                    # somebody leans on it
    bench.plant.apply_force('link4', inside, second)
    touch = bench.look().best.touch
    assert touch.link == 'link4'
    np.testing.assert_allclose(touch.force, second, atol=0.8)


def test_a_contact_that_has_ended_is_not_taken_from_the_next(bench):
    inside = np.array([0.05, 0.0, 0.0])
    bench.plant.apply_force('link4', inside, (0.0, 0.0, -8.0), 0.4)
    bench.run(2500)
    bench.plant.apply_force('link4', inside, (0.0, 8.0, 0.0))
    np.testing.assert_allclose(bench.look().best.touch.force, (0.0, 8.0, 0.0), atol=0.8)


@pytest.mark.parametrize('joint', range(4))
def test_a_wrong_drive_is_named(bench, joint):
    bench.torque[joint] = 1.5
    best = bench.look().best
    assert (best.kind, best.name) == ('drive', f'joint{joint + 1}')
    assert best.size == pytest.approx(-1.5, abs=0.1)   # it reports more than moves the arm


def test_an_encoder_that_slips_is_named_at_the_second_look(bench):
    bench.encoder[1] = 0.5
    first, second = bench.run(900)[-2:]
    assert second.best.kind == 'encoder'
    assert second.best.name == 'joint2'
    assert second.best.size == pytest.approx(0.5, abs=0.2)
    assert first.best.kind != 'nothing'


def test_invalid_residuals_explain_nothing(bench):
    bench.plant.apply_force('link4', [0.05, 0.0, 0.0], (0.0, 0.0, -8.0))
    assert len(bench.run(60)) == 0
    side = Side(np.zeros(4), np.ones(4), False)
    assert bench.watch.step(POSE, side, Side(np.zeros(3), np.ones(3), True), True, DT) is None
    assert bench.run(60) == []       # the event was forgotten with the residual


def test_the_watch_assumes_the_bandwidth_that_the_observer_has():
    bench = Bench()
    assert bench.joints.config.mean_gain == pytest.approx(bench.joints.observer.filter.gain.mean())
