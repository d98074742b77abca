"""How the simulation is, in plain words: whether it keeps up, what its boards complain of."""

from __future__ import annotations

from collections.abc import Sequence
import time
from typing import Any

from armsense_node.health import Health, Level

IN_TIME = 0.95   # of real time; a slower simulation is worth a warning


class SimulatorHealth:
    """Compares the simulated with the real time between two looks."""

    def __init__(self, boards: Sequence[Any], dt: float, lockstep: bool) -> None:
        """A step simulates `dt` [s]; in lock-step the driver advances the time."""
        self._boards, self._dt, self._lockstep = boards, dt, lockstep
        self._before: tuple[float, int] | None = None   # [s] wall clock, steps

    def look(self, steps: int, now: float | None = None) -> list[Health]:
        """Parts of the simulator after so many steps; `now` [s] is the monotonic clock."""
        now = time.monotonic() if now is None else now
        before, self._before = self._before, (now, steps)
        boards = [_board(number, board) for number, board in enumerate(self._boards)]
        if before is None or now <= before[0]:
            return boards
        speed = (steps - before[1]) * self._dt / (now - before[0])
        return [self._time(speed, {'simulated [s]': steps * self._dt, 'times real time': speed}),
                *boards]

    def _time(self, speed: float, values: dict[str, object]) -> Health:
        if self._lockstep:
            if speed == 0.0:
                return Health('time', 'stands still: no driver exchanges frames', Level.WARN,
                              values)
            return Health('time', f'lock-step, {speed:.2f} times real time', values=values)
        if speed < IN_TIME:
            return Health('time', f'only {100.0 * speed:.0f} % of real time: the machine is too '
                          'busy', Level.WARN, values)
        return Health('time', 'keeps up with real time', values=values)


def _board(number: int, board: Any) -> Health:
    values = {'unsafe frames': board.unsafe.total}
    if board.unsafe.total:
        return Health(f'emulated board {number}', f'{board.unsafe.total} unsafe frames, the last: '
                      f'{board.unsafe.last}', Level.ERROR, values)
    if board.error:
        return Health(f'emulated board {number}', f'tripped: {board.error.name.lower()}',
                      Level.WARN, values)
    return Health(f'emulated board {number}', 'well', values=values)
