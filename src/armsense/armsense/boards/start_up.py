"""From enable to ready: the boards align their motors, then the encoder index is searched.

Search. Every joint turns slowly by 1.1 motor turns forwards and then as far to the other side of
where it began: a pulse that is there lies within. It turns round where a limit is near, and stands
still as soon as its pulse was met.
"""

from __future__ import annotations

from collections.abc import Sequence

from armsense.boards.command_guard import CommandGuard
from armsense.boards.driver_settings import DriverSettings
from armsense.boards.faults import Fault, FaultKind
from armsense.boards.joint_map import JointMap
from armsense.boards.protocol import BoardState
from armsense.types import Command, Floats

TURNS = 1.1          # motor turns to either side in which an index is searched
CLEARANCE = 0.02     # [rad] from a joint limit at which a search turns round


class StartUp:
    """Phases: aligning (all motors become ready), searching (index), rebasing, done."""

    def __init__(self, joint_map: JointMap, guard: CommandGuard, settings: DriverSettings) -> None:
        self._map = joint_map
        self._guard = guard
        self._settings = settings
        self.begin(0)

    def begin(self, now: int) -> None:
        """Start over, at this monotonic time [ns]."""
        self._begun = now
        self._phase = 'aligning'
        self._origin: Sequence[float] = []              # [rad] where the search began, (n,)
        self._direction = [0.0] * self._map.n           # of the search; 0: the index was met
        self._compensated = False

    @property
    def rebasing(self) -> bool:
        """Position readings move their zero now; references must not be compared across it."""
        return self._phase in ('aligning', 'rebasing', 'settling')

    def compensation(self, board: int) -> tuple[bool, bool]:
        """Index-offset compensation bits of a board."""
        return (self._compensated, self._compensated)

    def command(self, position: Sequence[float], velocity: Sequence[float]) -> Command[Floats]:
        """What the motors do meanwhile: nothing, or a slow turn to find the index."""
        if self._phase != 'searching':
            return self._guard.no_torque(position)
        speed = [self._settings.start_speed * direction for direction in self._direction]
        command = self._guard.damping(position)._replace(velocity=speed)
        return self._guard.limited(command, position, velocity)

    def advance(self, states: Sequence[BoardState], position: Sequence[float],
                now: int) -> bool | Fault:
        """One period later: True when the arm is ready, a fault when it will not be.

        Args:
            states: Of every board.
            position: Of the joints [rad], (n,).
            now: Monotonic time [ns].
        """
        if (now - self._begun) * 1e-9 > self._settings.start_timeout:
            return self._timeout(states)
        if self._phase == 'aligning' and not self._missing(states, 'motor_ready'):
            self._phase = 'searching' if self._settings.index_search else 'done'
            self._origin = position
            self._direction = [1.0] * self._map.n
        elif self._phase == 'searching':
            return self._search(states, position)
        elif self._phase == 'rebasing':
            self._phase = 'settling'                # the jump arrives one transfer later
        elif self._phase == 'settling':
            self._phase = 'done'
        return self._phase == 'done'

    def _search(self, states: Sequence[BoardState], position: Sequence[float]) -> bool | Fault:
        lower, upper = self._guard.limits.lower, self._guard.limits.upper
        for k, met in enumerate(self._flags(states, 'index_detected')):
            turned = (position[k] - self._origin[k]) / self._map.turns[k]
            if met:
                self._direction[k] = 0.0
            elif turned <= -TURNS or (self._direction[k] < 0.0
                                      and position[k] < lower[k] + CLEARANCE):
                return Fault(FaultKind.INDEX_NOT_FOUND, self._map.joint_names[k])
            elif turned >= TURNS or position[k] > upper[k] - CLEARANCE:
                self._direction[k] = -1.0
        if not any(self._direction):
            self._compensated = True
            self._phase = 'rebasing'
        return False

    def _flags(self, states: Sequence[BoardState], flag: str) -> list[bool]:
        """A flag of the boards' status by joint."""
        return [getattr(states[board].status, flag)[motor] for board, motor in self._map.slots]

    def _missing(self, states: Sequence[BoardState], flag: str) -> list[str]:
        return [name for name, there in zip(self._map.joint_names, self._flags(states, flag),
                                            strict=True) if not there]

    def _timeout(self, states: Sequence[BoardState]) -> Fault:
        if self._phase == 'aligning':
            missing = ', '.join(self._missing(states, 'motor_ready'))
            return Fault(FaultKind.ALIGNMENT, missing)
        return Fault(FaultKind.INDEX_NOT_FOUND, ', '.join(self._missing(states, 'index_detected')))
