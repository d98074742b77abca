"""Criteria against brute force on the singular values, and their gradients."""

import numpy as np
import pytest

from armsense.errors import UnknownName
from armsense.excite.criteria import CRITERIA, make_criterion, singular_values

MAXIMISED = ('e_optimal', 'o1', 'o3')


@pytest.fixture(scope='module')
def regressor():
    rng = np.random.default_rng(5)
    return rng.normal(size=(200, 7)) * np.array([1.0, 3.0, 0.2, 10.0, 1.0, 0.5, 2.0])


def brute_force(name, Phi):
    s = np.linalg.svd(Phi, compute_uv=False)
    m, M = Phi.shape[1], Phi.T @ Phi
    return {'d_optimal': -np.log(np.linalg.det(M)), 'a_optimal': np.trace(np.linalg.inv(M)),
            'e_optimal': s[-1] ** 2, 'condition': np.linalg.cond(Phi),
            'o1': np.prod(s) ** (1 / m) / np.sqrt(m), 'o2': s[0] / s[-1], 'o3': s[-1]}[name]


@pytest.mark.parametrize('name', CRITERIA)
def test_value_is_that_of_its_definition(name, regressor):
    value = make_criterion(name).value(regressor.T @ regressor)
    assert value == pytest.approx(brute_force(name, regressor), rel=1e-9)


@pytest.mark.parametrize('name', CRITERIA)
def test_gradient_matches_finite_differences(name, regressor):
    criterion, M = make_criterion(name), regressor.T @ regressor
    value, G = criterion.gradient(M)
    assert value == pytest.approx(criterion.objective(M))
    rng = np.random.default_rng(6)
    for _ in range(3):
        D = rng.normal(size=M.shape)
        D, h = D + D.T, 1e-5
        slope = (criterion.objective(M + h * D) - criterion.objective(M - h * D)) / (2 * h)
        assert np.sum(G * D) == pytest.approx(slope, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize('name', CRITERIA)
def test_a_smaller_objective_is_a_better_motion(name, regressor):
    criterion = make_criterion(name)
    weak = regressor.copy()
    weak[:, 2] = 0.1 * weak[:, 2]                 # the least excited parameter even less
    M, less = regressor.T @ regressor, weak.T @ weak
    assert criterion.objective(M) < criterion.objective(less)
    better = criterion.value(M) > criterion.value(less)
    assert better == (name in MAXIMISED)


def test_d_optimality_does_not_depend_on_units(regressor):
    units = np.diag([1e3, 1.0, 1e-2, 1.0, 5.0, 1.0, 1.0])
    other = np.roll(regressor, 1, axis=0) + 0.3 * regressor
    criterion = make_criterion('d_optimal')
    plain = criterion.value(regressor.T @ regressor) - criterion.value(other.T @ other)
    first, second = regressor @ units, other @ units
    scaled = criterion.value(first.T @ first) - criterion.value(second.T @ second)
    assert scaled == pytest.approx(plain, abs=1e-6)


def test_singular_values_and_unknown_names(regressor):
    np.testing.assert_allclose(singular_values(regressor.T @ regressor),
                               np.linalg.svd(regressor, compute_uv=False), rtol=1e-9)
    with pytest.raises(UnknownName, match="did you mean 'd_optimal'"):
        make_criterion('d_optimum')


def test_a_motion_that_excites_nothing_is_finite():
    for criterion in CRITERIA.values():
        value, G = criterion.gradient(np.zeros((4, 4)))
        assert np.isfinite(value)
        assert np.isfinite(G).all()
