"""How long one control cycle of two emulated boards takes: `python -m …emulator.benchmark`.

The emulator's share is decode, law, current loop, quantisation and encode for four motors; the
host's share is encode, decode and bookkeeping. No sockets, no plant.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
import json
from time import perf_counter

from armsense.boards.emulator.board import EmulatedBoard
from armsense.boards.emulator.profile import profile_by_name
from armsense.boards.emulator.rack import BoardRack
from armsense.boards.protocol import BoardCommand, by_name, MotorCommand, SPI_PROTOCOLS
from armsense.boards.transport import LoopbackTransport, SpiLink

_DT = 1e-3
_MOTOR = MotorCommand(0.1, 0.2, 0.3, kp=0.4, kd=0.05, current_limit=6.0, ki=0.1)
_COMMAND = BoardCommand(enable=True, motors=(_MOTOR, _MOTOR), timeout_ms=20)


def measure(name: str, repeats: int = 100, cycles: int = 100) -> dict[str, float]:
    """Microseconds per cycle of two boards with protocol `name`, best of `repeats`."""
    profile = profile_by_name(name, alignment_duration=0.01, alignment_motion=False)
    rack = BoardRack([EmulatedBoard(profile, seed=number) for number in range(2)])
    links = [SpiLink(by_name(name), LoopbackTransport(rack.port(number))) for number in range(2)]
    frame = by_name(name).encode_command(_COMMAND)
    position, velocity = [0.01, 0.02, 0.03, 0.04], [0.0] * 4

    def emulate() -> None:
        rack.receive(0, frame)
        rack.receive(1, frame)
        rack.step(_DT, position, velocity)

    def whole() -> None:
        links[0].exchange(_COMMAND)
        links[1].exchange(_COMMAND)
        rack.step(_DT, position, velocity)

    emulator, both = _best(emulate, repeats, cycles), _best(whole, repeats, cycles)
    return {'emulator_us': round(emulator, 1), 'emulator_and_host_us': round(both, 1)}


def _best(cycle: Callable[[], None], repeats: int, cycles: int) -> float:
    """Shortest mean time of a cycle [us]: the least disturbed run."""
    best = float('inf')
    for _ in range(repeats):
        start = perf_counter()
        for _ in range(cycles):
            cycle()
        best = min(best, perf_counter() - start)
    return best / cycles * 1e6


def main() -> None:
    """Print the figures of all SPI protocols as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument('--repeats', type=int, default=100)
    arguments = parser.parse_args()
    print(json.dumps({name: measure(name, arguments.repeats) for name in SPI_PROTOCOLS}))


if __name__ == '__main__':
    main()
