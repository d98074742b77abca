"""A MuJoCo arm behind emulated motor boards and load cells."""

import os

# MuJoCo chooses its graphics when it is first imported; pictures are made without a display.
os.environ.setdefault('MUJOCO_GL', 'egl')

from armsense.sim.hunt_crossley import HuntCrossley
from armsense.sim.mujoco_plant import make_plant, MujocoPlant
from armsense.sim.plant import Contact, Plant, PlantState

__all__ = ['Contact', 'HuntCrossley', 'MujocoPlant', 'Plant', 'PlantState', 'make_plant']
