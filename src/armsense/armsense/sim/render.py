"""Pictures of a plant: frames, a strip of frames, a short film; no display is needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageDraw, ImageFont

from armsense.sim.mujoco_plant import MujocoPlant

Image8 = NDArray[np.uint8]

METRES_PER_NEWTON = 4e-3      # length of a contact arrow
SHORTEST, LONGEST = 0.10, 0.35   # [m] of an arrow
ARROW_COLOUR = np.array([0.90, 0.10, 0.15, 1.0], np.float32)


class Camera:
    """Draws a plant; one per thread, closed at the end (`with Camera(...) as camera`)."""

    def __init__(self, plant: MujocoPlant, *, width: int, height: int) -> None:
        """Look at the shoulder of a plant from where it fits a frame [pixels]."""
        self._plant = plant
        self._size = (height, width)
        self._view = mujoco.MjvCamera()
        self._view.azimuth, self._view.elevation = 160.0, -24.0   # [deg] from the front, downwards
        reach = _reach(plant)
        self._view.distance = 1.6 * reach
        self._view.lookat[:] = (0.25 * reach, 0.0, 0.15 * reach)
        self._model: mujoco.MjModel | None = None
        self._renderer: mujoco.Renderer | None = None

    def __enter__(self) -> Camera:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def frame(self, caption: str = '') -> Image8:
        """Picture of the plant now with arrows at its contacts, (height, width, 3)."""
        plant = self._plant
        if self._renderer is None or self._model is not plant.model:
            self.close()   # placing an obstacle compiles a new model
            self._renderer = mujoco.Renderer(plant.model, *self._size)
            self._model = plant.model
        self._renderer.update_scene(plant.data, self._view)
        for contact in plant.contact:
            _add_arrow(self._renderer.scene, contact.point, contact.force)
        picture = np.array(self._renderer.render())
        return _write_caption(picture, caption) if caption else picture


def save_strip(frames: Sequence[Image8], path: str | Path) -> Path:
    """Frames side by side as one PNG."""
    gap = np.full((frames[0].shape[0], 6, 3), 255, np.uint8)
    row: list[Image8] = []
    for frame in frames:
        row += [frame, gap]
    Image.fromarray(np.hstack(row[:-1])).save(path)
    return Path(path)


def save_gif(frames: Sequence[Image8], path: str | Path, frame_rate: float = 25.0) -> Path:
    """Frames as an endless GIF."""
    pictures = [Image.fromarray(frame).quantize(128) for frame in frames]
    pictures[0].save(path, save_all=True, append_images=pictures[1:], loop=0,
                     duration=round(1000.0 / frame_rate), optimize=True)
    return Path(path)


def _reach(plant: MujocoPlant) -> float:
    """Size of the arm [m]: the longest way along its bodies."""
    lengths = [float(np.linalg.norm(body.pos)) for body in plant.arm.spec.bodies
               if body.name not in plant.obstacles]
    return max(0.4, sum(lengths))


def _add_arrow(scene: mujoco.MjvScene, point: ArrayLike, force: ArrayLike) -> None:
    """Arrow from the contact along the force on the arm."""
    size = float(np.linalg.norm(force))
    if size <= 0.0 or scene.ngeom >= scene.maxgeom:
        return
    length = float(np.clip(METRES_PER_NEWTON * size, SHORTEST, LONGEST))
    start = np.asarray(point, float)
    head = start + length * np.asarray(force, float) / size
    geom = scene.geoms[scene.ngeom]
    mujoco.mjv_initGeom(geom, mujoco.mjtGeom.mjGEOM_ARROW, np.zeros(3), np.zeros(3),
                        np.eye(3).ravel(), ARROW_COLOUR)
    mujoco.mjv_connector(geom, mujoco.mjtGeom.mjGEOM_ARROW, 0.018, start, head)
    geom.emission = 0.4
    scene.ngeom += 1


def _write_caption(picture: Image8, caption: str) -> Image8:
    image = Image.fromarray(picture)
    draw = ImageDraw.Draw(image, 'RGBA')
    font = ImageFont.load_default(max(12, picture.shape[0] // 28))
    left, top, right, bottom = draw.textbbox((14, 12), caption, font=font)
    frame = (left - 8, top - 6, right + 8, bottom + 6)
    draw.rounded_rectangle(frame, 6, fill=(255, 255, 255, 200))
    draw.text((14, 12), caption, font=font, fill=(30, 34, 40, 255))
    return np.asarray(image.convert('RGB'))
