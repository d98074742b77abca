"""Motor boards that exist only as bytes, with the faults their users meet."""

from armsense.boards.emulator.board import EmulatedBoard
from armsense.boards.emulator.can_board import CanFrame, EmulatedCanBoard
from armsense.boards.emulator.can_server import CanServer
from armsense.boards.emulator.faults import Fault, FAULTS, UnknownFault
from armsense.boards.emulator.motor import MotorPhysics
from armsense.boards.emulator.profile import BoardProfile, profile_by_name, PROFILES
from armsense.boards.emulator.rack import BoardRack, FaultEvent
from armsense.boards.emulator.sockets import socket_paths
from armsense.boards.emulator.spi_server import SpiServer
from armsense.boards.emulator.unsafe import UnsafeFrames

__all__ = [
    'FAULTS',
    'PROFILES',
    'BoardProfile',
    'BoardRack',
    'CanFrame',
    'CanServer',
    'EmulatedBoard',
    'EmulatedCanBoard',
    'Fault',
    'FaultEvent',
    'MotorPhysics',
    'SpiServer',
    'UnknownFault',
    'UnsafeFrames',
    'profile_by_name',
    'socket_paths',
]
