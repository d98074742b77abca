"""Between joints and the motors of the boards: order, direction, gear, zero, auxiliary inputs.

q = offset + direction * motor_angle / gear_ratio
torque = direction * torque_per_ampere * current

A current sensor may tell the magnitude alone (thesis 000, section 4.3.2). The document takes the
sign from the motor's voltage (eq. 4.52), which these boards do not report. They are told the
current themselves, as a law: what it asks for at the reported state has the sign of the current.
"""

from collections.abc import Sequence
from math import isnan, nan, tau
from typing import NamedTuple

import numpy as np

from armsense.boards.protocol.messages import BoardState, build, MotorCommand
from armsense.drive.elastic_joint import ElasticJoint
from armsense.errors import ArmsenseError
from armsense.model import Arm, ArmConfig
from armsense.types import Command, Floats

ADC_RANGE = 65536      # the auxiliary inputs have 16 bits
ADC_MIDDLE = 32768     # a bridge amplifier reads this at zero strain


class Reading(NamedTuple):
    """Joint-side state of the whole arm, each (n,)."""

    position: list[float]          # [rad] motor side of a spring
    velocity: list[float]          # [rad/s]
    current: list[float]           # [A]
    torque: list[float]            # [Nm]
    joint_position: list[float]    # [rad] link side; empty without encoders there
    strain: list[float]            # [1]; empty without gauges
    power: float                   # [W] NaN where it is not measured


class _Channel(NamedTuple):
    """Constants of one joint."""

    board: int
    motor: int                # 0 or 1
    per_joint: float          # motor angle per joint angle, signed
    offset: float             # [rad]
    torque_per_ampere: float  # [Nm/A] signed
    current_limit: float      # [A]
    gain: float               # [A/rad motor] per [Nm/rad joint]
    unsigned: bool            # the sensor reports |current|


