"""What a reaction tells the controller: the phase it is in, and what to follow."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from armsense.types import Flags, Reference


class Phase(str, Enum):
    """States of the machine."""

    TRACKING = 'tracking'
    REACTING = 'reacting'
    HOLDING = 'holding'
    VERIFYING = 'verifying'
    RESUMING = 'resuming'
    SAFE = 'safe'


class Directive(NamedTuple):
    """What the controller shall follow in this cycle."""

    phase: Phase
    reference: Reference | None = None   # instead of the trajectory
    anew: Flags | None = None            # joints whose reference begins anew now, (n,)
    law: str | None = None               # instead of the chosen law
    resume: bool = False                 # plan the rest of the trajectory now
    damping: bool = False                # safe state


TRACK = Directive(Phase.TRACKING)
SAFE = Directive(Phase.SAFE, damping=True)
