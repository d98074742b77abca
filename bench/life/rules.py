"""What can happen in a history: every rule is a name, arguments that JSON can hold, and an act.

Arguments never depend on the state of the arm; they are relative to it (a share of the way to a
limit, a multiple of the force that must be felt), so a rule means something wherever it comes.
"""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from armsense.boards.emulator.faults import FAULTS
from armsense.reaction.options import STRATEGIES
from armsense.types import Array
from bench.life.feeling import MARGIN, STUCK
from bench.life.world import World

Arguments = dict[str, Any]
STRONGEST = 150.0      # [N] of a person
BOARD_FAULTS = tuple(sorted(kind for kind, fault in FAULTS.items()
                            if 'spi' in fault.buses and kind != 'swapped_boards'))


class Rule(NamedTuple):
    """One thing that can happen."""

    act: Callable[..., None]
    draw: Callable[[Generator], Arguments]
    weight: float


RULES: dict[str, Rule] = {}


def rule(weight: float = 1.0, **ranges: Any) -> Callable[[Callable[..., None]], Any]:
    """A function of the world and its arguments; `ranges` say how they are drawn."""
    def register(act: Callable[..., None]) -> Callable[..., None]:
        def draw(rng: Generator) -> Arguments:
            return {name: _draw(rng, values) for name, values in ranges.items()}
        RULES[act.__name__] = Rule(act, draw, weight)
        return act
    return register


def _draw(rng: Generator, values: Any) -> Any:
    """Of a list: one of it; of a pair of floats: a number between; of a pair of ints: likewise."""
    if isinstance(values, (list, range)):
        return values[int(rng.integers(len(values)))]
    low, high = values
    if isinstance(low, int):
        return int(rng.integers(low, high + 1))
    return round(float(rng.uniform(low, high)), 3)


def _target(world: World, joint: int, way: float) -> Array:
    """Somewhere near home, one joint further on than where the arm is led."""
    reference = world.controller.reference
    start = world.q if reference is None else reference.q
    target = start + 0.3 * (world.home - start)
    target[joint % world.n] += way
    span = 0.9 * (world.limits.upper - world.limits.lower) / 2
    middle = (world.limits.upper + world.limits.lower) / 2
    return np.clip(target, middle - span, middle + span)


# -- goals ---------------------------------------------------------------------------------------

@rule(6.0, kind=['trajectory', 'trajectory', 'waypoints', 'home', 'stamped'], joint=range(7),
      way=(-1.2, 1.2), speed=[0.2, 0.5, 0.9], tight=[False, False, False, True],
      reaction=[None, None, None, *STRATEGIES], delay=[0.0, 0.0, 0.0, 0.02, 0.15])
def goal(world: World, kind: str, joint: int, way: float, speed: float, tight: bool,
         reaction: str | None, delay: float) -> None:
    """Drive somewhere; one that comes while another is driven preempts it."""
    world.goal(kind, _target(world, joint, way), speed, tight=tight, reaction=reaction,
               delay=delay)


@rule(3.0, joint=range(7), side=[-1, 1], gap=(0.01, 0.1), stiffness=[2e3, 1e4, 5e4],
      speed=[0.3, 0.6], reaction=[None, 'ignore', 'ignore', 'stop', 'retract'],
      seconds=[0.0, 0.2, 0.5, 1.0])
def wall(world: World, joint: int, side: int, gap: float, stiffness: float, speed: float,
         reaction: str | None, seconds: float) -> None:
    """Drive into a box that stands in the way of the tool, and on for some seconds."""
    q = world.q
    joint %= world.n
    way = side * world.model.jacobian(q)[:3, joint]
    lever = float(np.linalg.norm(way))
    if lever < 0.05:
        return
    way = way / lever
    tool = world.model.frame_pose(q)[:3, 3]
    sides = (0.3, 0.3, 0.3)
    reach = 0.15 * float(np.abs(way).sum())
    for more in (0.0, 0.05, 0.1):
        if world.place('wall', tool + (reach + gap + more) * way, box=sides, stiffness=stiffness):
            break
    else:
        return
    angle = min(side * 0.8, side * (gap + 0.3) / lever, key=abs)
    reference = world.controller.reference
    target = q.copy() if reference is None else reference.q.copy()
    target[joint] = np.clip(target[joint] + angle, 0.95 * world.limits.lower[joint],
                            0.95 * world.limits.upper[joint])
    if world.goal('trajectory', target, speed, reaction=reaction) is not None:
        world.run_until(lambda: world.pressing() > 1.0, 1.5)
        world.run(seconds)


