"""Parsers that fail in every way, for the fuzzer to find."""

from __future__ import annotations

import os
from pathlib import Path
import time

from bench.fuzz_targets import OURS, Target

__all__ = ['OURS', 'targets']


def targets(folder: Path) -> list[Target]:
    return [Target('sound', b'sample', _refuse), Target('crash', b'sample', _crash),
            Target('hang', b'sample', _hang), Target('death', b'sample', _die)]


def _refuse(data: bytes) -> None:
    if data != b'sample':
        raise OURS[0]('damaged')


def _crash(data: bytes) -> None:
    if b'nan' in data:
        raise KeyError('nan')


def _hang(data: bytes) -> None:
    while data[:1] == b'{':
        time.sleep(0.1)


def _die(data: bytes) -> None:
    if len(data) > 20:
        os._exit(3)
