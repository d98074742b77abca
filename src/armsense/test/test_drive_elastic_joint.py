import numpy as np
import pytest

from armsense.drive import ElasticJoint, make_drive
from armsense.model import ArmConfig
from armsense.types import ArmState

# Thesis 000, table 4.2, column 'exact', and d_i of table 4.5.
STIFFNESS = np.array([17.5, 10.0, 6.0, 6.0])
DAMPING = np.array([0.2, 0.2, 0.1, 0.1])
LINK_DAMPING = np.full(4, 0.5)


@pytest.fixture
def biorob():
    return ElasticJoint.from_config(ArmConfig.load('biorob'))


def energy(springs, theta, q):
    """Stored [J]."""
    return 0.5 * springs.stiffness @ (theta - q - springs.coupling @ q)**2


def random_state(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=4), rng.normal(size=4), rng.normal(size=4), rng.normal(size=4)


def test_numbers_are_those_of_the_printed_tables(biorob):
    np.testing.assert_allclose(biorob.stiffness, STIFFNESS)
    np.testing.assert_allclose(biorob.damping, DAMPING)
    np.testing.assert_allclose(biorob.link_damping, LINK_DAMPING)


def test_only_joint_4_is_coupled_and_only_to_joint_3(biorob):
    assert list(zip(*np.nonzero(biorob.coupling), strict=True)) == [(3, 2)]
    assert biorob.coupling[3, 2] < 0.0   # -r_d3 / r_4, eq. 3.9


def test_spring_torque_by_components(biorob):
    theta, dtheta, q, dq = random_state(1)
    r = biorob.coupling[3, 2]
    expected = STIFFNESS * (theta - q) + DAMPING * (dtheta - dq)
    expected[3] -= 6.0 * r * q[2] + 0.1 * r * dq[2]
    np.testing.assert_allclose(biorob.spring_torque(theta, dtheta, q, dq), expected)


def test_link_torque_is_the_gradient_of_the_spring_energy(biorob):
    theta, _, q, _ = random_state(2)
    still = np.zeros(4)
    gradient = np.zeros(4)
    for k in range(4):
        step = 1e-6 * np.eye(4)[k]
        gradient[k] = (energy(biorob, theta, q + step) - energy(biorob, theta, q - step)) / 2e-6
    reading = ArmState(q, still, theta, still, still)
    np.testing.assert_allclose(biorob.link_torque(reading), -gradient, atol=1e-7)


def test_power_through_the_springs_is_never_created(biorob):
    """Motor power in = link power out + stored + lost, and what is lost is positive."""
    for seed in range(20):
        theta, dtheta, q, dq = random_state(seed)
        still = np.zeros(4)
        load = biorob.spring_torque(theta, dtheta, q, dq)
        out = biorob.link_torque(ArmState(q, dq, theta, dtheta, still)) @ dq
        h = 1e-6
        stored = (energy(biorob, theta + h * dtheta, q + h * dq)
                  - energy(biorob, theta - h * dtheta, q - h * dq)) / (2 * h)
        slip = dtheta - dq - biorob.coupling @ dq
        lost = DAMPING @ slip**2 + LINK_DAMPING @ dq**2
        assert load @ dtheta == pytest.approx(out + stored + lost, abs=1e-5)


def test_motor_position_puts_the_torque_on_the_links(biorob):
    rng = np.random.default_rng(5)
    q, torque, still = rng.normal(size=4), rng.normal(size=4), np.zeros(4)
    theta = biorob.motor_position(q, torque)
    np.testing.assert_allclose(
        biorob.link_torque(ArmState(q, still, theta, still, still)), torque, atol=1e-12)


def test_without_coupling_the_motor_position_is_eq_3_28():
    plain = ElasticJoint(STIFFNESS, DAMPING)
    q, g = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.0, 1.0, 2.0, 0.5])
    np.testing.assert_allclose(plain.motor_position(q, g), g / STIFFNESS + q)


def test_make_drive_chooses_the_springs():
    drive = make_drive(ArmConfig.load('biorob'))
    assert isinstance(drive, ElasticJoint)
