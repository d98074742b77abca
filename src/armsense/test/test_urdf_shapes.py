"""Shapes of links: read once, handed out as copies."""

import gc

import pinocchio as pin

from armsense.geometry.urdf_shapes import read_shapes
from armsense.model import Arm


def alive():
    gc.collect()
    return sum(isinstance(thing, pin.GeometryModel) for thing in gc.get_objects())


def test_arms_in_a_row_leave_no_shapes_behind():
    model = Arm.load('laas4')
    read_shapes(model)
    before = alive()
    for _ in range(20):
        read_shapes(model)
    assert alive() <= before + 1


def test_what_one_reader_changes_no_other_sees():
    model = Arm.load('laas4')
    _, mine = read_shapes(model)
    mine.addAllCollisionPairs()
    mine.removeGeometryObject(mine.geometryObjects[0].name)
    _, fresh = read_shapes(model)
    assert len(fresh.collisionPairs) == 0
    assert fresh.ngeoms == mine.ngeoms + 1
