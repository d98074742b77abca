"""The rest of an arm, asked for by one thread while another notes it."""

import numpy as np
import pytest

from armsense.base.cell_layout import CellLayout
from armsense.base.cell_offset import Rest, RestWatch
from armsense.errors import ArmsenseError

LAYOUT = CellLayout.upright([(0.1, 0.1), (-0.1, 0.1), (-0.1, -0.1), (0.1, -0.1)])
STILL = np.zeros(4)


def note(watch, sample=None):
    watch.step(STILL, sample or Rest(np.zeros(4), np.zeros(3), None), np.ones(4))


def test_samples_noted_while_the_mean_is_taken_do_not_disturb_it():
    watch = RestWatch(LAYOUT, 0.1, 10, 0.02)

    class Read:
        """A sample; while it is read, the loop notes the next one."""

        felt, motion = np.zeros(3), None

        @property
        def q(self):
            note(watch)
            return np.ones(4)

    for _ in range(10):
        note(watch, Read())
    np.testing.assert_array_equal(watch.mean().q, np.ones(4))
    assert watch.forces.shape == (10, 4)


def test_an_arm_that_moves_or_has_just_stopped_has_no_rest():
    watch = RestWatch(LAYOUT, 0.1, 10, 0.02)
    for _ in range(10):
        note(watch)
    assert watch.long_enough
    watch.step(STILL + 1.0, Rest(np.zeros(4), np.zeros(3), None), np.ones(4))
    note(watch)
    with pytest.raises(ArmsenseError, match='must rest'):
        watch.mean()
