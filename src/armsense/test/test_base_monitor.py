"""The whole base watch on a MuJoCo arm with imperfect cells."""

from __future__ import annotations

import numpy as np
import pytest

from armsense.base.base_monitor import BaseMonitor, BaseMonitorOptions
from armsense.base.cell_offset import drift_step, TIME
from armsense.base.sensitivity import detectable_force
from armsense.detector import fixed_thresholds
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.sim import make_plant
from armsense.sim.sensors import CellErrors, SimulatedCells

pytestmark = pytest.mark.slow

DT = 1e-3
ALL = np.ones(4, bool)
STEP = 2 * np.pi / (4096 * 27)      # [rad] of a motor encoder behind its gear


@pytest.fixture(scope='module')
def model():
    return Arm.load('laas4')


class Bench:
    """laas4 under computed torque on simulated cells, with encoders in steps."""

    def __init__(self, model, **errors):
        self.model = model
        self.plant = make_plant('laas4')
        self.cells = SimulatedCells(model.config.load_cells, 1,
                                    CellErrors(base_mass=0.3, plane_bias=1.0, **errors))
        self.home = np.array(model.config.home)
        self.plant.reset(self.home)
        self.friction = np.array([j.friction.viscous for j in model.config.joints.values()])
        self.t = 0.0
        self.order = [0, 1, 2, 3]       # channel that each cell is read from

    def run(self, monitor, seconds, moving=True, valid=ALL):
        results = []
        for _ in range(round(seconds / DT)):
            s = self.plant.state
            w = 2 * np.pi * 0.6
            phase = w * self.t * moving
            q_d = self.home + 0.3 * np.sin(phase) * np.array([1, 0.7, 1, -1])
            dq_d = 0.3 * w * np.cos(phase) * np.array([1, 0.7, 1, -1]) * moving
            ddq_d = -w**2 * (q_d - self.home) * moving
            q, dq = s.joint_position, s.joint_velocity
            a = ddq_d + 40 * (dq_d - dq) + 400 * (q_d - q)
            tau = self.model.inverse_dynamics(q, dq, a) + self.friction * dq
            force = self.cells.step(self.plant.base_wrench, DT)
            results.append(monitor.step(np.floor(q / STEP) * STEP, force[self.order], valid, DT))
            self.plant.step(tau, DT)
            self.t += DT * moving
        return results


@pytest.fixture
def running(model):
    """A zeroed monitor on a moving arm."""
    bench = Bench(model)
    monitor = BaseMonitor(model, thresholds=fixed_thresholds([1.2, 0.5, 0.5]))
    results = bench.run(monitor, 0.5, moving=False)
    assert 'waiting for the arm to rest' in results[0].problem
    assert results[-1].problem == ''
    return bench, monitor


def test_free_motion_is_quiet_and_five_newtons_are_found(running):
    bench, monitor = running
    results = bench.run(monitor, 2.0)
    assert all(r.problem == '' and r.detection is None and r.fault is None for r in results[100:])
    largest = np.abs([r.reading.residual for r in results[300:]]).max(axis=0)
    assert (largest < [0.6, 0.25, 0.25]).all()
    bench.plant.apply_force('link4', [0.095, 0, 0], [0.0, 3.0, -4.0])
    results = bench.run(monitor, 0.15)
    found = [k for k, r in enumerate(results) if r.detection is not None]
    assert len(found) == 1
    assert found[0] < 60                                    # [ms]
    assert monitor.layout.names[results[found[0]].detection.joint] in ('Fz', 'Mx', 'My')
    assert all(r.fault is None for r in results)            # and no cell is blamed for it