@rule(2.0)
def cancel(world: World) -> None:
    world.cancel()


@rule(2.0)
def hold(world: World) -> None:
    world.hold()


@rule(1.0)
def resume(world: World) -> None:
    world.request(world.controller.resume)


@rule(1.0, number=range(20))
def law(world: World, number: int) -> None:
    """Another law; the one that a hand leads is one of them."""
    laws = sorted(world.controller.config.laws)
    world.request(lambda: world.controller.switch(laws[number % len(laws)]))


@rule(0.7)
def usual_law(world: World) -> None:
    world.request(lambda: world.controller.switch(world.controller.config.law))


@rule(2.0, strategy=list(STRATEGIES))
def reaction(world: World, strategy: str) -> None:
    world.controller.reaction.choose(strategy)


# -- contact -------------------------------------------------------------------------------------

def _push(world: World, joint: int, side: int, link: int, size: float, seconds: float,
          rise: float = 0.0) -> None:
    """Push with a multiple of the force that must be felt."""
    name, point, force, torque = world.direction(joint, link)
    need = MARGIN * world.threshold + STUCK * world.coulomb
    least = float(np.min(need / np.maximum(np.abs(torque), 1e-3)))      # [N]
    world.push(name, point, side * min(size * least, STRONGEST) * force, seconds, rise)


@rule(3.0, joint=range(7), side=[-1, 1], link=range(7), size=(0.4, 0.9), seconds=(0.02, 0.1))
def touch(world: World, **where: Any) -> None:
    """A light one, which need not be felt."""
    _push(world, **where)


@rule(5.0, joint=range(7), side=[-1, 1], link=range(7), size=(1.2, 3.0), seconds=(0.1, 0.3))
def push(world: World, **where: Any) -> None:
    """One that must be felt."""
    _push(world, **where)


@rule(3.0, joint=range(7), side=[-1, 1], link=range(7), size=(0.25, 1.2),
      seconds=[1.0, 1.0, 3.0, 60.0])
def lean(world: World, **where: Any) -> None:
    """Somebody leans on the arm, up to a minute: for as long as the history goes on."""
    _push(world, **where)


@rule(2.0, joint=range(7), side=[-1, 1], link=range(7), size=(1.5, 6.0), rise=(0.2, 3.0))
def grow(world: World, rise: float, **where: Any) -> None:
    """A push that grows, however slowly; what is new in it must be felt again and again."""
    _push(world, **where, seconds=rise + 0.4, rise=rise)


@rule(0.05, seconds=[10.0, 60.0])
def linger(world: World, seconds: float) -> None:
    """Up to a minute in which nothing new happens, such as with somebody who leans."""
    world.run(seconds)


@rule(1.5)
def let_go(world: World) -> None:
    world.release()


@rule(1.0, gap=(0.003, 0.03), axis=range(3))
def clamp(world: World, gap: float, axis: int) -> None:
    """The tool between two blocks."""
    tool = world.model.frame_pose(world.q)[:3, 3]
    step = np.eye(3)[axis] * (0.05 + gap + 0.04)
    world.place('one block', tool + step, box=(0.1, 0.1, 0.1))
    world.place('other block', tool - step, box=(0.1, 0.1, 0.1))


@rule(0.7)
def floor(world: World) -> None:
    world.place('ground', np.array([0.0, 0.0, -0.16]), box=(3.0, 3.0, 0.2))


@rule(2.0)
def free(world: World) -> None:
    """Take every obstacle away."""
    world.remove_obstacles()


@rule(1.0, joint=range(7), side=[-1, 1], seconds=(0.1, 0.3))
def lead(world: World, joint: int, side: int, seconds: float) -> None:
    """A hand leads the floating arm."""
    world.request(lambda: world.controller.switch('float'))
    world.run(0.05)
    _push(world, joint, side, 6, 0.8, seconds)


@rule(2.0, mass=(0.02, 0.3), tell=[False, True])
def pick_up(world: World, mass: float, tell: bool) -> None:
    world.carry(mass, tell)


