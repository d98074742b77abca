"""Commands, residuals and a model of fixed runs: a move of code must not change a bit of them."""

from __future__ import annotations

from pathlib import Path
import tempfile

import numpy as np

from armsense.errors import ArmsenseError
from armsense.jobs.identify_job import run, Setup
from armsense.model import Arm
from armsense.share import arm_names
from armsense.sim.closed_loop import ClosedLoop
from armsense.trajectory import Limits, point_to_point
from armsense.types import Array
from armsense.watch.collision_monitor import CollisionMonitor
from bench.identify_bag import write_bag
from bench.papers.thesis_004_model import record

SECONDS = 2.0     # of each arm: it moves, is pushed at one half and reacts


def runs() -> dict[str, Array]:
    """Everything that is compared, by name."""
    found: dict[str, Array] = {}
    for name in arm_names():
        commands, residuals = _live(name)
        found[f'{name} commands'], found[f'{name} residuals'] = commands, residuals
    with tempfile.TemporaryDirectory() as folder:
        bag = write_bag(Path(folder, 'bag'), record(20.0).identification)
        out = Path(folder, 'model.yaml')
        run(Setup.of_arm('laas4'), [bag]).model_file().write(out)
        # Padding of messages is whatever memory held: the bag's hash differs from run to run.
        lines = [line for line in out.read_text().splitlines() if folder not in line
                 and 'sha256:' not in line and not line.strip().startswith('date:')]
        found['laas4 model.yaml'] = np.array(lines)
    return found


def _live(name: str) -> tuple[Array, Array]:
    model = Arm.load(name)
    arm = ClosedLoop(model, monitor=CollisionMonitor(model), seed=11)
    arm.run(0.2)
    here = arm.controller.reference.q
    try:
        arm.controller.follow(point_to_point(here, here + 0.15, Limits.of(model), model, 0.4))
    except ArmsenseError:
        arm.controller.follow(point_to_point(here, here - 0.15, Limits.of(model), model, 0.4))
    commands, residuals = [], []
    count = round(SECONDS / arm.dt)
    for k in range(count):
        if k == count // 2:
            arm.plant.apply_force(model.link_names[-1], [0.0] * 3, [8.0, 6.0, -9.0], 0.1)
        cycle = arm.step()
        if cycle.command is not None:
            commands.append(np.concatenate(cycle.command))
        if cycle.result is not None:
            residuals.append(cycle.result.filtered)
    return np.array(commands), np.array(residuals)


def differences(before: Path) -> list[str]:
    """Names of what is not the same bit for bit as in a file."""
    old, new = np.load(before), runs()
    return [f'{name}: {_first(old[name], new[name]) if name in old and name in new else "missing"}'
            for name in sorted({*old.files, *new}) if name not in old or name not in new
            or old[name].tobytes() != new[name].tobytes()]


def _first(old: Array, new: Array) -> str:
    if old.shape != new.shape:
        return f'{old.shape} became {new.shape}'
    where = tuple(int(i[0]) for i in np.nonzero(old != new))
    return f'{where}: {old[where]} became {new[where]}'
