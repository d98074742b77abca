"""How faults act: on the wire of a board, once on its state, or as a switch while they last."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Protocol

Transform = Callable[[bytes], bytes]


class FaultAction(Protocol):
    """A fault at work; `start` and `stop` are called once each."""

    def start(self, board: Any) -> None:
        """Begin to act on `board`."""
        ...

    def stop(self, board: Any) -> None:
        """Act no longer."""
        ...


class WireAction:
    """Damages transfers, each with a probability, until it has damaged `count` of them."""

    def __init__(self, command: Transform | None, reply: Transform | None,
                 parameters: dict[str, Any], random: Random) -> None:
        self._command = command
        self._reply = reply
        self._probability = float(parameters['probability'])
        self._left = float(parameters['count'])       # infinite for no end
        self._random = random
        self._hit = self._draw()

    def start(self, board: Any) -> None:
        """Begin to act on the board's wire."""
        board.wire.add(self)

    def stop(self, board: Any) -> None:
        """Act no longer."""
        board.wire.remove(self)

    def command(self, frame: bytes) -> bytes:
        """What the board hears."""
        return self._command(frame) if self._hit and self._command else frame

    def reply(self, frame: bytes) -> bytes:
        """What the host hears."""
        return self._reply(frame) if self._hit and self._reply else frame

    def passed(self) -> None:
        """Count the transfer and decide about the next one."""
        self._left -= self._hit
        self._hit = self._draw()

    def _draw(self) -> bool:
        return self._left > 0 and self._random.random() < self._probability


class BoardAction:
    """Something that happens to the board once."""

    def __init__(self, parameters: dict[str, Any],
                 act: Callable[[Any, dict[str, Any]], None]) -> None:
        self._parameters = parameters
        self._act = act

    def start(self, board: Any) -> None:
        """Let it happen."""
        self._act(board, self._parameters)

    def stop(self, board: Any) -> None:
        """What happened stays."""


class BoardSwitch:
    """Something that is different on the board while the fault lasts."""

    def __init__(self, parameters: dict[str, Any],
                 switch: Callable[[Any, dict[str, Any], bool], None]) -> None:
        self._parameters = parameters
        self._switch = switch

    def start(self, board: Any) -> None:
        """Switch it on."""
        self._switch(board, self._parameters, True)

    def stop(self, board: Any) -> None:
        """Switch it off."""
        self._switch(board, self._parameters, False)


def on_command(transform: Transform, parameters: dict[str, Any], random: Random) -> WireAction:
    """Damage to what the board hears."""
    return WireAction(transform, None, parameters, random)


def on_reply(transform: Transform, parameters: dict[str, Any], random: Random) -> WireAction:
    """Damage to what the host hears."""
    return WireAction(None, transform, parameters, random)


def drop_both_ways(parameters: dict[str, Any], random: Random) -> WireAction:
    """Loss of the whole transfer."""
    return WireAction(lambda frame: b'', lambda frame: b'', parameters, random)


def freeze_reply(parameters: dict[str, Any], random: Random) -> WireAction:
    """The first reply under the fault is repeated in place of the later ones."""
    frozen: list[bytes] = []

    def repeat(frame: bytes) -> bytes:
        if not frozen:
            frozen.append(frame)
        return frozen[0]

    return WireAction(None, repeat, parameters, random)