@rule(1.0, tell=[False, True])
def drop(world: World, tell: bool) -> None:
    world.carry(0.0, tell)


def _load_base(world: World, size: float, side: float, ahead: float, until: float) -> None:
    """Load the plate with a multiple of what its cells must feel; nothing where there are none."""
    base = world.base
    if base is not None:
        base.push((side, ahead), MARGIN * size * float(base.monitor.detector.threshold[0]), until)


@rule(2.0, size=[-2.0, -1.2, 1.2, 3.0], side=(-1.0, 1.0), ahead=(-1.0, 1.0), seconds=(0.15, 0.4))
def push_base(world: World, size: float, side: float, ahead: float, seconds: float) -> None:
    """A push on the plate that its cells must feel, and the joints cannot."""
    _load_base(world, size, side, ahead, world.time + seconds)


@rule(1.0, size=(0.2, 1.5), side=(-1.0, 1.0), ahead=(-1.0, 1.0))
def lay_on_base(world: World, **where: float) -> None:
    """Something is laid on the plate and left there."""
    _load_base(world, **where, until=math.inf)


@rule(0.7)
def clear_base(world: World) -> None:
    if world.base is not None:
        world.base.clear()


@rule(0.5)
def zero_cells(world: World) -> None:
    if world.base is not None:
        world.base.zero()


@rule(1.0, seconds=(0.1, 1.0))
def allow_contact(world: World, seconds: float) -> None:
    world.allow_contact(seconds)


# -- boards, wires, processes, clocks ------------------------------------------------------------

@rule(2.5, name=list(BOARD_FAULTS), board=range(4), seconds=(0.002, 0.3))
def board(world: World, name: str, board: int, seconds: float) -> None:
    """A fault of the emulated boards; an effort interface falls silent or says nonsense."""
    world.fail_board(name, board, seconds)


@rule(1.0, pause=range(2, 41), together=range(1, 31), seconds=(0.05, 1.0))
def bursts(world: World, pause: int, together: int, seconds: float) -> None:
    """States come after pauses of some milliseconds, several at once; of an effort arm only."""
    world.burst(1e-3 * pause, together, seconds)


@rule(0.7)
def power_loss(world: World) -> None:
    world.power_loss()


@rule(1.5, kind=['missing', 'late', 'nan', 'twin'], seconds=(0.002, 0.2), delay=range(1, 40))
def commands(world: World, kind: str, seconds: float, delay: int) -> None:
    """Commands are lost, come late, hold no numbers or come from two controllers."""
    world.disturb(kind, seconds, delay)


@rule(1.0, seconds=[-3600.0, -0.005, 0.03, 0.2, 86400.0])
def clock(world: World, seconds: float) -> None:
    """The wall clock is set."""
    world.set_clock(seconds)


@rule(1.5, milliseconds=range(2, 31), seconds=(0.05, 0.3))
def cycles(world: World, milliseconds: int, seconds: float) -> None:
    """The loop is late for a while."""
    world.cycles(milliseconds, seconds)


@rule(0.7, seconds=(0.005, 0.3))
def pause_controller(world: World, seconds: float) -> None:
    world.controller_pause = world.time + seconds


@rule(0.7, seconds=(0.01, 0.3))
def restart_controller(world: World, seconds: float) -> None:
    world.restart_controller(seconds)


@rule(0.7, seconds=(0.005, 0.4))
def pause_observer(world: World, seconds: float) -> None:
    world.observer_pause = world.time + seconds


@rule(0.7, seconds=(0.01, 0.3))
def restart_observer(world: World, seconds: float) -> None:
    world.restart_observer(seconds)


@rule(0.5)
def restart_driver(world: World) -> None:
    world.restart_driver()


# -- what a person does at the driver ------------------------------------------------------------

@rule(1.0)
def emergency_stop(world: World) -> None:
    world.emergency_stop()


@rule(1.0)
def clear_fault(world: World) -> None:
    world.clear()


@rule(0.7)
def clear_controller(world: World) -> None:
    world.controller.clear_fault()


@rule(1.5)
def enable(world: World) -> None:
    world.enable()


@rule(0.7)
def disable(world: World) -> None:
    world.disable()


@rule(3.0)
def recover(world: World) -> None:
    """Everything a person does to get a faulted arm going again."""
    world.recover()
