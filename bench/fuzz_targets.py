"""Every parser of bytes, lines and files, each with something that it accepts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import get_types_from_msg, get_typestore, Stores
from rosbags.typesys.store import Typestore

from armsense import share
from armsense.boards.load_cells.serial_source import parse_line
from armsense.boards.protocol import udriver_can
from armsense.boards.protocol.messages import BoardCommand, BoardState, ProtocolError
from armsense.boards.protocol.spi import by_name
from armsense.errors import ArmsenseError
from armsense.identify.robot_file import SourceConfig
from armsense.model import Arm, ArmConfig
from armsense.model.model_file import ModelFile, Provenance
from armsense.recordings.bag_files import JOINT_STATE, MOTOR_STATES, storage_files
from armsense.recordings.bag_reader import read_bag
from armsense_bringup.launch.language import LaunchError
from armsense_bringup.launch.plan import load as load_launch
from bench.cell_lines import encode_line

OURS = (ArmsenseError, ProtocolError, LaunchError)   # the errors that a parser may raise
ROOT = Path(__file__).resolve().parents[1]


class Target(NamedTuple):
    """A parser and something that it accepts."""

    name: str
    sample: bytes
    parse: Callable[[bytes], Any]


def targets(folder: Path) -> list[Target]:
    """Every parser of bytes, lines and files."""
    spi, laas = by_name('uomodri'), by_name('laas_inhouse')

    def file(name: str, read: Callable[[Path], Any]) -> Callable[[bytes], Any]:
        def parse(data: bytes) -> Any:
            (folder / name).write_bytes(data)
            return read(folder / name)
        return parse

    def describe(path: Path) -> Arm:
        return Arm.load(path)

    def read_signals(path: Path) -> Any:
        return read_bag(path, SourceConfig(), ('a', 'b'))

    def read_motors(path: Path) -> Any:
        return read_bag(path, SourceConfig(topic='/motor_states'), ('a', 'b'))

    arm = share.find_arm('laas4').read_bytes().replace(
        b'laas4.urdf.xacro', str(share.find('urdf/laas4.urdf.xacro')).encode())
    model = Arm.load('laas4')
    ModelFile.create(model, model.parameters, Provenance.now('fuzz')).write(folder / 'm.yaml')
    launch = share.find('launch/arm.launch.xml').read_bytes()
    return [
        Target('SPI command', spi.encode_command(BoardCommand()), spi.decode_command),
        Target('SPI state', spi.encode_state(BoardState()), spi.decode_state),
        Target('SPI state, extended', laas.encode_state(_with_power()), laas.decode_state),
        Target('CAN positions', udriver_can.encode_pair(udriver_can.ID_POSITION, 1.0, -2.0),
               partial(udriver_can.decode_pair, udriver_can.ID_POSITION)),
        Target('CAN status', b'\x01', udriver_can.decode_status),
        Target('load-cell line', encode_line(7, (1, -2, None, 4)).strip(), parse_line),
        Target('arm yaml', arm, file('arm.yaml', ArmConfig.load)),
        Target('model.yaml', (folder / 'm.yaml').read_bytes(),
               file('model.yaml', lambda path: ModelFile.read(path, 'laas4'))),
        Target('URDF', model.urdf.encode(), file('arm.urdf', describe)),
        Target('launch file', launch, file('arm.launch.xml', lambda p: load_launch(p, {}))),
        Target('MCAP bag', _bag(folder, StoragePlugin.MCAP, *_joint_states()),
               file('bag.mcap', read_signals)),
        Target('sqlite3 bag', _bag(folder, StoragePlugin.SQLITE3, *_joint_states()),
               file('bag.db3', read_signals)),
        Target('MCAP bag of an own type', _bag(folder, StoragePlugin.MCAP, *_motor_states()),
               file('own.mcap', read_motors)),
    ]


def _with_power() -> BoardState:
    state = BoardState()
    return state._replace(motors=tuple(m._replace(power=1.0) for m in state.motors))  # type: ignore[arg-type]


def _joint_states() -> tuple[Typestore, str, list[Any]]:
    """A small recording of two joints."""
    store = get_typestore(Stores.ROS2_JAZZY)
    state = store.types[JOINT_STATE]
    return store, JOINT_STATE, [
        state(_header(store, k), ['a', 'b'], np.full(2, 0.1 * k), np.ones(2), np.ones(2))
        for k in range(20)]


def _motor_states() -> tuple[Typestore, str, list[Any]]:
    """The same in a type that only the bag itself defines."""
    store = get_typestore(Stores.ROS2_JAZZY)
    text = (ROOT / 'src' / 'armsense_msgs' / 'msg' / 'MotorStates.msg').read_text()
    store.register(get_types_from_msg(text, MOTOR_STATES))
    state, none = store.types[MOTOR_STATES], np.empty(0)
    return store, MOTOR_STATES, [
        state(_header(store, k), k, np.full(2, 0.1 * k), np.ones(2), np.ones(2), np.ones(2), none,
              none, 0.0, True, k * 10**7) for k in range(20)]


def _header(store: Typestore, k: int) -> Any:
    time, header = (store.types[name] for name in (
        'builtin_interfaces/msg/Time', 'std_msgs/msg/Header'))
    return header(time(1, k * 10**7), '')


def _bag(folder: Path, plugin: StoragePlugin, store: Typestore, kind: str,
         states: list[Any]) -> bytes:
    """Storage file with the messages."""
    bag = folder / f'sample_{plugin.name}_{kind.replace("/", "_")}'
    topic = '/joint_states' if kind == JOINT_STATE else '/motor_states'
    with Writer(bag, version=9, storage_plugin=plugin) as writer:
        connection = writer.add_connection(topic, kind, typestore=store)
        for k, message in enumerate(states):
            writer.write(connection, 10**9 + k * 10**7, store.serialize_cdr(message, kind))
    return storage_files(bag)[0].read_bytes()
