"""Information matrices against brute force, and gradients by the motion against differences."""

import numpy as np
import pytest

from armsense.errors import ArmsenseError, BadValue, UnknownName
from armsense.excite.criteria import make_criterion
from armsense.excite.families import FourierSeries
from armsense.excite.information import (
    ElasticInformation,
    linearise,
    Motion,
    regressor,
    RigidInformation,
    SMOOTHING,
    torque_noise,
)
from armsense.model import Arm

PERIOD, COUNT = 6.0, 60


def arm_motion(model, seed=0):
    shape = FourierSeries(np.array(model.config.home), PERIOD, 4)
    x = np.random.default_rng(seed).normal(size=(model.n, shape.free().shape[1]))
    t = np.arange(COUNT) * PERIOD / COUNT
    B = [shape.basis(t, order) @ shape.free() for order in range(3)]

    def motion(x):
        still = [shape.derivative(shape.rest(), t, order) for order in range(3)]
        return Motion(*(s + np.einsum('kjf,jf->kj', b, x) for s, b in zip(still, B, strict=True)))

    return motion, x, B


@pytest.mark.parametrize(('arm', 'rank'), [('laas4', 32), ('crs_a465', 22), ('biorob', 26)])
def test_base_columns_are_all_that_can_be_told_apart(arm, rank):
    model = Arm.load(arm)
    terms = ('viscous',) if arm == 'biorob' else ('inertia', 'viscous', 'coulomb')
    information = RigidInformation(model, terms=terms)
    rng = np.random.default_rng(1)
    q, dq, ddq = rng.uniform(-2.0, 2.0, (3, 300, model.n))
    columns = {'inertia': ddq, 'viscous': dq, 'coulomb': np.tanh(dq / SMOOTHING)}
    full = np.concatenate([model.torque_regressor_batch(q, dq, ddq).reshape(300, model.n, -1),
                           *(columns[t][:, :, None] * np.eye(model.n) for t in terms)], axis=2)
    full = full.reshape(-1, full.shape[2])
    length = np.linalg.norm(full, axis=0)
    full = full[:, length > 1e-9] / length[length > 1e-9]
    assert np.linalg.matrix_rank(full, tol=1e-6) == rank
    assert len(information.parameter_names) == rank


def test_matrix_is_the_weighted_sum_over_samples():
    model = Arm.load('laas4')
    information = RigidInformation(model, noise=[0.1, 0.2, 0.3, 0.4])
    motion, x, _ = arm_motion(model)
    m = motion(x)
    [M] = information.matrices(regressor(model, m), m, 2.5)
    expected = np.zeros_like(M)
    for q, dq, ddq in zip(*m, strict=True):
        one = Motion(q[None], dq[None], ddq[None])
        Phi = information.regressor(regressor(model, one), one)[0]
        expected += 2.5 * Phi.T @ Phi
    np.testing.assert_allclose(M, expected, rtol=1e-10, atol=1e-9)


def test_regressor_derivatives_match_central_differences():
    model = Arm.load('crs_a465')
    motion, x, _ = arm_motion(model)
    point, h = linearise(model, motion(x)), 1e-5
    state = np.hstack(point.motion)
    for k in range(3 * model.n):
        sides = []
        for sign in (1, -1):
            moved = state.copy()
            moved[:, k] += sign * h
            n = model.n
            sides.append(regressor(model, Motion(moved[:, :n], moved[:, n:2 * n],
                                                 moved[:, 2 * n:])))
        np.testing.assert_allclose(point.dY[:, k], (sides[0] - sides[1]) / (2 * h), atol=2e-4)


@pytest.mark.parametrize('name', ['d_optimal', 'a_optimal', 'e_optimal', 'condition', 'o1'])
@pytest.mark.parametrize('arm', ['laas4', 'biorob'])
def test_gradient_by_the_coefficients_matches_finite_differences(arm, name):
    model = Arm.load(arm)
    information = (RigidInformation(model) if arm == 'laas4'
                   else ElasticInformation(model, PERIOD / COUNT))
    criterion = make_criterion(name)
    motion, x, B = arm_motion(model, seed=2)

    def objective(x):
        m = motion(x)
        return sum(criterion.objective(M)
                   for M in information.matrices(regressor(model, m), m, 10.0))

    value, by_state = information.gradient(criterion, linearise(model, motion(x)), 10.0)
    assert value == pytest.approx(objective(x), rel=1e-9)
    gradient = sum(np.einsum('kj,kjf->jf', g, b) for g, b in zip(by_state, B, strict=True))
    rng = np.random.default_rng(3)
    scale = np.linalg.norm(gradient)
    for _ in range(3):
        d = rng.normal(size=x.shape)
        d /= np.linalg.norm(d)
        slope = (objective(x + 1e-5 * d) - objective(x - 1e-5 * d)) / 2e-5
        assert np.sum(gradient * d) == pytest.approx(slope, abs=1e-4 * scale)


def test_two_sided_information_has_both_regressors_of_thesis_000():
    model = Arm.load('biorob')
    information = ElasticInformation(model, PERIOD / COUNT)
    motion, x, _ = arm_motion(model)
    m = motion(x)
    load, actuator = information.matrices(regressor(model, m), m, 1.0)
    assert load.shape == (26, 26)                  # 22 base parameters and four bearings
    assert actuator.shape == (16, 16)              # the 4 x 16 regressor of section 4.3
    blocks = actuator.reshape(4, 4, 4, 4).transpose(0, 2, 1, 3)
    off = blocks[~np.eye(4, dtype=bool)]
    assert np.abs(off).max() == 0.0
    # Stiffness column: the deflection that carries the load of the nominal model, joint 1.
    torque = model.inverse_dynamics_batch(*m) + 0.5 * m.dq
    deflection = torque[:, 0] / 17.5
    sigma = information.noise[0]
    assert actuator[2, 2] == pytest.approx(np.sum(deflection**2) / sigma**2, rel=1e-6)


def test_noise_follows_the_current_sensor_and_bad_values_are_named():
    model = Arm.load('crs_a465')
    np.testing.assert_allclose(torque_noise(model), [5.0, 4.0, 3.0])
    with pytest.raises(BadValue, match='3 numbers > 0 Nm'):
        RigidInformation(model, noise=[1.0, -1.0, 1.0])
    with pytest.raises(UnknownName, match='drive term'):
        RigidInformation(model, terms=('stribek',))
    with pytest.raises(ArmsenseError, match='needs a spring in every joint'):
        ElasticInformation(model, 0.1)
