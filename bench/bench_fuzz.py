"""Damaged input for every parser: each answers with an error of ours, none crashes, none hangs.

    ./armsense bench fuzz [--minutes 10] [--json]

Valid frames, lines and files are damaged at random (seeded): bits flipped, pieces cut, doubled,
moved and replaced by what often goes wrong.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
import signal
import tempfile
import time
from typing import Any, NamedTuple

import numpy as np

from armsense_bringup.launch_file import LaunchError
from armsense_bringup.launch_plan import load as load_launch
from armsense_core import share
from armsense_core.errors import ArmsenseError
from armsense_core.model import ArmConfig, ArmModel
from armsense_core.model.model_file import ModelFile, Provenance
from armsense_driver.load_cells.line_format import encode_line, parse_line
from armsense_driver.protocol import BoardCommand, BoardState, by_name, ProtocolError, udriver_can
from armsense_identification.bag_reader import messages
from bench.report import emit

HANG = 10            # [s] for one input
OURS = (ArmsenseError, ProtocolError, LaunchError)
TRICKS = (b'\x00', b'\xff' * 4, b'nan', b'1e999', b'-1', b'{', b']', b'<', b'&', b'\n', b'\t: ',
          b'..', b'&a *a', b'!!python/object:os.system x', b'9' * 40, '\u00e9'.encode())


class Target(NamedTuple):
    """A parser and something that it accepts."""

    name: str
    sample: bytes
    parse: Callable[[bytes], Any]


class Hang(Exception):
    """A parser took too long."""


class Outcome(NamedTuple):
    inputs: int
    accepted: int
    failures: list[str]


def damage(data: bytes, rng: np.random.Generator) -> bytes:
    """One to four injuries."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        place = int(rng.integers(0, len(out) + 1))
        length = int(rng.integers(1, 32))
        kind = int(rng.integers(0, 6))
        if kind == 0 and out:
            out[min(place, len(out) - 1)] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del out[place:place + length]
        elif kind == 2:
            out[place:place] = out[place:place + length]
        elif kind == 3:
            out[place:place] = TRICKS[int(rng.integers(len(TRICKS)))]
        elif kind == 4:
            out[place:place + length] = rng.bytes(length)
        elif rng.uniform() < 0.1:
            del out[place:]
    return bytes(out)


def attack(target: Target, seconds: float, seed: int) -> Outcome:
    """Damaged inputs for so long."""
    rng = np.random.default_rng(seed)
    end = time.monotonic() + seconds
    inputs = accepted = 0
    failures: list[str] = []
    while time.monotonic() < end and len(failures) < 5:
        data = damage(target.sample, rng)
        inputs += 1
        signal.alarm(HANG)
        try:
            target.parse(data)
            accepted += 1
        except OURS:
            pass
        except Exception as error:   # that is what we look for
            failures.append(f'{type(error).__name__}: {error} for {data[:200]!r}')
        finally:
            signal.alarm(0)
    return Outcome(inputs, accepted, failures)


def targets(folder: Path) -> list[Target]:
    """Every parser of bytes, lines and files."""
    spi, laas = by_name('uomodri'), by_name('laas_inhouse')

    def file(name: str, read: Callable[[Path], Any]) -> Callable[[bytes], Any]:
        def parse(data: bytes) -> Any:
            (folder / name).write_bytes(data)
            return read(folder / name)
        return parse

    def describe(path: Path) -> ArmModel:
        return ArmModel.load(path)

    arm = share.find_arm('laas4').read_bytes().replace(
        b'laas4.urdf.xacro', str(share.find('urdf/laas4.urdf.xacro')).encode())
    model = ArmModel.load('laas4')
    ModelFile.create(model, model.parameters, Provenance.now('fuzz')).write(folder / 'm.yaml')
    launch = share.find('launch/arm.launch.xml').read_bytes()
    return [
        Target('SPI command', spi.encode_command(BoardCommand()), spi.decode_command),
        Target('SPI state', spi.encode_state(BoardState()), spi.decode_state),
        Target('SPI state, extended', laas.encode_state(_with_power()), laas.decode_state),
        Target('CAN positions', udriver_can.encode_positions(1.0, -2.0),
               udriver_can.decode_positions),
        Target('CAN status', b'\x01' + bytes(7), udriver_can.decode_status),
        Target('load-cell line', encode_line(7, (1, -2, None, 4)).strip(), parse_line),
        Target('arm yaml', arm, file('arm.yaml', ArmConfig.load)),
        Target('model.yaml', (folder / 'm.yaml').read_bytes(),
               file('model.yaml', lambda path: ModelFile.read(path, 'laas4'))),
        Target('URDF', model.urdf.encode(), file('arm.urdf', describe)),
        Target('launch file', launch, file('arm.launch.xml', lambda p: load_launch(p, {}))),
        Target('MCAP bag', _bag(folder), file('bag.mcap', lambda p: list(messages(p, [])))),
    ]


def _with_power() -> BoardState:
    state = BoardState()
    return state._replace(motors=tuple(m._replace(power=1.0) for m in state.motors))  # type: ignore[arg-type]


def _bag(folder: Path) -> bytes:
    """A small bag as the recorder writes it."""
    from mcap.writer import Writer
    path = folder / 'sample.mcap'
    with path.open('wb') as stream:
        writer = Writer(stream)
        writer.start('ros2')
        schema = writer.register_schema('std_msgs/msg/Float64', 'ros2msg', b'float64 data')
        channel = writer.register_channel('/x', 'cdr', schema)
        for k in range(20):
            writer.add_message(channel, k, bytes([0, 1, 0, 0]) + bytes(8), k)
        writer.finish()
    return path.read_bytes()


def main() -> int:
    parser = argparse.ArgumentParser(prog='armsense bench fuzz', description=__doc__)
    parser.add_argument('--minutes', type=float, default=0.05, help='for each parser')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--json', action='store_true')
    options = parser.parse_args()

    def hang(*_: object) -> None:
        raise Hang(f'longer than {HANG} s')
    signal.signal(signal.SIGALRM, hang)
    with tempfile.TemporaryDirectory() as name:
        results = {target.name: attack(target, 60.0 * options.minutes, options.seed)
                   for target in targets(Path(name))}
    failures = [f'{name}: {text}' for name, result in results.items() for text in result.failures]
    emit('damaged input', ('parser', 'inputs', 'accepted', 'crashes or hangs'),
         [(name, r.inputs, r.accepted, len(r.failures)) for name, r in results.items()],
         {'failures': failures, **{name: r.inputs for name, r in results.items()}},
         options.json, failures)
    return 1 if failures else 0


if __name__ == '__main__':
    raise SystemExit(main())
