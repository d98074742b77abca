"""The promise that every goal ends: reached, aborted, cancelled, or on its way to one of these."""

from __future__ import annotations

from armsense.reaction.options import Phase
from bench.life.invariant import Invariant
from bench.life.world import World

WAIT = 0.1            # [s] in which a goal that will not go on is ended
STANDSTILL = 1.0      # [s] until the time of a goal goes on: stamped ones begin 0.1 s later
OVERTIME = 5.0        # [s] behind the end of a trajectory, until its tolerances decide
STOPPING = 2.0        # [s] for the longest stop on a path


class GoalsEnd(Invariant):
    """A goal that is open goes on, or the arm waits to go on with it."""

    name = 'goals_end'
    bound = f'suspended: waits to resume; else its time goes on within {STANDSTILL:g} s and ' \
            f'ends {OVERTIME:g} s after its trajectory; without a goal nothing moves ' \
            f'after {STOPPING:g} s'
    reason = 'a client waits for the result of its goal'

    def __init__(self) -> None:
        super().__init__()
        self._idle = self._still = self._moves = 0.0     # [s] of the controller
        self._at: tuple[object, float] = (None, 0.0)     # goal, its time [s]

    def cycle(self, world: World) -> None:
        if not world.stepped:
            return
        controller, status = world.controller, world.controller.status
        active = status is not None and status.active
        goes_on = controller.reaction.waits_to_resume or world.phase in (
            Phase.VERIFYING, Phase.RESUMING)
        suspended = active and status.suspended
        self._idle = self._idle + world.dt if suspended and not goes_on else 0.0
        at = (status, status.time if status is not None else 0.0)
        waits = active and not suspended and at == self._at
        self._still, self._at = self._still + world.dt if waits else 0.0, at
        self._moves = self._moves + world.dt if controller.moving and not active else 0.0
        where = f'({world.phase.value}, {controller.explanation or "nothing to explain"})'
        self.require(world, self._idle < WAIT, f'the goal is suspended and nobody waits to resume '
                     f'{where}')
        self.require(world, self._still < STANDSTILL, f'the goal is open and its time stands at '
                     f'{at[1]:.3f} s {where}')
        self.require(world, not active or status.time < status.duration + OVERTIME,
                     f'the goal is open {OVERTIME:g} s after its end {where}')
        self.require(world, self._moves < STOPPING, f'the arm moves and no goal is open {where}')
