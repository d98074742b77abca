"""The emulated boards of a whole arm: joints on one side, frames on the other.

The plant's side of `joint_map`, written independently of it: an error in a sign or a gear shows
as a moving arm, not as two mistakes that cancel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import floor, tau
from operator import itemgetter, mul
from typing import NamedTuple

from armsense.boards.emulator.board import EmulatedBoard
from armsense.boards.emulator.can_board import EmulatedCanBoard
from armsense.boards.emulator.faults import Fault
from armsense.boards.emulator.motor import MotorPhysics
from armsense.boards.emulator.profile import profile_by_name
from armsense.boards.emulator.rack import BoardRack
from armsense.model import ArmConfig, JointConfig

_UNUSED = MotorPhysics(current_noise=0.0)
_RESISTANCE = 0.1     # [ohm] of a motor whose arm file states none; assumed


class _Input(NamedTuple):
    """An auxiliary input of a board with a link's sensor on it."""

    joint: int
    adc: list[int]    # inputs of the board
    number: int       # 0 or 1
    scale: float      # of an encoder [counts/turn], of a gauge [strain/count]


class ArmRack:
    """Steps the boards of one arm with joint-side quantities."""

    def __init__(self, config: ArmConfig, bus: str = 'spi', *, seed: int = 0,
                 alignment: float = 3.0, noise: bool = True, faults: Iterable[Fault] = (),
                 limits: tuple[Sequence[float], Sequence[float]] | None = None) -> None:
        """Make the boards that the arm file names.

        Args:
            config: The arm.
            bus: 'spi' or 'can'.
            seed: Of noise and faults.
            alignment: How long a motor aligns after the first enable [s].
            noise: False: ideal current sensors.
            faults: Schedule of the fault injector.
            limits: Joint limits (lower, upper) [rad], to count unsafe position references.
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
        """Advance the boards by `dt` [s].

        Args:
            dt: Length of the plant's next step.
            position: Motor angles, joint side [rad], (n,); plain floats are several times as
                fast as those of numpy.
            velocity: Motor velocities, joint side [rad/s], (n,).
            joint_position: Link-side angles [rad], (n,), for arms with encoders there.
            strain: Strain at the gauges, (n,), for arms that have them.

        Returns:
            Motor torques, joint side, friction not removed [Nm], (n,).
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
    one = low * joint.direction * joint.gear_ratio
    two = high * joint.direction * joint.gear_ratio
    return min(one, two), max(one, two)
