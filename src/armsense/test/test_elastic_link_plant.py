import dataclasses

import mujoco
import numpy as np
import pytest

from armsense.drive import make_drive
from armsense.errors import ArmsenseError
from armsense.model import Arm, ArmConfig
from armsense.sim import make_plant
from armsense.types import ArmState

G = 9.81
CLAMP = 0.06   # [kg] at the end of blade 3


@pytest.fixture(scope='module')
def tudor():
    return ArmConfig.load('tudor')


@pytest.fixture(scope='module')
def beam(tudor):
    return tudor.joints['joint3'].strain


def modes(plant):
    """Natural frequencies with held joints [Hz], lowest first."""
    model, data = plant.model, plant.data
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    bends = [j for j in range(model.njnt) if '_bend' in model.joint(j).name]
    K = np.diag(model.jnt_stiffness[bends].reshape(len(bends), -1)[:, 0])
    values = np.linalg.eigvals(np.linalg.solve(M[np.ix_(bends, bends)], K)).real
    return np.sqrt(np.sort(values)) / (2.0 * np.pi)


@pytest.mark.parametrize('angle', [0.0, 0.6, -0.9])
@pytest.mark.parametrize('payload', [0.0, 0.2, 0.4])
def test_strain_under_weight_is_that_of_beam_theory(tudor, beam, angle, payload):
    """Paper 001, eqs. 2, 3 and 5 for blade 3 at an angle to the horizontal, within 2 %."""
    plant = make_plant(tudor)
    plant.set_payload(payload)
    plant.reset([0.0, 0.5, angle - 0.5])
    # Where the blade really points: blade 2 hangs through too.
    lean = plant.pose('link3_piece1')[:3, 0]
    across = np.hypot(lean[0], lean[1])
    rest = beam.length - beam.gauge_position
    moment = G * across * (0.5 * beam.linear_density * rest**2 + (CLAMP + payload) * rest)
    expected = beam.surface_distance / beam.bending_stiffness * moment
    assert plant.state.strain[2] == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize('force', [-3.0, 2.0])
def test_strain_under_a_tip_force(tudor, beam, force, run):
    config = dataclasses.replace(tudor, gravity=(0.0, 0.0, 0.0))
    plant = make_plant(config)
    plant.reset([0.0, 0.0, 0.0])
    plant.apply_force('link3', (beam.length, 0.0, 0.0), (0.0, 0.0, force))

    def hold(s):
        return -200.0 * s.motor_position - 8.0 * s.motor_velocity
    run(plant, hold, 6.0)
    last = run(plant, hold, 1.0)
    strain = np.mean([s.strain for s in last], axis=0)
    lever3 = beam.length - beam.gauge_position
    factor = beam.surface_distance / beam.bending_stiffness
    # A force upwards unloads the motor that holds the link: the strain is against it.
    assert strain[2] == pytest.approx(-factor * force * lever3, rel=0.02)
    assert strain[1] == pytest.approx(-factor * force * (lever3 + beam.length), rel=0.02)


def test_deflection_under_a_tip_force_is_FL3_over_3EI(tudor, beam, without_friction):
    """The static solution of the pieces against the cantilever formula."""
    plant = make_plant(without_friction(tudor, gravity=(0.0, 0.0, 0.0)))
    plant.reset([0.0, 0.0, 0.0])
    pieces = plant.arm.beams['link3']
    force = 1.0
    angles = force * (beam.length - pieces.hinges) / pieces.stiffness
    tip = angles @ (beam.length - pieces.hinges)
    assert tip == pytest.approx(force * beam.length**3 / (3 * beam.bending_stiffness), rel=0.002)


@pytest.mark.parametrize('payload', [0.0, 0.1, 0.4])
@pytest.mark.parametrize('q', [(0.0, 0.0, 0.0), (0.0, 0.785, -0.785), (0.0, 1.4, 1.5)])
def test_first_mode_lies_between_1_and_13_hertz(tudor, payload, q):
    plant = make_plant(tudor)
    plant.set_payload(payload)
    plant.reset(q)
    first, second, third = modes(plant)[:3]
    assert 1.0 < first < 13.0
    assert second < 16.0
    assert third > 40.0


def test_mode_of_a_blade_with_a_heavy_tip(tudor, beam):
    """Only blade 3, its joint held: sqrt(3 EI / L^3 / (m + 0.243 rho L)), Rayleigh."""
    plant = make_plant(tudor)
    plant.set_payload(0.4)
    plant.reset([0.0, 0.0, 0.0])
    M = np.zeros((plant.model.nv, plant.model.nv))
    mujoco.mj_fullM(plant.model, plant.data, M)
    index = [plant.model.joint(name).id for name in plant.arm.beams['link3'].joints]
    K = np.diag(plant.arm.beams['link3'].stiffness)
    lowest = np.linalg.eigvals(np.linalg.solve(M[np.ix_(index, index)], K)).real.min()
    tip = CLAMP + 0.4 + 0.243 * beam.linear_density * beam.length
    expected = np.sqrt(3 * beam.bending_stiffness / beam.length**3 / tip)
    assert np.sqrt(lowest) == pytest.approx(expected, rel=0.01)