def test_what_lies_on_the_base_hides_no_push(model):
    """A tool is laid onto the base plate and stays there: a push on the arm is still felt."""
    bench = Bench(model)
    monitor = BaseMonitor(model, thresholds=fixed_thresholds([1.2, 0.5, 0.5]))
    bench.run(monitor, 0.5, moving=False)
    read, load = bench.cells.step, np.full(4, -1.5 / 4)     # [N] of each cell
    bench.cells.step = lambda wrench, dt: read(wrench, dt) + load
    results = bench.run(monitor, 5.0, moving=False)
    assert sum(r.detection is not None for r in results) == 1
    assert monitor.layout.names[int(np.flatnonzero(results[-1].lasting)[0])] == 'Fz'
    assert results[-1].lasts_for == pytest.approx(4.95, abs=0.05)
    bench.plant.apply_force('link4', [0.095, 0, 0], [0.0, 0.0, -8.0])
    assert any(r.detection for r in bench.run(monitor, 0.15, moving=False))


def test_zero_is_refused_while_moving(running):
    bench, monitor = running
    bench.run(monitor, 0.4)
    with pytest.raises(ArmsenseError, match='must rest while its cells are zeroed'):
        monitor.zero()


def test_unplugged_cell_is_done_without(running):
    bench, monitor = running
    three = np.array([True, True, False, True])
    bench.run(monitor, 0.4)
    results = bench.run(monitor, 1.0, valid=three)
    assert all(r.problem in ('', 'warming up') and r.detection is None for r in results)
    residual = np.array([r.reading.residual for r in results[300:]])
    assert np.abs(residual).max() < 1.0
    bench.plant.apply_force('link4', [0.095, 0, 0], [0.0, 0.0, -5.0])
    assert any(r.detection for r in bench.run(monitor, 0.15, valid=three))
    two = np.array([True, False, False, True])
    result = bench.run(monitor, 0.01, valid=two)[-1]
    assert not result.reading.valid
    assert result.problem == 'load cells 2, 3 are missing: Fz, Mx, My cannot be told'


def test_a_wrong_cell_is_named_and_left_out(running):
    bench, monitor = running
    bench.run(monitor, 0.3)
    bench.cells.fail('offset', 1, 8.0)
    results = bench.run(monitor, 1.0)
    faults = [r.fault for r in results if r.fault is not None]
    assert len(faults) == 1
    assert faults[0].cell == 1
    assert monitor.failed_cells == (2,)
    assert np.abs(results[-1].reading.residual).max() < 1.0     # goes on without it
    monitor.trust_cells()
    assert monitor.failed_cells == ()


@pytest.mark.parametrize(('order', 'message'), [
    ([1, 0, 2, 3], 'load cells 1 and 2 are exchanged'),
    ([0, 3, 2, 1], 'load cells 2 and 4 are exchanged'),
    ([1, 2, 3, 0], 'the cells are connected in another order: '),
])
def test_exchanged_cells_are_named_and_nothing_is_said(model, order, message):
    bench = Bench(model)
    bench.order = order
    monitor = BaseMonitor(model, thresholds=fixed_thresholds([1.2, 0.5, 0.5]))
    bench.run(monitor, 0.5, moving=False)
    results = bench.run(monitor, 2.5)
    assert monitor.layout_problem.startswith(message)
    assert monitor.failed_cells == ()                # no single cell is blamed
    assert not results[-1].reading.valid
    assert results[-1].problem == monitor.layout_problem
    bench.order = [0, 1, 2, 3]                       # mended
    monitor.trust_cells()
    assert bench.run(monitor, 0.3)[-1].problem == ''


def test_a_long_contact_is_no_wrong_layout(running):
    bench, monitor = running
    bench.run(monitor, 1.5)
    bench.plant.apply_force('link4', [0.095, 0, 0], [0.0, 6.0, -8.0])
    assert any(r.detection for r in bench.run(monitor, 3.0))
    assert monitor.layout_problem == ''


def test_many_pushes_on_a_known_layout_are_no_wrong_layout(running):
    bench, monitor = running
    bench.run(monitor, 4.0)
    for k in range(12):
        side = 1.0 if k % 2 else -1.0
        bench.plant.apply_force('link4', [0.095, 0, 0], [0.0, 8.0 * side, -10.0 * side])
        assert any(r.detection for r in bench.run(monitor, 0.4)), k
        bench.plant.release()
        bench.run(monitor, 0.4)
    assert monitor.layout_problem == ''


