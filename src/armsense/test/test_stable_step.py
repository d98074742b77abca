import mujoco
import numpy as np
import pytest

from armsense.model.arm_config import ElasticConfig, EncoderConfig
from armsense.sim import make_plant
from armsense.sim.stable_step import stable_step


def oscillator(stiffness, damping=0.0):
    """A mass of 1 kg on a spring."""
    model = mujoco.MjModel.from_xml_string(f"""
      <mujoco><option integrator="implicitfast" gravity="0 0 0"/><worldbody><body>
        <joint type="slide" axis="1 0 0" stiffness="{stiffness}" damping="{damping}"/>
        <geom type="sphere" size="0.1" mass="1"/>
      </body></worldbody></mujoco>""")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def amplitude(model, data, h):
    """Largest deflection after a start at 1 mm."""
    model.opt.timestep = h
    data.qpos[0], data.qvel[0] = 1e-3, 0.0
    largest = 0.0
    while largest < 1.0 and data.time < 300 * h:
        mujoco.mj_step(model, data)
        largest = max(largest, abs(data.qpos[0]))
    return largest


@pytest.mark.parametrize('stiffness', [1e4, 1e6, 3.5e6, 5e6, 2e7])
def test_the_chosen_step_holds_and_twice_the_limit_does_not(stiffness):
    """An undamped oscillator explodes beyond h = 2 / omega."""
    model, data = oscillator(stiffness)
    h = stable_step(model, data, 1e-3)
    omega = np.sqrt(stiffness)
    assert h * omega < 2.0
    assert h == 1e-3 or 2.0 * h * omega * np.sqrt(1.1) > 2.0
    assert amplitude(model, data, h) < 0.1
    assert amplitude(*oscillator(stiffness), 2.1 / omega) > 1.0


def test_damping_allows_a_longer_step():
    assert stable_step(*oscillator(5e6), 1e-3) < 1e-3
    assert stable_step(*oscillator(5e6, damping=3000.0), 1e-3) == 1e-3


def test_arms_of_the_repository_run_at_one_millisecond():
    for arm in ('laas4', 'biorob', 'tudor'):
        plant = make_plant(arm)
        assert stable_step(plant.model, plant.data, 1e-3) == 1e-3


def test_plant_with_a_stiff_spring_takes_smaller_steps(pendulum, run):
    plant = make_plant(pendulum(drive='elastic_joint', rotor_inertia=1e-5,
                                elastic=ElasticConfig(stiffness=2e4),
                                joint_encoder=EncoderConfig()))
    plant.reset([0.3])
    assert plant.longest_step < 1e-3
    run(plant, plant.holding_torque, 0.5)
    assert abs(plant.state.joint_position[0] - 0.3) < 1e-3
