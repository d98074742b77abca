"""Speed of the emulated arm: plant, motor boards as bytes and a PD loop in one process.

    python -m bench.bench_sim [--arms laas4 biorob tudor] [--seconds 5] [--json]

Every millisecond the boards advance, each exchanges one SPI frame with the host (packed, checked
and unpacked on both sides), the host computes PD currents for a sine motion, and the plant moves.
The host counts in units of the wire, as firmware does. `driver` is the same arm with the suite's
own driver and controller in place of that host: guards, units, model and all.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
import math
import statistics
import time
from typing import Any, NamedTuple

from armsense.boards.emulator.rack import ArmRack
from armsense.boards.protocol.messages import (
    BoardCommand,
    CURRENT_PER_A,
    MotorCommand,
    POSITION_PER_RAD,
    VELOCITY_PER_RAD_S,
)
from armsense.boards.protocol.spi import by_name, SpiProtocol
from armsense.model import Arm, ArmConfig
from armsense.sim import make_plant
from armsense.sim.closed_loop import ClosedLoop
from bench.report import emit

ARMS = ('laas4', 'biorob', 'tudor')
DT = 1e-3          # [s]
ALIGNMENT = 0.01   # [s]
CHUNKS = 20        # the figure is their median
TIMEOUT_MS = 50    # watchdog of the boards


class Motor(NamedTuple):
    """PD law of one motor, in units of the wire."""

    hold: float = 0.0      # current against gravity
    kp: float = 0.0        # current per position
    kd: float = 0.0        # current per velocity
    travel: float = 0.0    # position per unit of the reference wave
    limit: float = 0.0     # [A]


class BoardHost:
    """What the host does for one board."""

    def __init__(self, protocol: SpiProtocol, board: Callable[[bytes], bytes],
                 motors: list[Motor]) -> None:
        self._protocol = protocol
        self._board = board
        self._motors = motors[0], motors[1]
        self._currents = 0, 0
        self._errors = 0.0, 0.0
        self._home: tuple[int, int] | None = None
        # Mode and gains never change: taken from a command made the usual way.
        one, two = (MotorCommand(current_limit=motor.limit) for motor in motors)
        frame = protocol.encode_command(BoardCommand(True, (one, two), TIMEOUT_MS))
        self._mode, *_, self._gains, _ = protocol.unpack_command(frame)

    def cycle(self, index: int, wave: float, driving: bool) -> None:
        """One frame each way, then the law for the next one."""
        current_1, current_2 = self._currents
        frame = self._protocol.pack_command(
            self._mode, 0, 0, 0, 0, current_1, current_2, self._gains, index & 0xFFFF)
        p_1, p_2, v_1, v_2 = self._protocol.unpack_state(self._board(frame))[2:6]
        if self._home is None:
            if driving:
                self._home = p_1, p_2
            return
        (one, two), (home_1, home_2) = self._motors, self._home
        error_1 = home_1 + wave * one.travel - p_1
        error_2 = home_2 + wave * two.travel - p_2
        self._currents = (round(one.hold + one.kp * error_1 - one.kd * v_1),
                          round(two.hold + two.kp * error_2 - two.kd * v_2))
        self._errors = error_1, error_2

    @property
    def error(self) -> float:
        """Distance from the reference over the size of the wave."""
        pairs = zip(self._motors, self._errors, strict=True)
        return max(abs(error / motor.travel) for motor, error in pairs if motor.travel)


class Chain:
    """Plant, boards and host of one arm."""

    def __init__(self, arm: str) -> None:
        config = ArmConfig.load(arm)
        self.plant = make_plant(config)
        self.boards = ArmRack(config, alignment=ALIGNMENT)
        rack = self.boards.rack
        protocol = by_name(config.boards.protocol if config.boards else 'uomodri')
        motors = _motors(config, self.plant.holding_torque.tolist(), len(rack.boards))
        self.hosts = [BoardHost(protocol, rack.port(number).receive, pair)
                      for number, pair in enumerate(motors)]
        self.driving = False
        self.ticks = 0
        self.physics = 0.0   # [s] spent in the plant

    def tick(self) -> None:
        """One millisecond."""
        torque = self.boards.step(DT, *self.plant.readings)
        wave = math.sin(math.pi * self.ticks * DT)
        for host in self.hosts:
            host.cycle(self.ticks, wave, self.driving)
        begin = time.perf_counter()
        self.plant.step(torque, DT)
        self.physics += time.perf_counter() - begin
        self.ticks += 1
        self.driving = self.driving or self.boards.driving

    def check(self) -> None:
        """The motion is still the one that was asked for."""
        error = max(host.error for host in self.hosts)
        if not error < 0.5:
            raise RuntimeError(f'the loop lost its reference by {error:.0%} of the wave')


def _motors(config: ArmConfig, hold: list[float], boards: int) -> list[list[Motor]]:
    """Motors by board; an eighth of a radian of joint error takes all the current there is."""
    motors = [[Motor(), Motor()] for _ in range(boards)]
    for k, joint in enumerate(config.joints.values()):
        if joint.slot is None:
            raise RuntimeError(f'{config.arm}: joint {k + 1} has no slot on a board')
        gear = joint.direction * joint.gear_ratio
        ampere = joint.current_limit * CURRENT_PER_A / abs(gear)
        motors[joint.slot.board][joint.slot.motor - 1] = Motor(
            hold[k] * joint.direction / joint.torque_per_ampere * CURRENT_PER_A,
            8.0 * ampere / POSITION_PER_RAD, 0.15 * ampere / VELOCITY_PER_RAD_S,
            0.2 * gear * POSITION_PER_RAD, joint.current_limit)
    return motors


class Speed(NamedTuple):
    """How fast a loop ran."""

    factors: list[float]   # simulated over elapsed time, by chunk
    cpu_factor: float      # simulated over processor time


def run(tick: Callable[[], object], seconds: float,
        check: Callable[[], object] = lambda: None) -> Speed:
    """Time a loop of 1 ms steps in chunks; `check` is called after each."""
    ticks = max(1, round(seconds / CHUNKS / DT))
    factors = []
    busy = time.process_time()
    for _ in range(CHUNKS):
        begin = time.perf_counter()
        for _ in range(ticks):
            tick()
        factors.append(ticks * DT / (time.perf_counter() - begin))
        check()
    return Speed(factors, CHUNKS * ticks * DT / (time.process_time() - busy))


def measure(arm: str, seconds: float) -> dict[str, Any]:
    """Real-time factors of one arm and the share of the physics."""
    chain = Chain(arm)
    for _ in range(300):
        chain.tick()
    if not chain.driving:
        raise RuntimeError(f'{arm}: the boards did not switch on')
    chain.physics, before = 0.0, chain.ticks
    speed = run(chain.tick, seconds, chain.check)
    simulated = (chain.ticks - before) * DT
    elapsed = sum(simulated / CHUNKS / factor for factor in speed.factors)
    closed = run(ClosedLoop(Arm.load(arm)).step, 0.2 * seconds)
    return {'realtime_factor': round(statistics.median(speed.factors), 2),
            'best': round(max(speed.factors), 2),
            'cpu_factor': round(speed.cpu_factor, 2),
            'physics_share': round(chain.physics / elapsed, 3),
            'us_per_ms': round(1e3 * elapsed / simulated, 1),
            'driver': {'realtime_factor': round(statistics.median(closed.factors), 2),
                       'cpu_factor': round(closed.cpu_factor, 2)}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--arms', nargs='+', default=list(ARMS))
    parser.add_argument('--seconds', type=float, default=5.0, help='simulated time per arm')
    parser.add_argument('--json', action='store_true')
    arguments = parser.parse_args()
    result = {arm: measure(arm, arguments.seconds) for arm in arguments.arms}
    emit('Plant + emulated SPI boards + PD loop, one process, 1 kHz',
         ('arm', 'x real time', 'best chunk', 'x real time (CPU)', 'physics share', 'us per ms',
          'with driver and controller (CPU)'),
         [(arm, r['realtime_factor'], r['best'], r['cpu_factor'], r['physics_share'],
           r['us_per_ms'], r['driver']['cpu_factor']) for arm, r in result.items()],
         result, arguments.json,
         (f'Median and best of {CHUNKS} chunks by the wall clock; CPU: simulated time over '
          'processor time. They differ on a busy machine.',))


if __name__ == '__main__':
    main()
