"""The identified arm as a URDF: Pinocchio and MuJoCo read the same torques from it."""

from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

from armsense.identify.friction.columns import DriveColumns
from armsense.identify.urdf_output import identified_urdf
from armsense.model import Arm

HAND = """<joint name="hand_joint" type="fixed"><parent link="link4"/><child link="hand"/>
<origin xyz="0.1 0 0.02" rpy="0.3 0 0"/></joint>
<link name="hand"><inertial><origin xyz="0 0 0.05"/><mass value="0.4"/>
<inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="5e-4"/></inertial></link></robot>"""


def found(urdf, joints):
    """What identification would hand over: every body 1.3 times as heavy."""
    arm = Arm(urdf, joints)
    heavy = arm.replace(1.3 * arm.parameters)
    drive = {'viscous': 0.1 + np.arange(arm.n), 'coulomb': 0.2 + np.arange(arm.n)}
    return SimpleNamespace(model=heavy, parameters=heavy.parameters,
                           drive=DriveColumns(np.eye(arm.n), tuple(drive)),
                           drive_coefficients=lambda: drive)


@pytest.mark.parametrize('joints', [4, 3])      # of four; the last one locked is part of link 3
def test_bodies_keep_what_was_identified(joints):
    laas4 = Arm.load('laas4')
    urdf = laas4.urdf.replace('</robot>', HAND)
    model = found(urdf, laas4.joint_names[:joints])
    text = identified_urdf(model)
    again = Arm(text, laas4.joint_names[:joints])
    np.testing.assert_allclose(again.parameters, model.parameters, rtol=1e-6, atol=1e-9)
    rng = np.random.default_rng(0)
    q, dq, ddq = rng.uniform(-1.0, 1.0, (3, joints))
    if joints == laas4.n:
        other = mujoco.MjModel.from_xml_string(text)
        other.dof_damping[:] = other.dof_frictionloss[:] = 0.0
        data = mujoco.MjData(other)
        data.qpos, data.qvel, data.qacc = q, dq, ddq
        mujoco.mj_inverse(other, data)
        np.testing.assert_allclose(data.qfrc_inverse, model.model.inverse_dynamics(q, dq, ddq),
                                   rtol=1e-5, atol=1e-6)


def test_friction_goes_into_the_joints():
    laas4 = Arm.load('laas4')
    text = identified_urdf(found(laas4.urdf, laas4.joint_names))
    assert '<dynamics damping="1.1" friction="1.2" />' in text
