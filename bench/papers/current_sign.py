"""The current that a motor's voltage equation expects (thesis 000, eq. 4.52).

    i' = (u - k_v dtheta) / R_a

Friction moves its zeros: `armsense.drive.current_sign` finds those of the real current nearby.
"""

import numpy as np
from numpy.typing import ArrayLike

from armsense.types import Array


def expected_current(voltage: ArrayLike, motor_velocity: ArrayLike, speed_constant: ArrayLike,
                     resistance: ArrayLike) -> Array:
    """Current i' of eq. 4.52 [A].

    Args:
        voltage: At the motor's terminals [V].
        motor_velocity: [rad/s] motor side of the gear.
        speed_constant: k_v, back-EMF per velocity [V s/rad].
        resistance: R_a [ohm].
    """
    return np.asarray((np.asarray(voltage, float) - np.asarray(speed_constant, float)
                       * np.asarray(motor_velocity, float)) / np.asarray(resistance, float))
