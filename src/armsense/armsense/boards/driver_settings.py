"""Times and rules of the drivers."""

from __future__ import annotations

from dataclasses import dataclass

from armsense.schema import quantity


@dataclass(frozen=True, kw_only=True)
class ArbiterSettings:
    """Times of the arbiter [s]."""

    period: float = 0.001              # between two states, nominal
    command_timeout: float = quantity(
        0.02, unit='s', low=0.002, high=1.0, text='without a command before damping')
    command_age: float = quantity(
        0.02, unit='s', low=0.002, high=1.0,
        text='from a state to the arrival of the command that answers it, before damping')
    collision_answer: float = quantity(
        0.01, unit='s', low=0.001, high=1.0, text='for a controller to answer a collision')
    overspeed: float = 0.02            # too fast for so long; a knock alone is no fault
    brake_time: float = quantity(
        2.0, unit='s', low=0.0, high=5.0,
        text='longest braking when the node ends, before the motors are let go')


@dataclass(frozen=True, kw_only=True)
class DriverSettings(ArbiterSettings):
    """Times in seconds unless the name says otherwise."""

    board_timeout_ms: int = 50         # watchdog of the boards
    start_timeout: float = quantity(
        8.0, unit='s', low=0.5, high=60.0, text='for alignment and index search')
    index_search: bool = False
    start_speed: float = 0.3           # [rad/s] of the index search, joint side