def test_straight_arm_has_the_inertia_of_the_urdf(tudor, without_friction):
    config = without_friction(tudor, gravity=(0.0, 0.0, 0.0))
    plant, model = make_plant(config), Arm.load(config)
    q = np.array([0.2, 0.6, -0.4])
    plant.reset(q)
    M = np.zeros((plant.model.nv, plant.model.nv))
    mujoco.mj_fullM(plant.model, plant.data, M)
    motors = [plant.model.joint(name).id for name in config.joints]
    expected = model.mass_matrix(q)
    expected[np.diag_indices(3)] += [j.reflected_inertia for j in config.joints.values()]
    expected[np.diag_indices(3)] -= model.armature
    np.testing.assert_allclose(M[np.ix_(motors, motors)], expected, rtol=1e-3, atol=1e-5)


def test_base_wrench_at_rest_is_the_weight(tudor):
    plant, model = make_plant(tudor), Arm.load(tudor)
    q = plant.state.joint_position
    expected = model.base_wrench_regressor(q, 0 * q, 0 * q) @ model.parameters
    assert plant.base_wrench[2] == pytest.approx(expected[2], rel=1e-4)
    # The blades hang through, so the lever differs a little from the straight arm's.
    np.testing.assert_allclose(plant.base_wrench[3:5], expected[3:5], atol=0.05 * expected[4])


def test_undamped_blades_keep_their_energy(tudor, without_friction, run):
    plant = make_plant(without_friction(tudor))
    plant.reset([0.0, 0.4, -0.4])
    before = plant.energy
    run(plant, np.zeros(3), 0.3, dt=5e-4)   # before joint 2 reaches its stop
    assert np.abs(plant.state.joint_velocity).max() > 3.0
    assert plant.energy == pytest.approx(before, abs=0.03)


def test_swing_loses_what_friction_and_bending_take(tudor, run):
    config = dataclasses.replace(tudor, joints={
        name: dataclasses.replace(joint, backlash=0.0) for name, joint in tudor.joints.items()})
    plant = make_plant(config)
    plant.reset([0.0, 0.4, -0.4])
    coulomb = np.array([j.friction.coulomb for j in config.joints.values()])
    damping = plant.model.dof_damping.reshape(plant.model.nv, -1)[:, 0]
    before, lost, dt = plant.energy, 0.0, 2.5e-4
    for _ in range(1600):
        plant.step(np.zeros(3), dt)
        lost += dt * (damping @ plant.data.qvel**2 + coulomb @ abs(plant.state.motor_velocity))
    assert lost > 0.3
    assert before - plant.energy == pytest.approx(lost, rel=0.02)


def test_vibration_dies_with_the_configured_damping(tudor, run):
    plant = make_plant(tudor)
    plant.reset([0.0, 0.785, -0.785])
    rest, hold = plant.state.strain[1], plant.state.motor_position
    torque = plant.holding_torque

    def law(s):
        return torque + 3000.0 * (hold - s.motor_position) - 100.0 * s.motor_velocity
    plant.apply_force('link2', (0.39, 0.0, 0.0), (0.0, 0.0, 2.0), duration=0.1)
    run(plant, law, 0.1)
    strain = np.array([s.strain[1] for s in run(plant, law, 4.0)]) - rest
    first, last = np.abs(strain[:500]).max(), np.abs(strain[-500:]).max()
    cycles = 3.4 * 3.5                               # first mode 3.4 Hz
    ratio = np.log(first / last) / (2.0 * np.pi * cycles)
    assert 0.003 < ratio < 0.03                      # configured 0.01 per blade


def test_drive_model_reads_the_gravity_torque_from_the_strain(tudor):
    """Paper 001, eq. 7, through the sensors: within 4 % of the rigid model's gravity."""
    plant, model = make_plant(tudor), Arm.load(tudor)
    drive = make_drive(tudor, model=model)
    for q in ([0.0, 0.2, 0.1], [0.0, 0.785, -0.785], [0.5, 1.2, -1.5]):
        plant.reset(q)
        state = plant.state
        torque = drive.link_torque(ArmState(
            state.joint_position, state.joint_velocity, state.motor_position,
            state.motor_velocity, np.zeros(3), state.strain))
        gravity = model.gravity_torque(state.joint_position)
        np.testing.assert_allclose(torque[1:], gravity[1:], atol=0.04 * gravity[1])


def test_contact_on_a_piece_names_the_link(tudor, run):
    plant = make_plant(tudor)
    middle = plant.pose('link3_piece3')[:3, 3]
    plant.place_obstacle('ball', middle - [0.0, 0.0, 0.06], radius=0.05)
    for _ in range(200):
        plant.step(0.5 * plant.holding_torque, 1e-3)
        if plant.contact:
            break
    assert {contact.link for contact in plant.contact} == {'link3'}


def test_link_that_is_lighter_than_its_blade_is_refused(tudor):
    joint = tudor.joints['joint3']
    heavy = dataclasses.replace(joint.strain, linear_density=5.0)
    joints = {**tudor.joints, 'joint3': dataclasses.replace(joint, strain=heavy)}
    with pytest.raises(ArmsenseError, match='link3'):
        make_plant(dataclasses.replace(tudor, joints=joints))
