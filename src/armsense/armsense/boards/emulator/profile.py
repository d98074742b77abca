"""How the firmwares differ in start-up, watchdog and recovery."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from armsense.boards.protocol.messages import UnknownProtocol


@dataclass(frozen=True)
class BoardProfile:
    """Behaviour of one firmware, apart from its wire format."""

    name: str                                # protocol name
    watchdog_always: bool = False            # else only while a motor is on with iq != 0
    recovers_by_enable: bool = False         # system enable, iq 0, motors; else a power-cycle
    blank_until_command: bool = False        # answers zeros until the first valid command
    alignment_duration: float = 3.0          # [s]
    alignment_motion: bool = True            # turn the rotor and check it, or only wait
    clock_wrap_us: int = 2**30               # [us] the clock behind the timestamp restarts here:
    #                                          1073.74 s, not a multiple of the 65.536 s wrap
    status_period: float = 1.0               # [s] CAN status message
    stream_period: float = 1e-3              # [s] CAN streams


PROFILES = {
    profile.name: profile for profile in (
        BoardProfile('udriver_spi'),
        BoardProfile('udriver_can', recovers_by_enable=True),
        BoardProfile('uomodri', watchdog_always=True, blank_until_command=True),
        BoardProfile('laas_inhouse', watchdog_always=True, blank_until_command=True),
    )}


def profile_by_name(name: str, **changes: Any) -> BoardProfile:
    """The profile called `name` with some fields changed, e.g. a shorter alignment.

    Raises:
        UnknownProtocol: names the valid ones.
    """
    if name not in PROFILES:
        raise UnknownProtocol(name, PROFILES)
    return replace(PROFILES[name], **changes)
