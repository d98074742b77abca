"""Shapes of the page against the URDF's numbers."""

import numpy as np
import pytest
import trimesh

from armsense.model import Arm
from armsense_monitor.view_scene import link_meshes


def test_cylinder_of_laas4_has_its_size_and_place():
    meshes = {mesh.link: mesh for mesh in link_meshes(Arm.load('laas4'))}
    forearm = meshes['link3']           # length 0.26, radius 0.022, centre 0.14 along z
    assert forearm.joint == 2
    np.testing.assert_allclose(forearm.vertices.min(0), [-0.022, -0.022, 0.01], atol=1e-3)
    np.testing.assert_allclose(forearm.vertices.max(0), [0.022, 0.022, 0.27], atol=1e-3)
    assert forearm.color == (242, 140, 26)
    assert meshes['base_link'].joint == -1


@pytest.mark.parametrize('arm', ['biorob', 'tudor', 'crs_a465', 'crs_a255', 'zeego'])
def test_every_arm_has_closed_shapes(arm):
    meshes = link_meshes(Arm.load(arm))
    assert len(meshes) >= 3
    for mesh in meshes:
        solid = trimesh.Trimesh(mesh.vertices, mesh.faces)
        assert solid.is_watertight
        assert solid.volume > 0.0


def test_unreadable_visual_shapes_fall_back_to_collision_shapes():
    urdf = Arm.load('laas4').urdf.replace(
        '<visual>', '<visual><geometry><mesh filename="package://nowhere/a.stl"/></geometry>'
        '</visual><visual>')
    meshes = link_meshes(Arm(urdf))
    assert {mesh.link for mesh in meshes} >= {'link1', 'link4'}
