"""What one campaign is made of; small and picklable, so that any worker can prepare itself."""

from dataclasses import asdict, dataclass
from functools import lru_cache
import hashlib
import json
from pathlib import Path
from typing import NamedTuple

from armsense import schema
from armsense.detector import Thresholds
from armsense.model import Arm
from armsense.model.model_file import file_hash, ModelFile
from armsense.observer import OBSERVERS
from armsense.sim.campaign.collision import CaseMaker
from armsense.sim.campaign.individual import Individual, Variation
from armsense.watch.collision_monitor import DetectionConfig

FORMAT = 6   # of the cached results; another one makes them void


@dataclass(frozen=True, kw_only=True)
class Setup:
    """Everything the results depend on, but for the number of collisions and hours."""

    arm: str
    model_file: str = ''                    # of all arms; '': each is identified
    detection: str = ''                     # yaml of observers; '': config/detection.yaml
    variation: Variation = Variation()
    observers: tuple[str, ...] = tuple(OBSERVERS)
    seed: int = 1
    rate_per_hour: float = 0.5              # [1/h] false alarms that thresholds are made for
    confidence: float = 0.9                 # that they are not exceeded
    arms: int = 2                           # of the series, each with model and thresholds
    calibration_minutes: float = 10.0       # [min] of free motion of each arm behind them

    @property
    def key(self) -> str:
        """Changes with everything that changes results."""
        content = asdict(self)
        config = schema.dump(worker(self).config)
        # All observers run, with thresholds of their own: which one is configured changes nothing.
        content['config'] = {k: v for k, v in config.items() if k not in ('observer', 'threshold')}
        content['format'] = FORMAT
        if self.model_file:
            content['model_file'] = file_hash(Path(self.model_file))
        text = json.dumps(content, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


class Known(NamedTuple):
    """What is known about the arms of a series; plain data for any process."""

    models: tuple[str, ...] = ()                        # model files as JSON, by arm
    limits: dict[tuple[str, int], Thresholds] = {}      # by observer and arm


class Worker:
    """The arm as its files have it, prepared once per process."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.nominal = Arm.load(setup.arm)
        self.config = DetectionConfig.of(self.nominal, setup.detection or None)
        self.maker = CaseMaker(self.nominal)

    def model(self, known: Known, arm: int) -> Arm:
        """What controller and observer believe of an arm; before it is identified, its files."""
        if self.setup.model_file:
            return Arm.load(self.setup.arm, self.setup.model_file)
        return _identified(self.setup, known.models[arm]) if known.models else self.nominal

    def individual(self, known: Known, arm: int, seed: int) -> Individual:
        """An arm of the series."""
        return Individual(self.model(known, arm), self.setup.variation, seed, self.nominal.config)


@lru_cache(maxsize=4)
def worker(setup: Setup) -> Worker:
    """The worker of this process."""
    return Worker(setup)


@lru_cache(maxsize=16)
def _identified(setup: Setup, text: str) -> Arm:
    file = schema.load(ModelFile, json.loads(text), 'identified model')
    return file.apply(worker(setup).nominal)