class JointMap:
    """Translates readings and commands of one arm."""

    def __init__(self, config: ArmConfig, zero: Sequence[float] | None = None) -> None:
        """Prepare for an arm; `zero` counts for joints whose arm file states no offset.

        It is where the encoders read zero: motor angles, joint side [rad], (n,); None: the home
        pose.
        """
        self.n = config.n
        self.joint_names = config.joint_names
        zero = zero if zero is not None else (config.home or (0.0,) * config.n)
        self._channels = [_channel(config, k, zero[k]) for k in range(config.n)]
        self.boards = 1 + max(channel.board for channel in self._channels)
        boards = config.boards
        if boards and boards.protocol == 'laas_inhouse' and any(
                channel.unsigned for channel in self._channels):
            raise ArmsenseError(f'{config.arm}: current sensors without a sign need boards '
                                'without an integrator, whose part of the current nobody knows')
        slots = [(c.board, c.motor) for c in self._channels]
        if len(set(slots)) != len(slots):
            raise ArmsenseError(f'{config.arm}: two joints share one motor: '
                                f'{[(b, m + 1) for b, m in slots]}')
        joints = list(config.joints.values())
        self._encoder_counts = [j.joint_encoder.counts if j.joint_encoder else 0 for j in joints]
        self._has_joint_encoders = any(self._encoder_counts)
        self._strain_scale = [j.strain.adc_scale if j.strain else 0.0 for j in joints]
        self._has_strain = any(self._strain_scale)
        self._turns: list[tuple[int, int] | None] = [None] * self.n
        self._home = config.home or (0.0,) * self.n
        self._idle = MotorCommand()
        self.slots = slots                                      # (board, motor) by joint
        self.turns = [tau / abs(c.per_joint) for c in self._channels]   # [rad] per motor turn

    def rezero(self) -> None:
        """Forget the turns of the link-side encoders (the arm was moved while off)."""
        self._turns = [None] * self.n

    def reading(self, states: Sequence[BoardState],
                sent: Sequence[Sequence[MotorCommand]] = ()) -> Reading:
        """Joint-side values of the newest state of every board.

        `sent` are the commands that the boards followed before they answered, [board][motor];
        sensors without a sign need them.
        """
        position, velocity, current, torque, adc = [], [], [], [], []
        power = 0.0
        for board, motor, per_joint, offset, torque_per_ampere, _, _, unsigned in self._channels:
            p, v, i, _, counts, watts = states[board].motors[motor]
            if unsigned and sent and _asked_current(sent[board][motor], p, v) < 0.0:
                i = -i
            position.append(offset + p / per_joint)
            velocity.append(v / per_joint)
            current.append(i)
            torque.append(i * torque_per_ampere)
            adc.append(counts)
            power += watts
        return Reading(position, velocity, current, torque,
                       self._link_angles(adc, position) if self._has_joint_encoders else [],
                       self._strains(adc) if self._has_strain else [],
                       nan if isnan(power) else power)

    def motor_commands(self, command: Command[Floats]) -> list[list[MotorCommand]]:
        """Command of every motor, [board][motor]."""
        boards = [[self._idle, self._idle] for _ in range(self.boards)]
        for channel, p, v, torque, kp, kd, ki in zip(self._channels, *command, strict=True):
            board, motor, per_joint, offset, torque_per_ampere, limit, gain, _ = channel
            boards[board][motor] = build(MotorCommand, (
                (p - offset) * per_joint, v * per_joint, torque / torque_per_ampere,
                kp * gain, kd * gain, limit, ki * gain))
        return boards

    def _link_angles(self, adc: Sequence[int], motor: Sequence[float]) -> list[float]:
        angles = []
        for k, counts in enumerate(self._encoder_counts):
            if not counts:
                angles.append(motor[k])     # rigid: the link is where the motor is
                continue
            value = adc[k]
            before = self._turns[k]
            if before is None:
                # The counter may start anywhere within its range; take the turn nearest to home.
                home_counts = self._home[k] / tau * counts
                unwrapped = value + ADC_RANGE * round((home_counts - value) / ADC_RANGE)
            else:
                step = (value - before[0] + ADC_RANGE // 2) % ADC_RANGE - ADC_RANGE // 2
                unwrapped = before[1] + step
            self._turns[k] = (value, unwrapped)
            angles.append(unwrapped * tau / counts)
        return angles

    def _strains(self, adc: Sequence[int]) -> list[float]:
        return [(value - ADC_MIDDLE) * scale     # 0 where a link has no gauge
                for value, scale in zip(adc, self._strain_scale, strict=True)]


def _channel(config: ArmConfig, k: int, zero: float) -> _Channel:
    name = config.joint_names[k]
    joint = config.joints[name]
    if joint.slot is None:
        raise ArmsenseError(f'{config.arm}: {name} has no slot {{board, motor}} in the arm file')
    per_joint = joint.direction * joint.gear_ratio
    torque_per_ampere = joint.direction * joint.torque_per_ampere
    return _Channel(
        board=joint.slot.board, motor=joint.slot.motor - 1, per_joint=per_joint,
        offset=zero if joint.offset is None else joint.offset,
        torque_per_ampere=torque_per_ampere, current_limit=joint.current_limit,
        gain=1.0 / (per_joint * torque_per_ampere), unsigned=joint.current_sensor.unsigned)


def _asked_current(command: MotorCommand, position: float, velocity: float) -> float:
    """What a board's law asks for at a state of the motor [A], without limit or integral."""
    p, v, current, kp, kd, _, _ = command
    return kp * (p - position) + kd * (v - velocity) + current


def motor_zero(model: Arm) -> list[float]:
    """Motor angles of the arm at home, springs in balance with gravity [rad], (n,)."""
    config = model.config
    home = np.array(config.home or [0.0] * model.n)
    if all(j.elastic for j in config.joints.values()):
        home = ElasticJoint.from_config(config).motor_position(home, model.gravity_torque(home))
    return [float(v) for v in home]