def test_pushes_before_the_layout_is_known_are_no_wrong_layout(running):
    bench, monitor = running
    for k in range(12):
        bench.plant.apply_force('link4', [0.095, 0, 0], [0.0, 25.0 if k % 2 else -25.0, 0.0])
        assert any(r.detection for r in bench.run(monitor, 0.1)), k
        bench.plant.release()
        results = bench.run(monitor, 0.9)
    assert results[-1].problem == ''


def test_a_layout_that_fits_later_counts_again(running):
    bench, monitor = running
    bench.order = [1, 0, 2, 3]
    assert bench.run(monitor, 4.0)[-1].problem == 'load cells 1 and 2 are exchanged'
    bench.order = [0, 1, 2, 3]                       # plugged in as they should be
    assert bench.run(monitor, 12.0)[-1].problem == ''


def test_thresholds_are_learned_with_their_meaning(running):
    bench, monitor = running
    with pytest.raises(ArmsenseError, match='10 s of residuals'):
        monitor.fit_thresholds()
    monitor.record_residuals()
    bench.run(monitor, 10.5)
    thresholds = monitor.fit_thresholds(rate_per_hour=60.0)
    assert thresholds.rate_per_hour == 60.0
    assert (np.array(thresholds.constant) < [1.2, 0.5, 0.5]).all()
    assert all(r.detection is None for r in bench.run(monitor, 1.0))
    force = monitor.detectable(bench.home)
    assert force.axis[2] < 5.0
    tool = monitor.observer.model.frame_pose(bench.home)[:3, 3]
    same = detectable_force(monitor.layout, tool, monitor.detector.threshold)
    np.testing.assert_array_equal(force.axis, same.axis)
    with pytest.raises(ArmsenseError, match='2 thresholds; the cells feel Fz, Mx, My'):
        monitor.set_thresholds(fixed_thresholds([1.0, 1.0]))


def test_parameters_are_corrected_while_moving(model):
    pi = model.parameters.copy()
    pi[20:30] *= 1.4                       # forearm and hand are guessed too heavy
    pi[30:40] *= 2.0
    wrong = model.replace(parameters=pi)
    bench = Bench(model)
    options = BaseMonitorOptions(update_model=True)
    monitor = BaseMonitor(wrong, options, fixed_thresholds([5.0, 3.0, 3.0]))
    bench.run(monitor, 0.5, moving=False)
    first = np.array([r.reading.residual for r in bench.run(monitor, 1.5)[200:]])
    bench.run(monitor, 8.0)
    last = np.array([r.reading.residual for r in bench.run(monitor, 1.5)[200:]])
    assert np.abs(last).max(axis=0).sum() < 0.6 * np.abs(first).max(axis=0).sum()


@pytest.mark.parametrize('update', [False, True])
def test_a_slowly_growing_contact_is_not_learned_away(model, update):
    bench = Bench(model)
    monitor = BaseMonitor(model, BaseMonitorOptions(update_model=update),
                          fixed_thresholds([1.2, 0.5, 0.5]))
    bench.run(monitor, 0.5, moving=False)
    bench.run(monitor, 3.0)
    felt = None
    for force in np.arange(0.2, 2.5, 0.2):       # [N] a second each
        bench.plant.release()
        bench.plant.apply_force('link4', [0.0, 0.0, 0.0], [0.0, 0.0, -force])
        if any(r.detection is not None for r in bench.run(monitor, 1.0)):
            felt = force
            break
    assert felt is not None
    assert felt <= 1.8                           # 1.2 N and the half that may be hidden
    bench.plant.release()
    bench.run(monitor, 1.0)
    assert all(r.detection is None for r in bench.run(monitor, 2.0))


def test_a_payload_that_is_told_is_no_collision(running, model):
    bench, monitor = running
    bench.plant.set_payload(0.3)                 # 2.9 N on cells that notice 1.2 N
    loaded = model.with_payload(0.3)
    bench.model = loaded
    monitor.set_model(loaded)
    results = bench.run(monitor, 2.0)
    assert all(r.detection is None and r.fault is None for r in results)
    assert all(r.problem == '' for r in results[300:])
    bench.plant.apply_force('link4', [0.095, 0, 0], [0.0, 3.0, -4.0])
    assert any(r.detection is not None for r in bench.run(monitor, 0.15))
    bench.plant.release()
    bench.run(monitor, 0.5)
    monitor.set_model(model)                     # the weight is still there
    assert any(r.detection is not None for r in bench.run(monitor, 0.5))


