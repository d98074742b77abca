"""A MuJoCo arm behind emulated motor boards and load cells."""

import os

# MuJoCo chooses its graphics when it is first imported; pictures are made without a display.
os.environ.setdefault('MUJOCO_GL', 'egl')

from armsense.sim.mujoco_plant import make_plant

__all__ = ['make_plant']
