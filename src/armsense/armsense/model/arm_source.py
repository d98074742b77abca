"""The file of an arm, kept in what is made of it: later commands need not be told again."""

from __future__ import annotations

from dataclasses import dataclass
import hashlib
import logging
from pathlib import Path

from armsense.errors import ArmsenseError
from armsense.model.arm_config import ArmConfig

LOG = logging.getLogger('armsense')


@dataclass(frozen=True, kw_only=True)
class ArmSource:
    """Of an arm that no name stands for."""

    file: str      # absolute
    sha256: str

    @classmethod
    def of(cls, config: ArmConfig) -> ArmSource | None:
        """None: the arm is known by its name."""
        if config.file is None:
            return None
        return cls(file=str(config.file), sha256=_hash(config.file))

    def find(self, arm: str, beside: Path) -> str:
        """The file, where it was or beside what names it; a change of it is told."""
        for path in (Path(self.file), beside.parent / Path(self.file).name):
            if path.is_file():
                if _hash(path) != self.sha256:
                    LOG.warning('%s: %s has changed since %s was made', arm, path, beside.name)
                return str(path)
        raise ArmsenseError(f'{beside.name} is of the arm {arm!r} of {self.file}, which is not '
                            'there; put it beside, or name it with --arm')


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
