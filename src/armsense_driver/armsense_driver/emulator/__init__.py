"""Motor boards that exist only as bytes, with the faults their users meet."""

from armsense_driver.emulator.board import EmulatedBoard
from armsense_driver.emulator.can_board import CanFrame, EmulatedCanBoard
from armsense_driver.emulator.can_server import CanServer
from armsense_driver.emulator.faults import Fault, FAULTS, UnknownFault
from armsense_driver.emulator.motor import MotorPhysics
from armsense_driver.emulator.profile import BoardProfile, profile_by_name, PROFILES
from armsense_driver.emulator.rack import BoardRack, FaultEvent
from armsense_driver.emulator.sockets import socket_paths
from armsense_driver.emulator.spi_server import SpiServer
from armsense_driver.emulator.unsafe import UnsafeFrames

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
