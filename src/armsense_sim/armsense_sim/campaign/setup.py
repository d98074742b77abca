"""What one campaign is made of; small and picklable, so that any worker can prepare itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
import hashlib
import json
from pathlib import Path

from armsense_core import schema
from armsense_core.collision_monitor import CollisionMonitor, DetectionConfig
from armsense_core.detector import Thresholds
from armsense_core.model import ArmModel
from armsense_core.model.model_file import file_hash
from armsense_core.observer import OBSERVERS
from armsense_sim.campaign.case import CaseMaker
from armsense_sim.campaign.individual import Variation

FORMAT = 2   # of the cached results; another one makes them void


@dataclass(frozen=True, kw_only=True)
class Setup:
    """Everything the results depend on, but for thresholds and the number of collisions."""

    arm: str
    model_file: str = ''                    # identified model; '': the arm's own files
    detection: str = ''                     # yaml of observers; '': config/detection.yaml
    variation: Variation = Variation()
    observers: tuple[str, ...] = OBSERVERS
    seed: int = 1
    rate_per_hour: float = 0.1              # [1/h] false alarms that thresholds are made for
    confidence: float = 0.5                 # best estimate: bounds of short recordings are wide
    arms: int = 2                           # of the series, each with thresholds of its own
    calibration_minutes: float = 6.0        # [min] of free motion of each arm behind them

    @property
    def key(self) -> str:
        """Changes with everything that changes results."""
        content = asdict(self)
        content['config'] = schema.dump(worker(self).config)
        content['format'] = FORMAT
        if self.model_file:
            content['model_file'] = file_hash(Path(self.model_file))
        text = json.dumps(content, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


class Worker:
    """An arm prepared for simulation, once per process."""

    def __init__(self, setup: Setup) -> None:
        self.model = ArmModel.load(setup.arm, setup.model_file or None)
        self.config = DetectionConfig.of(self.model, setup.detection or None)
        self.maker = CaseMaker(self.model)

    def monitor(self, observer: str, thresholds: Thresholds) -> CollisionMonitor:
        """A new monitor; observers differ in nothing but themselves and their thresholds."""
        return CollisionMonitor(self.model, self.config, thresholds, observer)


@lru_cache(maxsize=4)
def worker(setup: Setup) -> Worker:
    """The worker of this process."""
    return Worker(setup)
