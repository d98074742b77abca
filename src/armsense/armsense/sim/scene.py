"""Floor, pedestal, light, joints to look at; nothing here takes part in the physics."""

from collections.abc import Iterable, Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

FLOOR = 0.7      # [m] from the base to the floor
SKY, HORIZON = (0.96, 0.97, 0.99), (0.76, 0.82, 0.90)
TILE, GROUT = (0.80, 0.83, 0.87), (0.74, 0.77, 0.82)
DARK = (0.22, 0.24, 0.27, 1.0)


def decorate(spec: mujoco.MjSpec, gravity: Sequence[float], joints: Iterable[str]) -> None:
    """Add the surroundings and a knuckle at some joints; the floor is where gravity points to."""
    _materials(spec)
    down = -1.0 if gravity[2] <= 0.0 else 1.0
    turn = (1.0, 0.0, 0.0, 0.0) if down < 0 else (0.0, 1.0, 0.0, 0.0)
    world = spec.worldbody
    world.add_geom(name='floor', type=mujoco.mjtGeom.mjGEOM_PLANE, size=(0.0, 0.0, 0.05),
                   pos=(0.0, 0.0, down * FLOOR), quat=turn, material='floor',
                   contype=0, conaffinity=0)
    world.add_geom(name='pedestal', type=mujoco.mjtGeom.mjGEOM_CYLINDER,
                   size=(0.06, 0.5 * (FLOOR - 0.04), 0.0), rgba=(0.45, 0.48, 0.52, 1.0),
                   pos=(0.0, 0.0, down * 0.5 * (FLOOR + 0.04)), contype=0, conaffinity=0)
    world.add_light(type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, pos=(1.0, -1.5, 3.0),
                    dir=(-0.35, 0.5, -1.0), diffuse=(0.50, 0.50, 0.50), castshadow=True)
    size = 0.035 * max(0.5, sum(float(np.linalg.norm(body.pos)) for body in spec.bodies))   # [m]
    for name in joints:
        _add_knuckle(spec.joint(name), size)
    spec.visual.global_.offwidth, spec.visual.global_.offheight = 1920, 1080
    spec.visual.headlight.ambient = (0.30, 0.30, 0.30)
    spec.visual.headlight.diffuse = (0.30, 0.30, 0.30)
    spec.visual.headlight.specular = (0.1, 0.1, 0.1)
    spec.visual.quality.shadowsize = 4096
    spec.visual.quality.offsamples = 8


def _materials(spec: mujoco.MjSpec) -> None:
    spec.add_texture(name='sky', type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, width=256, height=256,
                     builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT, rgb1=SKY, rgb2=HORIZON)
    spec.add_texture(name='tiles', type=mujoco.mjtTexture.mjTEXTURE_2D, width=256, height=256,
                     builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER, rgb1=TILE, rgb2=GROUT)
    textures = [''] * int(mujoco.mjtTextureRole.mjNTEXROLE)
    textures[int(mujoco.mjtTextureRole.mjTEXROLE_RGB)] = 'tiles'
    spec.add_material(name='floor', textures=textures, texrepeat=(2.0, 2.0), texuniform=True,
                      reflectance=0.0)


def _add_knuckle(joint: mujoco.MjsJoint, size: float) -> None:
    """A short cylinder about the axis of a joint, so that links do not float apart; radius [m]."""
    axis: NDArray[np.float64] = np.asarray(joint.axis) / np.linalg.norm(joint.axis)
    joint.parent.add_geom(type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=(size, 0.0, 0.0),
                          fromto=np.concatenate([-1.1 * size * axis, 1.1 * size * axis]),
                          rgba=DARK, contype=0, conaffinity=0)
