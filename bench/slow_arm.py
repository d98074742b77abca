"""laas4 at a tenth of its rate: its whole system runs for hours, or beside other work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import yaml

from armsense_bringup.launch.language import ParameterValue
from armsense_bringup.launch.plan import ProcessSpec

ROOT = Path(__file__).resolve().parents[1]
RATE = 100.0         # [Hz]
WATCHDOG = 250       # [ms] of the boards: a pause of the machine is no dead driver


def slow_arm(folder: Path) -> Path:
    """The arm file, with cells as slow and patient boards."""
    data = yaml.safe_load((ROOT / 'config' / 'arms' / 'laas4.yaml').read_text())
    data |= {'rate': RATE, 'urdf': str(ROOT / 'urdf' / data['urdf'])}
    data['boards']['timeout_ms'] = WATCHDOG
    data['load_cells']['rate'] = RATE
    path = folder / 'laas4.yaml'
    path.write_text(yaml.safe_dump(data))
    return path


def soft_gains(folder: Path) -> Path:
    """Gains that are stable at the lower rate, from a controller that bears pauses."""
    data = yaml.safe_load((ROOT / 'config' / 'controllers.yaml').read_text())
    data['laas4'] |= {'law': 'joint_impedance', 'max_gap': 1.0}
    path = folder / 'controllers.yaml'
    path.write_text(yaml.safe_dump(data))
    return path


def changed(spec: ProcessSpec, **parameters: ParameterValue) -> ProcessSpec:
    """The process with other parameters."""
    return replace(spec, parameters={**spec.parameters, **parameters})
