"""Load an arm and ask its model: mass matrix, gravity, the torque of a motion."""

import numpy as np

from armsense.model import Arm

model = Arm.load('laas4')
q = np.array([0.0, 0.6, 0.0, -0.6])     # [rad]
dq = np.zeros(4)                        # [rad/s]
ddq = np.array([0.0, 2.0, 0.0, 0.0])    # [rad/s^2]

print(f'{model.name}: {model.n} joints, {model.masses.sum():.2f} kg in motion')
print('mass matrix [kg m^2]')
print(np.round(model.mass_matrix(q), 3))
print('holding still [Nm]       ', np.round(model.gravity_torque(q), 2))
print('lifting at 2 rad/s^2 [Nm]', np.round(model.inverse_dynamics(q, dq, ddq), 2))

heavier = model.with_payload(0.3)
print('with 300 g in the hand   ', np.round(heavier.gravity_torque(q), 2))
