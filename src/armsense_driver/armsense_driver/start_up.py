"""From enable to ready: the boards align their motors, then the encoder index is searched."""

from __future__ import annotations

from collections.abc import Sequence
from math import tau
from typing import TYPE_CHECKING

from armsense_driver.command_guard import CommandGuard
from armsense_driver.faults import Fault, FaultKind
from armsense_driver.joint_map import JointCommand, JointMap
from armsense_driver.protocol import BoardState

if TYPE_CHECKING:
    from armsense_driver.arm_driver import DriverSettings


class StartUp:
    """Phases: aligning (all motors become ready), searching (index), rebasing, done."""

    def __init__(self, joint_map: JointMap, settings: DriverSettings) -> None:
        self._map = joint_map
        self._settings = settings
        self.begin()

    def begin(self) -> None:
        """Start over."""
        self._periods = 0
        self._phase = 'aligning'
        self._search_periods = 0
        self._compensated = False

    @property
    def rebasing(self) -> bool:
        """Position readings move their zero now; references must not be compared across it."""
        return self._phase in ('aligning', 'rebasing')

    def compensation(self, board: int) -> tuple[bool, bool]:
        """Index-offset compensation bits of a board."""
        return (self._compensated, self._compensated)

    def command(self, guard: CommandGuard, position: Sequence[float]) -> JointCommand:
        """What the motors do meanwhile: nothing, or a slow turn to find the index."""
        if self._phase != 'searching':
            return guard.limp(position)
        # One motor turn forwards, then two back: the index lies within the first turn either way.
        turn = tau / self._settings.start_speed / self._settings.period
        per_turn = turn / 20.0                      # at least one motor turn for any usual gear
        sign = 1.0 if self._search_periods < per_turn else -1.0
        speed = [sign * self._settings.start_speed] * self._map.n
        damping = guard.damping(position)
        return damping._replace(velocity=speed)

    def advance(self, states: Sequence[BoardState]) -> bool | Fault:
        """One period later: True when the arm is ready, a fault when it will not be."""
        self._periods += 1
        if self._periods * self._settings.period > self._settings.start_timeout:
            return self._timeout(states)
        if self._phase == 'aligning' and self._used(states, 'motor_ready'):
            self._phase = 'searching' if self._settings.index_search else 'done'
        elif self._phase == 'searching':
            self._search_periods += 1
            if self._used(states, 'index_detected'):
                self._compensated = True
                self._phase = 'rebasing'
        elif self._phase == 'rebasing':
            self._phase = 'settling'                # the jump arrives one transfer later
        elif self._phase == 'settling':
            self._phase = 'done'
        return self._phase == 'done'

    def _used(self, states: Sequence[BoardState], flag: str) -> bool:
        return not self._missing(states, flag)

    def _missing(self, states: Sequence[BoardState], flag: str) -> list[str]:
        return [self._map.joint_of(board, motor)
                for board, state in enumerate(states) for motor in (0, 1)
                if self._map.drives(board, motor) and not getattr(state.status, flag)[motor]]

    def _timeout(self, states: Sequence[BoardState]) -> Fault:
        if self._phase == 'aligning':
            missing = ', '.join(self._missing(states, 'motor_ready'))
            return Fault(FaultKind.ALIGNMENT, missing)
        return Fault(FaultKind.INDEX_NOT_FOUND, ', '.join(self._missing(states, 'index_detected')))
