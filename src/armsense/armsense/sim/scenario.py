"""What happens to a simulated arm, and when: obstacles, pushes, payloads, board faults.

A scenario is a yaml file with a list of events in virtual time, so that a lock-step run with the
same seed is the same run:

    events:
      - {time: 2.0, place: {name: wall, position: [0.5, 0.2, 0.3], radius: 0.05, stiffness: 2.0e4}}
      - {time: 2.5, move: {name: wall, position: [0.5, 0.3, 0.3]}}
      - {time: 3.0, remove: wall}
      - {time: 3.5, hand: {position: [0.4, 0.3, 0.4]}}
      - {time: 4.0, push: {link: link4, point: [0.05, 0, 0], force: [0, 0, -8], duration: 0.3}}
      - {time: 5.0, payload: {mass: 0.2}}
      - {time: 6.0, fault: {name: drop_burst, board: 1}}
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from armsense import schema
from armsense.boards.emulator.faults import Injection
from armsense.boards.emulator.rack import BoardRack
from armsense.errors import ArmsenseError
from armsense.schema import quantity
from armsense.sim.mujoco_plant import HAND, MujocoPlant

Vector = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class Place:
    """An obstacle: a sphere (radius) or a box (full sides)."""

    position: Vector                          # [m] world frame
    name: str = 'obstacle'
    radius: float | None = quantity(None, unit='m', above=0)
    box: Vector | None = None                 # [m]
    stiffness: float | None = quantity(None, unit='N/m', above=0)


@dataclass(frozen=True, kw_only=True)
class Hand:
    """A mass behind stiff skin, loosely held; see `MujocoPlant.place_hand`."""

    position: Vector                          # [m] world frame
    name: str = HAND
    mass: float = quantity(0.6, unit='kg', above=0)
    stiffness: float = quantity(75e3, unit='N/m', above=0)


@dataclass(frozen=True, kw_only=True)
class Move:
    """An obstacle or hand to another place."""

    name: str
    position: Vector                          # [m] world frame


@dataclass(frozen=True, kw_only=True)
class Push:
    link: str
    force: Vector                             # [N] world frame
    point: Vector = (0.0, 0.0, 0.0)           # [m] link frame
    duration: float = quantity(0.1, unit='s', above=0)


@dataclass(frozen=True, kw_only=True)
class Payload:
    mass: float = quantity(unit='kg', low=0)
    center: Vector = (0.0, 0.0, 0.0)          # [m] tool frame


@dataclass(frozen=True, kw_only=True)
class BoardFault:
    name: str
    board: int = quantity(0, low=0)
    duration: float = quantity(1e9, unit='s', above=0)


@dataclass(frozen=True, kw_only=True)
class Event:
    """One thing that happens; exactly one of the fields besides `time` is given."""

    time: float = quantity(unit='s', low=0)
    place: Place | None = None
    hand: Hand | None = None
    move: Move | None = None
    remove: str | None = None
    push: Push | None = None
    payload: Payload | None = None
    fault: BoardFault | None = None

    def __post_init__(self) -> None:
        kinds = [field.name for field in fields(self) if field.name != 'time']
        given = [name for name in kinds if getattr(self, name) is not None]
        if len(given) != 1:
            raise ArmsenseError(f'an event needs one of {", ".join(kinds)}; '
                                f'this one has {", ".join(given) or "none"}')


@dataclass(frozen=True, kw_only=True)
class Scenario:
    events: tuple[Event, ...] = ()

    @classmethod
    def read(cls, path: str | Path) -> Scenario:
        return schema.load(cls, schema.read_yaml(Path(path)), Path(path).name)


class Stage:
    """Plays a scenario on a plant and its boards."""

    def __init__(self, scenario: Scenario, plant: MujocoPlant, rack: BoardRack) -> None:
        self._events = sorted(scenario.events, key=lambda event: event.time)
        self._plant = plant
        self._rack = rack

    def advance(self, time: float) -> None:
        """Do what is due at virtual time [s]."""
        while self._events and self._events[0].time <= time:
            self.act(self._events.pop(0))

    def act(self, event: Event) -> None:
        """Let one event happen now; its fields are the arguments."""
        plant = self._plant
        if event.place is not None:
            plant.place_obstacle(**vars(event.place))
        elif event.hand is not None:
            plant.place_hand(**vars(event.hand))
        elif event.move is not None:
            plant.move_obstacle(**vars(event.move))
        elif event.remove is not None:
            plant.remove_obstacle(event.remove)
        elif event.push is not None:
            plant.apply_force(**vars(event.push))
        elif event.payload is not None:
            plant.set_payload(**vars(event.payload))
        elif event.fault is not None:
            fault = event.fault
            self._rack.inject(Injection(fault.name, fault.board, self._rack.time, fault.duration))
