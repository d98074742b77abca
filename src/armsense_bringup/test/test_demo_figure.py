"""The demo's picture shows what was recorded."""

from types import SimpleNamespace

import numpy as np

from armsense_bringup.demo.figure import _force_of_states


def test_there_is_no_force_between_two_contacts():
    run = SimpleNamespace(time=np.arange(10) * 1e-3,
                          contact_time=np.array([0.002, 0.003, 0.0069999, 0.012]),
                          contact_force=np.array([5.0, 6.0, 7.0, 8.0]))     # the last: too late
    assert _force_of_states(run).tolist() == [0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 0.0, 7.0, 0.0, 0.0]
