"""How the firmwares differ in start-up, watchdog and recovery."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from armsense.boards.protocol.errors import UnknownProtocol


class WatchdogArming(Enum):
    """When a silent host becomes an error."""

    MOTOR_DRIVEN = 'motor on and iq != 0'
    ALWAYS = 'timeout != 0, any state'


class Recovery(Enum):
    """What clears an error."""

    POWER_CYCLE = 'power-cycle'
    ENABLE_SEQUENCE = 'system enable, iq 0, enable motors'


@dataclass(frozen=True)
class BoardProfile:
    """Behaviour of one firmware, apart from its wire format."""

    name: str                                # protocol name
    watchdog: WatchdogArming
    recovery: Recovery
    blank_until_command: bool = False        # answers zeros until the first valid command
    alignment_duration: float = 3.0          # [s]
    alignment_motion: bool = True            # turn the rotor and check it, or only wait
    clock_wrap_us: int = 2**30               # [us] the clock behind the timestamp restarts here:
    #                                          1073.74 s, not a multiple of the 65.536 s wrap
    status_period: float = 1.0               # [s] CAN status message
    stream_period: float = 1e-3              # [s] CAN streams


PROFILES = {
    profile.name: profile for profile in (
        BoardProfile('udriver_spi', WatchdogArming.MOTOR_DRIVEN, Recovery.POWER_CYCLE),
        BoardProfile('udriver_can', WatchdogArming.MOTOR_DRIVEN, Recovery.ENABLE_SEQUENCE),
        BoardProfile('uomodri', WatchdogArming.ALWAYS, Recovery.POWER_CYCLE,
                     blank_until_command=True),
        BoardProfile('laas_inhouse', WatchdogArming.ALWAYS, Recovery.POWER_CYCLE,
                     blank_until_command=True),
    )}


def profile_by_name(name: str, **changes: Any) -> BoardProfile:
    """The profile called `name` with some fields changed, e.g. a shorter alignment.

    Raises:
        UnknownProtocol: names the valid ones.
    """
    try:
        profile = PROFILES[name]
    except KeyError:
        raise UnknownProtocol(name, PROFILES) from None
    return replace(profile, **changes) if changes else profile
