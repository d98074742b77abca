"""The demo as a strip of pictures: the recorded joint angles, drawn by the simulator's camera."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from armsense.sim import make_plant
from armsense.sim.render import Camera, save_strip
from armsense_bringup.demo.report import Run
from armsense_bringup.demo.scenario import Demo, RADIUS, REMOVED

SIZE = (480, 400)    # [pixels] of one picture


def draw_strip(demo: Demo, run: Run, path: Path) -> None:
    """Write the strip: before, at the contact, retracted, going on, pushed."""
    plant = make_plant(demo.arm)
    frames = []
    with Camera(plant, width=SIZE[0], height=SIZE[1]) as camera:
        for time, caption in _moments(run):
            present = time < REMOVED
            if present and 'obstacle' not in plant.obstacles:
                plant.reset(run.position[0])
                plant.place_obstacle('obstacle', demo.obstacle, radius=RADIUS)
            elif not present and 'obstacle' in plant.obstacles:
                plant.remove_obstacle('obstacle')
            sample = min(int(np.searchsorted(run.time, time)), len(run.time) - 1)
            plant.reset(run.position[sample])
            frames.append(camera.frame(caption))
    save_strip(frames, path)


def _moments(run: Run) -> list[tuple[float, str]]:
    hit, push = run.touches[0], run.touches[-1]
    delay = f'felt after {hit.delay * 1e3:.0f} ms' if hit.delay is not None else 'not felt'
    resumed = [t for t, phase in run.phases if phase == 'resuming' and t + 1.5 < push.begin]
    moments = [(hit.begin - 0.35, 'on its way'), (hit.begin - 0.002, f'contact, {delay}'),
               (hit.begin + 0.35, 'retracted')]
    if resumed:
        moments.append((resumed[-1] + 1.5, 'goes on'))
    return [*moments, (push.end, f'pushed with {push.peak:.0f} N, yields')]
