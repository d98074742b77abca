"""Files that a state passes on its way, seen by watching real calls."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import sys
import tempfile
from types import FrameType
from typing import Any

from armsense.jobs.identify_job import run, Setup
from armsense.model import Arm
from armsense.sim.closed_loop import ClosedLoop
from bench.identify_bag import write_bag
from bench.papers.thesis_004_model import record

CYCLES = 50     # after the first ones, which also make laws and tables
SECONDS = 20.0  # of the recorded motion


def files_of(run: Callable[[], Any], source: Path) -> set[str]:
    """Product files in which something was called during `run`, package relative."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == 'call':
            seen.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    files = {Path(name).resolve() for name in seen}   # a built workspace holds links
    return {str(file.relative_to(source)) for file in files if file.is_relative_to(source)}


def state_path(source: Path) -> set[str]:
    """From the bytes of a board to the command that answers them, plant and emulator left out."""
    arm = ClosedLoop(Arm.load('laas4'))
    arm.run(0.2)
    found = files_of(lambda: arm.run(CYCLES * arm.dt), source)
    return {name for name in found if 'emulator' not in name and 'armsense/sim' not in name}


def bag_path(source: Path) -> set[str]:
    """From a bag of motor states to the model that the nodes read."""
    with tempfile.TemporaryDirectory() as folder:
        bag = write_bag(Path(folder, 'bag'), record(SECONDS).identification)
        setup = Setup.of_arm('laas4')
        out = Path(folder, 'model.yaml')
        return files_of(lambda: run(setup, [bag]).model_file().write(out), source)
