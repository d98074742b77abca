"""All boards of one arm with the fault schedule: what a simulator owns and steps.

`ArmRack` is the plant's side of `joint_map`, written independently of it: an error in a sign or a
gear shows as a moving arm, not as two mistakes that cancel.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from heapq import heappop, heappush
from itertools import count
from math import floor, inf, tau
from operator import itemgetter, mul
from random import Random
from typing import Any, NamedTuple

from armsense.boards.emulator.board import EmulatedBoard
from armsense.boards.emulator.can_board import EmulatedCanBoard
from armsense.boards.emulator.core import profile_by_name
from armsense.boards.emulator.faults import check_fault, FAULTS, Injection, ON_RACK, Switch
from armsense.boards.emulator.motor import MotorPhysics
from armsense.model import ArmConfig, JointConfig

_ROUNDING = 1e-9     # [s] a fault due at a step begins with it, however the sums round


class FaultEvent(NamedTuple):
    """A fault that began or ended."""

    time: float      # [s]
    fault: Injection
    active: bool


class BoardRack:
    """N boards of one kind, stepped together; motors 2 i and 2 i + 1 belong to board i."""

    def __init__(self, boards: Sequence[EmulatedBoard] | Sequence[EmulatedCanBoard],
                 faults: Iterable[Injection] = (), seed: int = 0) -> None:
        """Put boards, all SPI or all CAN, into a rack; `seed` is of the fault injector."""
        self.boards = tuple(boards)
        self.time = 0.0                          # [s] emulated
        self.events: list[FaultEvent] = []       # everything the injector did
        # Time since the last step [s]. A real board samples when it is asked: where the wire has a
        # clock of its own, encoders turn on between two steps. None: they do not.
        self.lead: Callable[[], float] | None = None
        self._motors = [(board, slice(2 * k, 2 * k + 2)) for k, board in enumerate(boards)]
        self._seed = seed
        self._route = list(range(len(self.boards)))
        self._queue: list[tuple[float, int, Injection, Switch, bool]] = []
        self._order = count()
        self._next = inf                         # [s] time of the first queued event
        self._steps = 0
        self._dt = 0.0
        self._since = 0.0
        for fault in faults:
            self.inject(fault)

    def inject(self, fault: Injection) -> None:
        """Schedule a fault; one whose start has passed begins with the next step."""
        parameters = check_fault(fault, [board.bus for board in self.boards])
        random = Random(f'{self._seed}/{next(self._order)}/{fault.name}/{fault.board}')
        self._push(fault.start, fault, FAULTS[fault.name].make(parameters, random), True)

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

    def port(self, board: int) -> Callable[[bytes], bytes]:
        """Answers frames as whichever board hangs on this port: for a loopback transport."""
        return partial(self.receive, board)

    def step(self, dt: float, shaft_position: Sequence[float],
             shaft_velocity: Sequence[float]) -> list[float]:
        """Mean torques of the motor shafts over the next `dt` [s]: [Nm], (2 N,).

        Absolute angles [rad] and velocities [rad/s] of the shafts now, (2 N,); plain floats are
        several times as fast as those of numpy.
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

    def _push(self, time: float, fault: Injection, switch: Switch, active: bool) -> None:
        heappush(self._queue, (time, next(self._order), fault, switch, active))
        self._next = self._queue[0][0]

    def _run_events(self) -> None:
        while self._queue and self._queue[0][0] <= self.time + _ROUNDING:
            _, _, fault, switch, active = heappop(self._queue)
            switch(self if fault.name in ON_RACK else self.boards[fault.board], active)
            if active and fault.duration < inf:
                self._push(self.time + fault.duration, fault, switch, False)
            self.events.append(FaultEvent(self.time, fault, active))
        self._next = self._queue[0][0] if self._queue else inf


_UNUSED = MotorPhysics(current_noise=0.0)
_RESISTANCE = 0.1     # [ohm] of a motor whose arm file states none; assumed


class _Input(NamedTuple):
    """An auxiliary input of a board with a link's sensor on it."""

    joint: int
    adc: list[int]    # inputs of the board
    number: int       # 0 or 1
    scale: float      # of an encoder [counts/turn], of a gauge [strain/count]


