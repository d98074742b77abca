"""Recorded positions and torques in, a physically consistent model out.

The recording is made with another set of masses than the URDF's; they come back.
"""

import numpy as np

from armsense.identify.identify import identify
from armsense.identify.signals.recording import Recording
from armsense.model import Arm

model = Arm.load('crs_a465')
truth = model.replace(parameters=1.15 * model.parameters)      # every link 15 % heavier

t = np.arange(0.0, 20.0, 0.005)
rng = np.random.default_rng(1)
omega = 2 * np.pi * np.array([0.1, 0.2, 0.3, 0.5])             # [rad/s]
a, b = rng.uniform(-0.15, 0.15, (2, 4, model.n))               # [rad]
middle = np.mean(model.position_limits, axis=0)
q = middle + np.sin(np.outer(t, omega)) @ a + np.cos(np.outer(t, omega)) @ b
dq = (np.cos(np.outer(t, omega)) * omega) @ a - (np.sin(np.outer(t, omega)) * omega) @ b
ddq = -(np.sin(np.outer(t, omega)) * omega**2) @ a - (np.cos(np.outer(t, omega)) * omega**2) @ b
tau = np.array([truth.inverse_dynamics(*row) for row in zip(q, dq, ddq, strict=True)])
tau += rng.normal(0.0, 0.02, tau.shape)                        # [Nm] noise

found = identify([Recording(t, q, tau)], model)
print(f'torque error {found.train.percent:.2f} %, physically consistent: {found.feasible}')
print('gravity torque at home, true and found [Nm]:',
      truth.gravity_torque(middle).round(2), found.model.gravity_torque(middle).round(2))
