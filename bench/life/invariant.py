"""What an invariant is: it watches the world and raises at the first moment that breaks it."""

from __future__ import annotations

from bench.life.world import World


class Violation(Exception):
    """An invariant that does not hold."""

    def __init__(self, name: str, time: float, text: str) -> None:
        super().__init__(f'{name} at {time:.3f} s: {text}')
        self.name, self.time, self.text = name, time, text


class Invariant:
    """One promise."""

    name = ''
    bound = ''
    reason = ''

    def __init__(self) -> None:
        self.checks = 0

    def tick(self, world: World) -> None:
        """A millisecond has passed."""

    def cycle(self, world: World) -> None:
        """The driver has spoken to the boards."""

    def gave_up(self, world: World) -> None:
        """Somebody told the arm to hold or to cancel."""

    def clock_set(self, world: World) -> None:
        """The wall clock was set."""

    def freed(self, world: World) -> None:
        """Obstacles were taken away."""

    def require(self, world: World, holds: bool, text: str) -> None:
        self.checks += 1
        if not holds:
            raise Violation(self.name, world.time, text)
