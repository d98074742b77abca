"""What an excitation run writes about itself into its bag, beside the messages.

It stands in the `custom_data` of the bag's metadata.yaml, where rosbag2 keeps such things.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
import hashlib
import os
from pathlib import Path
from typing import Any

import yaml

from armsense.model import ArmModel

METADATA = 'metadata.yaml'
INFORMATION = 'rosbag2_bagfile_information'


@dataclass(frozen=True, kw_only=True)
class BagFacts:
    """All as text, as rosbag2 wants it."""

    arm: str = ''
    model_sha256: str = ''     # of description, configuration and parameters that drove the arm
    motion: str = ''           # file of the motion
    motion_sha256: str = ''
    motion_start: str = ''     # stamp at which it began [s]
    motion_end: str = ''       # and ended
    periods: str = ''
    date: str = ''
    checks: str = ''           # what the checks of the recording said

    @classmethod
    def read(cls, bag: Path) -> BagFacts | None:
        """None where the bag tells nothing about itself."""
        try:
            data = yaml.safe_load((bag / METADATA).read_text())
            custom = data[INFORMATION]['custom_data'] or {}
        except (OSError, yaml.YAMLError, KeyError, TypeError):
            return None
        known = {key: str(value) for key, value in custom.items()
                 if key in cls.__dataclass_fields__}
        return cls(**known) if known else None

    def window(self) -> tuple[float, float] | None:
        """Stamps between which the motion lies [s]; None: unknown."""
        try:
            return float(self.motion_start), float(self.motion_end)
        except ValueError:
            return None

    def write(self, bag: Path) -> None:
        """Add to the metadata of a finished bag."""
        path = bag / METADATA
        data: dict[str, Any] = yaml.safe_load(path.read_text())
        custom = data[INFORMATION].get('custom_data') or {}
        data[INFORMATION]['custom_data'] = custom | {k: v for k, v in asdict(self).items() if v}
        temporary = path.with_suffix('.tmp')
        temporary.write_text(yaml.safe_dump(data, sort_keys=False))
        os.replace(temporary, path)


def model_hash(model: ArmModel) -> str:
    """SHA-256 of everything that makes a model: description, configuration, parameters."""
    digest = hashlib.sha256()
    digest.update(model.urdf.encode())
    digest.update(repr(model.config).encode())
    digest.update(model.parameters.tobytes())
    return digest.hexdigest()
