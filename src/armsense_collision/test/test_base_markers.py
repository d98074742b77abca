"""Markers of the base: places, colours, and an arm whose links have no shape."""

from __future__ import annotations

import numpy as np
import pytest
from visualization_msgs.msg import Marker

from armsense.base.cell_layout import CellLayout
from armsense.base.contact_places import ContactPlaces
from armsense.model import Arm
from armsense_collision.base_markers import BaseMarkers


@pytest.fixture(scope='module')
def drawn():
    model = Arm.load('laas4')
    config = model.config.load_cells
    layout = CellLayout.of_config(config)
    markers = BaseMarkers(model, layout, config)
    valid = np.array([True, True, False, True])
    return model, markers, markers.draw(
        np.array(model.config.home), np.array([0.0, 49.0, 5.0, 24.5]), valid,
        np.array([0.0, 0.0, -5.0, 0.4, 0.0, 0.0]), np.array([0.5, 0.3, 0.3])).markers


def test_cells_stand_where_they_are_and_show_their_load(drawn):
    model, _, markers = drawn
    cells = [m for m in markers if m.ns == 'load_cells']
    places = [(m.pose.position.x, m.pose.position.y) for m in cells]
    assert places == [tuple(p) for p in model.config.load_cells.positions]
    colours = [(m.color.r, m.color.g) for m in cells]
    assert colours[0] == (0.0, 1.0)          # empty: green
    assert colours[1] == (1.0, 0.0)          # full: red
    assert colours[2] == (0.5, 0.5)          # not used: grey


def test_arrows_and_points(drawn):
    _, _, markers = drawn
    force = next(m for m in markers if m.ns == 'base_force')
    assert force.type == Marker.ARROW
    assert force.points[1].z == pytest.approx(-0.05)
    felt = next(m for m in markers if m.ns == 'detectable_force')
    assert len(felt.points) == len(felt.colors) > 50
    z, red = (np.array(v) for v in ([p.z for p in felt.points], [c.r for c in felt.colors]))
    assert red[z < 0.1].mean() > red[z > 0.2].mean() + 0.2    # near the cells little is felt
    assert {m.header.frame_id for m in markers} == {'base_link'}


def test_without_shapes_the_cells_are_still_drawn(drawn, monkeypatch):
    model, markers, _ = drawn
    monkeypatch.setattr(markers, '_places', ContactPlaces.nowhere())
    names = {m.ns for m in markers.draw(np.zeros(4), np.zeros(4), np.ones(4, bool), np.zeros(6),
                                        np.ones(3)).markers}
    assert names == {'load_cells', 'base_force', 'base_moment'}
