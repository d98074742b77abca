"""Hours of emulated time with random board faults: no unsafe frame may reach the wire.

Boards, wire and arm (MuJoCo) are simulated in this process in lock-step; the driver is the real
one. A user's part is played too: after a fault the boards are power-cycled, the fault is cleared
(again where a board says that it has lost its zero), the arm is brought home and the motors are
enabled again.
"""

from __future__ import annotations

import argparse
import collections
import math
import time

import numpy as np

from armsense.boards.arm_driver import ArmDriver, DriverSettings
from armsense.boards.command_guard import guard_limits
from armsense.boards.emulator.board import LoopbackTransport
from armsense.boards.emulator.faults import FAULTS, Injection
from armsense.boards.emulator.rack import ArmRack
from armsense.boards.joint_map import Reading
from armsense.boards.mode import Mode
from armsense.boards.protocol.spi import by_name
from armsense.boards.transport.link import SpiLink
from armsense.model import Arm
from armsense.sim import make_plant
from armsense.types import Command, Floats
from bench.report import emit

DT = 0.001            # [s]
BETWEEN = 2.0         # [s] mean time between two faults


class FaultRun:
    """One arm with random faults, seeded."""

    def __init__(self, arm: str, seconds: float, seed: int) -> None:
        model = Arm.load(arm)
        config = model.config
        self.seconds = seconds
        self._home = list(config.home)
        self._model = model
        rng = np.random.default_rng(seed)
        # Boards are swapped with the power off, never in motion: that has its own test.
        kinds = sorted(k for k, v in FAULTS.items()
                       if 'spi' in v.buses and k != 'swapped_boards')
        times = np.cumsum(rng.exponential(BETWEEN, int(2 * seconds / BETWEEN) + 10))
        self.faults = [Injection(str(rng.choice(kinds)), int(rng.integers(2)), float(t),
                                 float(rng.uniform(0.002, 0.5))) for t in times if t < seconds]
        self.rack = ArmRack(config, seed=seed, alignment=0.05, faults=self.faults,
                            limits=tuple(x.tolist() for x in model.position_limits))
        self.plant = make_plant(config, seed=seed)
        self.plant.reset(self._home)
        boards = len(self.rack.rack.boards)
        protocol = by_name(config.boards.protocol if config.boards else 'uomodri')
        links = [SpiLink(protocol, LoopbackTransport(self.rack.rack.port(b)))
                 for b in range(boards)]
        self.driver = ArmDriver(config, guard_limits(model), links, DriverSettings(
            period=DT, board_timeout_ms=20))
        self.named: collections.Counter[str] = collections.Counter()
        self._fault = ''                 # that the user deals with
        self._stiffness = [20.0] * model.n
        self._damping = [j.safe_damping for j in config.joints.values()]

    def run(self) -> None:
        for k in range(round(self.seconds / DT)):
            self._step(k * DT)
            if k % 100 == 99:
                self._user()

    def _step(self, now: float) -> None:
        torque = self.rack.step(DT, *self.plant.readings)
        reading = self.driver.cycle()
        if reading is not None:
            self.driver.give(self._command(reading, now), self.driver.seq)
        if self.driver.mode in (Mode.ENABLED, Mode.DAMPING):
            self.plant.step(torque, DT)

    def _command(self, reading: Reading, now: float) -> Command[Floats]:
        """A slow swing about home with gravity compensated."""
        zero = [0.0] * len(self._home)
        reference = [h + 0.2 * math.sin(1.5 * now + k) for k, h in enumerate(self._home)]
        # Never further away than the driver allows, wherever the arm is after a fault.
        reference = [q + min(max(r - q, -0.05), 0.05)
                     for q, r in zip(reading.position, reference, strict=True)]
        gravity = self._model.gravity_torque(np.array(reading.position)).tolist()
        return Command(reference, zero, gravity, self._stiffness, self._damping, zero)

    def _user(self) -> None:
        if self.driver.mode == Mode.DAMPING:
            assert self.driver.fault is not None
            if self._fault and self.driver.clear_fault().success:
                self.named[self._fault] += 1
                self._fault = ''
                self.plant.reset(self._home)   # where the encoders will read zero
            else:
                self._fault = self._fault or self.driver.fault.name
                self._power_cycle()
        elif self.driver.mode == Mode.DISABLED:
            self.driver.enable()

    def _power_cycle(self) -> None:
        for board in range(len(self.rack.rack.boards)):
            self.rack.rack.power_cycle(board)


def main() -> None:
    parser = argparse.ArgumentParser(prog='armsense bench faults', description=__doc__)
    parser.add_argument('--arm', default='laas4')
    parser.add_argument('--hours', type=float, default=0.1, help='emulated (default %(default)s)')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--json', action='store_true')
    options = parser.parse_args()
    run = FaultRun(options.arm, options.hours * 3600.0, options.seed)
    begin = time.perf_counter()
    run.run()
    seconds = time.perf_counter() - begin
    result = {
        'arm': options.arm, 'hours': options.hours, 'seed': options.seed,
        'faults': len(run.faults), 'safe_states': sum(run.named.values()),
        'unsafe_frames': run.rack.rack.unsafe_frames, 'named': dict(run.named),
        'realtime_factor': run.seconds / seconds,
    }
    rows = [('emulated time [h]', f'{options.hours:g}'), ('faults injected', str(len(run.faults))),
            ('safe states entered', str(result['safe_states'])),
            ('unsafe frames', str(result['unsafe_frames']))]
    rows += [(f'  {name}', str(count)) for name, count in sorted(run.named.items())]
    emit('random board faults', ('what', 'value'), rows, result, options.json)


if __name__ == '__main__':
    main()
