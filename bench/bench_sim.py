"""Speed of the emulated arm: plant, motor boards as bytes and a PD loop in one process.

    python -m bench.bench_sim [--arms laas4 biorob tudor] [--seconds 5] [--json]

Every millisecond the boards advance, each exchanges one SPI frame with the host (encoded, checked
and decoded on both sides), the host computes PD torques for a sine motion, and the plant moves.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from typing import Any, NamedTuple

from armsense_core.model import ArmConfig
from armsense_driver.emulator.arm_rack import ArmRack
from armsense_driver.protocol import BoardCommand, BoardState, by_name, MotorCommand
from armsense_sim import make_plant
from bench.report import emit

ARMS = ('laas4', 'biorob', 'tudor')
DT = 1e-3          # [s]
ALIGNMENT = 0.01   # [s]
CHUNKS = 20        # the figure is their median


class Motor(NamedTuple):
    """Host side of one motor, in the units of its shaft."""

    joint: int
    hold: float      # [A] against gravity
    kp: float        # [A/rad]
    kd: float        # [A s/rad]
    travel: float    # [rad] shaft per unit of the reference wave
    limit: float     # [A]


NOTHING = Motor(0, 0.0, 0.0, 0.0, 0.0, 0.0)   # a motor that no joint hangs on


class Chain:
    """Plant, boards and host of one arm."""

    def __init__(self, arm: str) -> None:
        config = ArmConfig.load(arm)
        self.plant = make_plant(config)
        self.rack = ArmRack(config, alignment=ALIGNMENT)
        self.protocol = by_name(config.boards.protocol if config.boards else 'uomodri')
        self.motors = _motors(config, self.plant.holding_torque.tolist())
        self.commands = [(MotorCommand(), MotorCommand()) for _ in self.rack.rack.boards]
        self.start: list[list[float]] = []   # [rad] of the shafts, by board
        self.ticks = 0
        self.physics = 0.0   # [s] spent in the plant
        self.error = 0.0     # largest error so far over the size of the wave

    def tick(self) -> None:
        """One millisecond."""
        state = self.plant.state
        torque = self.rack.step(DT, state.motor_position.tolist(), state.motor_velocity.tolist(),
                                state.joint_position.tolist(), state.strain.tolist())
        states = self.exchange()
        if self.start:
            self.control(states)
        elif self.rack.driving:
            self.start = [[motor.position for motor in board.motors] for board in states]
        begin = time.perf_counter()
        self.plant.step(torque, DT)
        self.physics += time.perf_counter() - begin
        self.ticks += 1

    def exchange(self) -> list[BoardState]:
        """One frame to and from every board."""
        encode, decode = self.protocol.encode_command, self.protocol.decode_state
        receive, index = self.rack.rack.receive, self.ticks & 0xFFFF
        return [decode(receive(number, encode(BoardCommand(True, pair, 50, index))))
                for number, pair in enumerate(self.commands)]

    def control(self, states: list[BoardState]) -> None:
        """PD law on the shafts, for the next frame."""
        wave = math.sin(2.0 * math.pi * 0.5 * self.ticks * DT)
        commands = []
        for board, start, motors in zip(states, self.start, self.motors, strict=True):
            pair = []
            for state, home, motor in zip(board.motors, start, motors, strict=True):
                if motor is NOTHING:
                    pair.append(MotorCommand())
                    continue
                error = home + wave * motor.travel - state.position
                self.error = max(self.error, abs(error / motor.travel))
                current = motor.hold + motor.kp * error - motor.kd * state.velocity
                pair.append(MotorCommand(0.0, 0.0, current, 0.0, 0.0, motor.limit))
            commands.append((pair[0], pair[1]))
        self.commands = commands


def _motors(config: ArmConfig, hold: list[float]) -> list[list[Motor]]:
    """Motors by board; an eighth of a radian of joint error takes all the current there is."""
    slots = [joint.slot for joint in config.joints.values()]
    motors = [[NOTHING, NOTHING] for _ in range(1 + max(slot.board for slot in slots if slot))]
    for k, joint in enumerate(config.joints.values()):
        if joint.slot is None:
            raise RuntimeError(f'{config.arm}: joint {k + 1} has no slot on a board')
        gear = joint.direction * joint.gear_ratio
        limit = joint.current_limit
        motors[joint.slot.board][joint.slot.motor - 1] = Motor(
            k, hold[k] * joint.direction / joint.torque_per_ampere, 8.0 * limit / abs(gear),
            0.15 * limit / abs(gear), 0.2 * gear, limit)
    return motors


def measure(arm: str, seconds: float) -> dict[str, Any]:
    """Real-time factor of one arm and the share of the physics."""
    chain = Chain(arm)
    for _ in range(300):
        chain.tick()
    if not chain.start:
        raise RuntimeError(f'{arm}: the boards did not switch on')
    ticks = max(1, round(seconds / CHUNKS / DT))
    factors, physics, total = [], 0.0, 0.0
    busy = time.process_time()
    for _ in range(CHUNKS):
        chain.physics, chain.error = 0.0, 0.0
        begin = time.perf_counter()
        for _ in range(ticks):
            chain.tick()
        elapsed = time.perf_counter() - begin
        factors.append(ticks * DT / elapsed)
        physics, total = physics + chain.physics, total + elapsed
    busy = time.process_time() - busy
    if not chain.error < 0.5:
        raise RuntimeError(f'{arm}: the loop lost its reference by {chain.error:.0%} of the wave')
    return {'realtime_factor': round(statistics.median(factors), 2),
            'best': round(max(factors), 2),
            'cpu_factor': round(CHUNKS * ticks * DT / busy, 2),
            'physics_share': round(physics / total, 3),
            'us_per_ms': round(1e6 * total / (CHUNKS * ticks), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--arms', nargs='+', default=list(ARMS))
    parser.add_argument('--seconds', type=float, default=5.0, help='simulated time per arm')
    parser.add_argument('--json', action='store_true')
    arguments = parser.parse_args()
    result = {arm: measure(arm, arguments.seconds) for arm in arguments.arms}
    emit('Plant + emulated SPI boards + PD loop, one process, 1 kHz',
         ('arm', 'x real time', 'best chunk', 'x real time (CPU)', 'physics share', 'us per ms'),
         [(arm, r['realtime_factor'], r['best'], r['cpu_factor'], r['physics_share'],
           r['us_per_ms']) for arm, r in result.items()], result, arguments.json,
         (f'Median and best of {CHUNKS} chunks by the wall clock; CPU: simulated time over '
          'processor time. They differ on a busy machine.',))


if __name__ == '__main__':
    main()
