"""The payload as a message, and what is refused."""

import numpy as np
import pytest

from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense_node.payload import carrying, payload_message

MODEL = Arm.load('laas4')
Q = np.array([0.1, 0.6, -0.2, -0.6])
TENSOR = np.array([[2e-3, 1e-4, -2e-4], [1e-4, 3e-3, 3e-4], [-2e-4, 3e-4, 4e-3]])


def test_message_and_model_agree():
    center = (0.01, -0.02, 0.03)
    told = carrying(MODEL, payload_message(MODEL.tool_frame, 0.4, center, TENSOR))
    np.testing.assert_allclose(told.mass_matrix(Q),
                               MODEL.with_payload(0.4, center, TENSOR).mass_matrix(Q), rtol=1e-12)
    empty = carrying(MODEL, payload_message(MODEL.tool_frame, 0.0))
    np.testing.assert_array_equal(empty.mass_matrix(Q), MODEL.mass_matrix(Q))


def test_other_frames_and_impossible_masses_are_refused():
    with pytest.raises(ArmsenseError, match="'flange'; it must be in that of the tool, 'tool'"):
        carrying(MODEL, payload_message('flange', 0.4))
    with pytest.raises(ArmsenseError, match='payload mass is -1.0; it must be >= 0 kg'):
        carrying(MODEL, payload_message('', -1.0))
