"""What a bag says, for tests that compare two runs number by number."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from mcap.reader import make_reader
from rclpy.serialization import deserialize_message


def contents(bag: Path, topics: Sequence[str], end: float) -> dict[str, list[str]]:
    """Messages of each topic until a time [s], every number in full.

    Not as bytes: between the fields of a message there are some that nobody writes.
    """
    found: dict[str, list[str]] = {topic: [] for topic in topics}
    with next(bag.glob('*.mcap')).open('rb') as file:
        for schema, channel, message in make_reader(file).iter_messages(topics=list(topics)):
            if message.log_time <= end * 1e9:
                package, folder, name = schema.name.split('/')
                kind = getattr(import_module(f'{package}.{folder}'), name)
                found[channel.topic].append(repr(deserialize_message(message.data, kind)))
    return found


def first_difference(one: Sequence[str], other: Sequence[str]) -> str:
    """Empty: they are the same."""
    if len(one) != len(other):
        return f'{len(one)} and {len(other)} messages'
    return next((f'message {k}:\n{a}\n{b}' for k, (a, b) in enumerate(zip(one, other, strict=True))
                 if a != b), '')