def test_guessed_thresholds_and_an_arm_without_cells(model):
    monitor = BaseMonitor(model)
    assert (monitor.detector.threshold > 0).all()
    with pytest.raises(ArmsenseError, match='no load cells'):
        BaseMonitor(Arm.load('biorob'))


def test_vibration_floor_keeps_quiet(model):
    options = BaseMonitorOptions(vibration_floor=1.3)
    results = {}
    for name, chosen in (('plain', BaseMonitorOptions()), ('floor', options)):
        bench = Bench(model)
        monitor = BaseMonitor(model, chosen, fixed_thresholds([0.5, 0.5, 0.5]))
        bench.run(monitor, 0.5, moving=False)
        rest = bench.cells.step(bench.plant.base_wrench, DT)
        found = 0
        for k in range(3000):
            # A vibration that grows slowly, as one excited by the motion does.
            swing = min(k / 1500, 1.0) * 1.5 * np.sin(2 * np.pi * 8 * k * DT)
            result = monitor.step(bench.home, rest + swing / 4, ALL, DT)
            found += result.detection is not None
        results[name] = found
    assert results['plain'] > 0
    assert results['floor'] == 0


def test_drift_of_the_cells_is_followed_and_a_push_is_not(model):
    drift, seconds = 30.0, 8.0                      # [N/h] of every cell
    slope = -4.0 * drift / 3600.0                   # [N/s] of Fz, which points up
    cells = np.array([2.0, 3.0, 2.5, 1.5])          # [N] at rest
    home = np.array(model.config.home)
    reached = {}
    for allowed in (0.0, drift):
        monitor = BaseMonitor(model, BaseMonitorOptions(drift=allowed),
                              fixed_thresholds([1.0, 1.0, 1.0]))
        for k in range(round(seconds / DT)):
            result = monitor.step(home, cells + drift / 3600.0 * k * DT, ALL, DT)
        reached[allowed] = result.reading.residual[0]
    assert reached[0.0] == pytest.approx(slope * seconds, rel=0.05)
    lag = slope * TIME * -np.expm1(-seconds / TIME)
    assert reached[drift] == pytest.approx(lag, rel=0.05)
    # A push of 2 N on every cell trips the detector and stays in the residual for as long.
    pushed = cells + drift / 3600.0 * seconds + 2.0
    felt = [monitor.step(home, pushed, ALL, DT) for _ in range(3000)]
    assert sum(r.detection is not None for r in felt) == 1
    assert felt[-1].reading.residual[0] == pytest.approx(felt[500].reading.residual[0], abs=1e-3)


def test_the_offset_never_moves_faster_than_cells_drift():
    change = drift_step(np.array([5.0, -0.01]), np.array([0.001, 0.002]), 0.5)
    np.testing.assert_allclose(change, [0.0005, -0.00025])


def test_positions_that_are_wrong_are_no_contact(model):
    """A counter that wraps while somebody pushes: the driver says so, and the base believes it."""
    bench, monitor = Bench(model), BaseMonitor(model)
    bench.run(monitor, 1.0, moving=False)
    where, monitor.lost_zero = bench.plant.state.joint_position, 'a position reading jumped'
    for k in range(100):
        force = bench.cells.step(bench.plant.base_wrench, DT)
        result = monitor.step(where + 26.0 * (-1)**k, force, ALL, DT)
        assert result.detection is None
        assert not result.reading.valid
        assert not result.lasting.any()
        assert 'a position reading jumped' in result.problem
    with pytest.raises(ArmsenseError, match='a position reading jumped'):
        monitor.zero()
    monitor.lost_zero = ''
    results = bench.run(monitor, 0.5, moving=False)
    assert results[-1].reading.valid
    assert not any(result.detection for result in results)
