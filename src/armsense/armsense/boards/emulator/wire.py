"""Damage done to frames on their way to and from an emulated SPI board."""

from __future__ import annotations

from random import Random
from typing import Protocol


class WireFault(Protocol):
    """One active fault; each direction returns the frame as it arrives, empty if it is lost."""

    def command(self, frame: bytes) -> bytes:
        """What the board hears."""
        ...

    def reply(self, frame: bytes) -> bytes:
        """What the host hears."""
        ...

    def passed(self) -> None:
        """One transfer is over."""
        ...


class WireFaults:
    """The faults that are active on one board's wire; false when there are none."""

    def __init__(self) -> None:
        self.active: list[WireFault] = []

    def __bool__(self) -> bool:
        return bool(self.active)

    def add(self, fault: WireFault) -> None:
        """Let a fault act."""
        self.active.append(fault)

    def remove(self, fault: WireFault) -> None:
        """Let it act no longer."""
        self.active.remove(fault)

    def exchange(self, frame: bytes, reply: bytes) -> tuple[bytes, bytes]:
        """Frame as the board hears it and reply as the host hears it."""
        for fault in self.active:
            frame, reply = fault.command(frame), fault.reply(reply)
            fault.passed()
        return frame, reply


def flip_bits(frame: bytes, bits: int, random: Random) -> bytes:
    """`frame` with `bits` different bits inverted."""
    if not frame:
        return frame
    number = int.from_bytes(frame, 'big')
    for position in random.sample(range(8 * len(frame)), bits):
        number ^= 1 << position
    return number.to_bytes(len(frame), 'big')


def shift_bits(frame: bytes, bits: int) -> bytes:
    """`frame` as read with a clock `bits` late: zeros enter, the last bits are lost."""
    if not frame:
        return frame
    return (int.from_bytes(frame, 'big') >> bits).to_bytes(len(frame), 'big')


def swap_crc_words(frame: bytes) -> bytes:
    """`frame` with the two 16-bit words of its checksum exchanged."""
    return frame[:-4] + frame[-2:] + frame[-4:-2]