class ArmRack:
    """The emulated boards of a whole arm: joints on one side, frames on the other."""

    def __init__(self, config: ArmConfig, bus: str = 'spi', *, seed: int = 0,
                 alignment: float = 3.0, noise: bool = True, faults: Iterable[Injection] = (),
                 limits: tuple[Sequence[float], Sequence[float]] | None = None) -> None:
        """Make the boards that the arm file names, on the bus 'spi' or 'can'.

        Motors align for `alignment` [s] after the first enable; without noise current sensors are
        ideal. Joint limits (lower, upper) [rad] serve to count unsafe position references.
        """
        name = config.boards.protocol if config.boards else 'uomodri'
        if bus == 'can':
            name = 'udriver_can'
        profile = profile_by_name(name, alignment_duration=alignment,
                                  alignment_motion=alignment >= 1.0,
                                  status_period=min(1.0, max(alignment, 0.05)))
        slots = {(j.slot.board, j.slot.motor - 1): k
                 for k, j in enumerate(config.joints.values()) if j.slot}
        joints = list(config.joints.values())
        board_type = EmulatedCanBoard if bus == 'can' else EmulatedBoard
        boards = []
        for number in range(1 + max(board for board, _ in slots)):
            used = [slots.get((number, motor)) for motor in (0, 1)]
            physics = [_UNUSED if k is None else _physics(joints[k], noise) for k in used]
            ranges = [None if k is None or limits is None else
                      _shaft_range(joints[k], limits[0][k], limits[1][k]) for k in used]
            boards.append(board_type(profile, (physics[0], physics[1]), seed=seed + 101 * number,
                                     position_limits=(ranges[0], ranges[1])))
        self.rack = BoardRack(boards, faults, seed)   # type: ignore[arg-type]
        self._connect(joints)

    def step(self, dt: float, position: Sequence[float], velocity: Sequence[float],
             joint_position: Sequence[float] | None = None,
             strain: Sequence[float] | None = None) -> list[float]:
        """Motor torques over the next `dt` [s], joint side, friction not removed [Nm], (n,).

        Motor angles [rad] and velocities [rad/s], joint side, as plain floats, (n,); link-side
        angles and strains for arms with encoders and gauges there.
        """
        if joint_position is not None:
            for k, adc, number, counts_per_turn in self._encoders:
                adc[number] = floor(joint_position[k] / tau * counts_per_turn) % 65536
        if strain is not None:
            for k, adc, number, strain_per_count in self._gauges:
                adc[number] = min(max(32768 + round(strain[k] / strain_per_count), 0), 65535)
        torque = self.rack.step(dt, list(map(mul, self._by_motor(position), self._ratios)),
                                list(map(mul, self._by_motor(velocity), self._ratios)))
        return list(map(mul, self._by_joint(torque), self._joint_torques))

    @property
    def driving(self) -> bool:
        """Every motor that a joint hangs on is aligned and switched on."""
        statuses = [board.status() for board in self.rack.boards]
        return all(statuses[motor // 2].motor_ready[motor % 2]
                   and statuses[motor // 2].motor_enabled[motor % 2] for motor in self._motors)

    @property
    def carrying(self) -> bool:
        """The motors are on and somebody asks them for torque."""
        return self.driving and any(motor.reference for board in self.rack.boards
                                    for motor in board.motors)

    def _connect(self, joints: Sequence[JointConfig]) -> None:
        """Put shafts and sensors of the joints on the boards."""
        boards = self.rack.boards
        self._motors = [2 * joint.slot.board + joint.slot.motor - 1 if joint.slot else k
                        for k, joint in enumerate(joints)]
        joint_of = [0] * (2 * len(boards))     # by motor
        self._ratios = [0.0] * len(joint_of)   # signed gear; a motor without a joint stands still
        self._joint_torques: list[float] = []  # by joint: its torque per torque of the motor
        self._encoders: list[_Input] = []
        self._gauges: list[_Input] = []
        for k, (joint, motor) in enumerate(zip(joints, self._motors, strict=True)):
            joint_of[motor] = k
            self._ratios[motor] = joint.direction * joint.gear_ratio
            self._joint_torques.append(joint.direction * joint.gear_ratio * joint.efficiency)
            adc, number = boards[motor // 2].adc, motor % 2
            if joint.joint_encoder and joint.joint_encoder.counts:
                self._encoders.append(_Input(k, adc, number, joint.joint_encoder.counts))
            elif joint.strain:
                self._gauges.append(_Input(k, adc, number, joint.strain.adc_scale))
        self._by_motor = itemgetter(*joint_of)
        self._by_joint = itemgetter(*self._motors, 0)   # one too many: always a tuple


def _physics(joint: JointConfig, noise: bool) -> MotorPhysics:
    sensor = joint.current_sensor
    return MotorPhysics(
        torque_constant=joint.motor_torque_constant,
        resistance=_RESISTANCE if joint.resistance is None else joint.resistance,
        max_current=joint.current_limit,
        continuous_current=joint.current_limit,   # assumed: the limit is also the thermal one
        counts_per_turn=joint.motor_encoder.counts,
        current_noise=sensor.noise if noise else 0.0,
        current_sensor='unsigned14' if sensor.unsigned else 'signed',
        current_full_scale=2.0 * joint.current_limit,
        alignment_current=0.2 * joint.current_limit)


def _shaft_range(joint: JointConfig, low: float, high: float) -> tuple[float, float]:
    ends = [q * joint.direction * joint.gear_ratio for q in (low, high)]
    return min(ends), max(ends)
