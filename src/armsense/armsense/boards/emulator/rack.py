"""All boards of one arm with the fault schedule: what a simulator owns and steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from itertools import count
from math import inf
from random import Random
from typing import Any, NamedTuple

from armsense.boards.emulator.board import EmulatedBoard
from armsense.boards.emulator.can_board import EmulatedCanBoard
from armsense.boards.emulator.fault_actions import FaultAction
from armsense.boards.emulator.faults import check_fault, Fault, FAULTS, ON_RACK

_ROUNDING = 1e-9     # [s] a fault due at a step begins with it, however the sums round


class FaultEvent(NamedTuple):
    """A fault that began or ended."""

    time: float      # [s]
    fault: Fault
    active: bool


class BoardPort:
    """One board's place in the rack: what a loopback transport connects to."""

    def __init__(self, rack: BoardRack, number: int) -> None:
        self._rack = rack
        self._number = number

    def receive(self, frame: bytes) -> bytes:
        """Reply of whichever board hangs on this port."""
        return self._rack.receive(self._number, frame)


class BoardRack:
    """N boards of one kind, stepped together; motors 2 i and 2 i + 1 belong to board i."""

    def __init__(self, boards: Sequence[EmulatedBoard] | Sequence[EmulatedCanBoard],
                 faults: Iterable[Fault] = (), seed: int = 0) -> None:
        """Put boards into a rack.

        Args:
            boards: all SPI or all CAN.
            faults: the schedule.
            seed: of the fault injector.

        Raises:
            UnknownFault: a fault does not fit the boards.
        """
        self.boards = tuple(boards)
        self.time = 0.0                          # [s] emulated
        self.events: list[FaultEvent] = []       # everything the injector did
        # Time since the last step [s]. A real board samples when it is asked: where the wire has a
        # clock of its own, encoders turn on between two steps. None: they do not.
        self.lead: Callable[[], float] | None = None
        self._motors = [(board, slice(2 * k, 2 * k + 2)) for k, board in enumerate(boards)]
        self._seed = seed
        self._route = list(range(len(self.boards)))
        self._queue: list[tuple[float, int, Fault, FaultAction, bool]] = []
        self._order = count()
        self._next = inf                         # [s] time of the first queued event
        self._steps = 0
        self._dt = 0.0
        self._since = 0.0
        for fault in faults:
            self.inject(fault)

    def inject(self, fault: Fault) -> None:
        """Schedule a fault; one whose start has passed begins with the next step.

        Raises:
            UnknownFault: it does not fit the boards.
        """
        parameters = check_fault(fault, [board.bus for board in self.boards])
        random = Random(f'{self._seed}/{next(self._order)}/{fault.name}/{fault.board}')
        action = FAULTS[fault.name].make(parameters, random)
        self._push(fault.start, fault, action, True)

    def receive(self, board: int, frame: bytes) -> bytes:
        """Reply of the SPI board on port `board`; empty when it is lost."""
        answering = self.routed(board)
        if self.lead is not None:
            answering.lead = self.lead()
        reply: bytes = answering.receive(frame)
        return reply

    def routed(self, board: int) -> Any:
        """The board that hangs on port `board`."""
        return self.boards[self._route[board]]

    def port(self, board: int) -> BoardPort:
        """Frame handler of one port."""
        return BoardPort(self, board)

    def step(self, dt: float, shaft_position: Sequence[float],
             shaft_velocity: Sequence[float]) -> list[float]:
        """Advance all boards by `dt` [s].

        Args:
            dt: length of the plant's next step.
            shaft_position: absolute motor-shaft angles now [rad] (2 N,); plain floats are
                several times as fast as those of numpy.
            shaft_velocity: their velocities [rad/s] (2 N,).

        Returns:
            Mean motor-shaft torques over the next `dt` [Nm] (2 N,).
        """
        # A product instead of a sum: an hour of 1 ms steps must not drift.
        if dt != self._dt:
            self._since, self._steps, self._dt = self.time, 0, dt
        self._steps += 1
        self.time = self._since + self._steps * dt
        if self.time + _ROUNDING >= self._next:
            self._run_events()
        torque: list[float] = []
        for board, pair in self._motors:
            torque += board.step(dt, shaft_position[pair], shaft_velocity[pair])
        return torque

    def power_cycle(self, board: int) -> None:
        """Take a board's power away and give it back."""
        self.boards[board].power_cycle()

    def swap(self, one: int, other: int) -> None:
        """Exchange the boards on two ports."""
        self._route[one], self._route[other] = self._route[other], self._route[one]

    @property
    def unsafe_frames(self) -> int:
        """Unsafe frames seen by all boards."""
        return sum(board.unsafe.total for board in self.boards)

    def _target(self, fault: Fault) -> Any:
        return self if fault.name in ON_RACK else self.boards[fault.board]

    def _push(self, time: float, fault: Fault, action: FaultAction, active: bool) -> None:
        heappush(self._queue, (time, next(self._order), fault, action, active))
        self._next = self._queue[0][0]

    def _run_events(self) -> None:
        while self._queue and self._queue[0][0] <= self.time + _ROUNDING:
            _, _, fault, action, active = heappop(self._queue)
            if active:
                action.start(self._target(fault))
                if fault.duration < inf:
                    self._push(self.time + fault.duration, fault, action, False)
            else:
                action.stop(self._target(fault))
            self.events.append(FaultEvent(self.time, fault, active))
        self._next = self._queue[0][0] if self._queue else inf
