"""The demo in one figure, as a strip of pictures by the simulator's camera, and as a film."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
import matplotlib.pyplot as plt
import numpy as np

from armsense.types import Array
from armsense_bringup.demo.report import Run
from armsense_bringup.demo.run import Demo, REMOVED

matplotlib.use('Agg')

COLOURS = ('#1f77b4', '#ff7f0e', '#2ca02c', '#9467bd', '#8c564b', '#e377c2', '#7f7f7f')
PHASE_COLOURS = {'reacting': '#d62728', 'holding': '#ff9896', 'verifying': '#ffbb78',
                 'resuming': '#c7c7f5'}
ZOOM = (0.05, 0.12)   # [s] before and after the first contact
SIZE = (480, 400)     # [pixels] of one picture of the strip
FILM_SIZE, FILM_RATE = (400, 320), 12.5   # [pixels], [1/s]


def draw(with_reaction: Run, without: Run, joints: Sequence[str], path: Path) -> None:
    """Write the figure of both runs, a PNG file."""
    figure, axes = plt.subplots(3, 1, figsize=(9.0, 8.2), height_ratios=(1.0, 1.0, 1.1),
                                constrained_layout=True)
    run = with_reaction
    _positions(axes[0], run, joints)
    _residuals(axes[1], run, joints)
    for axis in axes[:2]:
        _phases(axis, run)
        axis.set_xlim(-0.5, run.time[-1])
        for touch in run.touches:
            axis.axvline(touch.begin, color='black', lw=0.8, ls=':')
    axes[1].set_xlabel('time [s]')
    if with_reaction.touches and without.touches:
        _forces(axes[2], with_reaction, without)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _positions(axis: Axes, run: Run, joints: Sequence[str]) -> None:
    for k, name in enumerate(joints):
        axis.plot(run.time[::10], run.position[::10, k], color=COLOURS[k], label=name)
    axis.set_ylabel('joint angle [rad]')
    # Between the joints that stand up and those that hang: no curve lies there in the demos.
    axis.legend(loc='center right', bbox_to_anchor=(1.0, 0.33), ncols=len(joints), fontsize=8)
    axis.set_title('The arm swings against an obstacle, retracts, goes on, and is pushed at rest',
                   fontsize=10, loc='left')


def _residuals(axis: Axes, run: Run, joints: Sequence[str]) -> None:
    share = run.residual / run.threshold
    for k, _ in enumerate(joints):
        axis.plot(run.residual_time, share[:, k], color=COLOURS[k], lw=1.0)
    for sign in (-1, 1):
        axis.axhline(sign, color='black', lw=0.8, ls='--')
    for touch in run.touches:
        if touch.felt is not None:
            axis.plot(touch.felt, 0.0, marker='v', color='#d62728', ms=7, clip_on=False)
    axis.set_ylim(-3.0, 3.0)
    axis.set_ylabel('residual / threshold')
    axis.text(0.005, 0.97, 'dashed: threshold; triangle: collision reported; dotted: true contact',
              transform=axis.transAxes, va='top', fontsize=8)


def _phases(axis: Axes, run: Run) -> None:
    ends = [t for t, _ in run.phases[1:]] + [float(run.time[-1])]
    for (begin, phase), end in zip(run.phases, ends, strict=True):
        if phase in PHASE_COLOURS:
            axis.axvspan(begin, end, color=PHASE_COLOURS[phase], alpha=0.25, lw=0)
            if end - begin > 0.5:
                axis.text((begin + end) / 2, 0.03, phase, ha='center', fontsize=7,
                          transform=axis.get_xaxis_transform())


def _force_of_states(run: Run) -> Array:
    """Contact force at every state [N], (N,); it is recorded during contacts only."""
    force = np.zeros(len(run.time))
    half = 0.5 * (run.time[1] - run.time[0])
    state = np.searchsorted(run.time, run.contact_time - half)
    recorded = state < len(force)
    force[state[recorded]] = run.contact_force[recorded]
    return force


def _forces(axis: Axes, run: Run, without: Run) -> None:
    touch = run.touches[0]
    for data, colour, text in ((without, '#7f7f7f', 'no reaction'),
                               (run, '#d62728', 'with reaction')):
        begin = data.touches[0].begin
        near = np.abs(data.time - begin) < 1.0
        axis.plot((data.time[near] - begin) * 1e3, _force_of_states(data)[near],
                  color=colour, label=f'{text}: peak {data.touches[0].peak:.0f} N')
    if touch.delay is not None:
        axis.axvline(touch.delay * 1e3, color='#d62728', ls=':', lw=1.2)
        axis.text(touch.delay * 1e3 + 1.0, axis.get_ylim()[1] * 0.9,
                  f'felt after {touch.delay * 1e3:.0f} ms', color='#d62728', fontsize=9)
    axis.set_xlim(-ZOOM[0] * 1e3, ZOOM[1] * 1e3)
    axis.set_ylim(bottom=0.0)
    axis.set_xlabel('time since the first contact [ms]')
    axis.set_ylabel('contact force [N]')
    axis.legend(fontsize=9)


def draw_strip(demo: Demo, run: Run, path: Path) -> None:
    """Write the strip of recorded angles: before, at the contact, retracted, going on, pushed."""
    from armsense.sim.render import save_strip  # needs a graphics library
    save_strip(_pictures(demo, run, _moments(run), SIZE), path)


def draw_film(demo: Demo, run: Run, path: Path) -> None:
    """Write an endless GIF of the whole run, in which words stay until the next ones."""
    from armsense.sim.render import save_gif  # needs a graphics library
    words = [(run.time[0], ''), *_moments(run)]
    times = np.arange(max(run.time[0], -0.3), run.time[-1], 1.0 / FILM_RATE)
    said = [next(text for begin, text in reversed(words) if begin <= time + 1e-9)
            for time in times]
    save_gif(_pictures(demo, run, list(zip(times, said, strict=True)), FILM_SIZE), path,
             FILM_RATE)


def _pictures(demo: Demo, run: Run, moments: Sequence[tuple[float, str]],
              size: tuple[int, int]) -> list[np.ndarray]:
    """The arm and the obstacle at some times, with captions."""
    from armsense.sim import make_plant
    from armsense.sim.render import Camera
    plant = make_plant(demo.arm)
    frames = []
    with Camera(plant, width=size[0], height=size[1]) as camera:
        for time, caption in moments:
            present = time < REMOVED
            if present and 'obstacle' not in plant.obstacles:
                plant.reset(run.position[0])
                plant.place_obstacle('obstacle', demo.obstacle, radius=demo.radius)
            elif not present and 'obstacle' in plant.obstacles:
                plant.remove_obstacle('obstacle')
            sample = min(int(np.searchsorted(run.time, time)), len(run.time) - 1)
            plant.reset(run.position[sample])
            frames.append(camera.frame(caption))
    return frames


def _moments(run: Run) -> list[tuple[float, str]]:
    hit, push = run.touches[0], run.touches[-1]
    delay = f'felt after {hit.delay * 1e3:.0f} ms' if hit.delay is not None else 'not felt'
    resumed = [t for t, phase in run.phases if phase == 'resuming' and t + 1.5 < push.begin]
    moments = [(hit.begin - 0.35, 'on its way'), (hit.begin - 0.002, f'contact, {delay}'),
               (hit.begin + 0.35, 'retracted')]
    if resumed:
        moments.append((resumed[-1] + 1.5, 'goes on'))
    return [*moments, (push.end, f'pushed with {push.peak:.0f} N, yields')]
