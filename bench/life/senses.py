"""The two ways in which an arm feels: joints and load cells, as an invariant looks at them."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from armsense.types import Array
from bench.life.base import of_force
from bench.life.world import World

SILENCE = 0.05       # [s] without a state


class Sense(Protocol):
    """Channels (joints, or axes of the base wrench) with thresholds, and who watches them."""

    names: tuple[str, ...]
    friction: Array          # that hides a contact at rest, (k,)
    gains: Array             # of the observer [1/s], (k,)

    @property
    def threshold(self) -> Array:
        """Now, (k,)."""

    @property
    def lasting(self) -> Array:
        """Channels whose contact lasts, as the system says, (k,)."""

    @property
    def detections(self) -> list[float]:
        """When something was reported [s]."""

    def causes(self) -> dict[str, Array]:
        """True loads of every cause there is, (k,) each."""

    def unknown(self) -> Array:
        """Load without a cause of its own: not told, zeroed away, of end stops, (k,)."""

    def why_deaf(self, channel: int) -> str:
        """Why nothing would be felt now, in the system's own words; empty: it would."""


class JointSense:
    """Residual of the momentum observer [Nm]."""

    def __init__(self, world: World) -> None:
        self._world = world
        config = world.monitor.config
        self.names = world.model.joint_names
        self.friction = world.coulomb
        self.gains = np.broadcast_to(np.array(config.gains or config.gain, float), (world.n,))

    @property
    def threshold(self) -> Array:
        return np.asarray(self._world.monitor.detector.threshold)

    @property
    def lasting(self) -> Array:
        result = self._world.result
        return np.zeros(len(self.names), bool) if result is None else result.lasting

    @property
    def detections(self) -> list[float]:
        return self._world.detections

    def causes(self) -> dict[str, Array]:
        world = self._world
        return world.contact_torques() if world.pushes or world.plant.contact else {}

    def unknown(self) -> Array:
        return self._world.weight_unknown() + self._world.stop_torque()

    def why_deaf(self, channel: int) -> str:
        return self._world.why_deaf(channel)


class BaseSense:
    """Wrench that the load cells feel beyond that of the motion [N, Nm]; no channels: no cells."""

    def __init__(self, world: World) -> None:
        self._world, base = world, world.base
        self.names: tuple[str, ...] = () if base is None else base.monitor.layout.names
        self.friction = np.zeros(len(self.names))
        gain = 1.0 if base is None else base.monitor.options.gain
        self.gains = np.full(len(self.names), gain)
        self._zeros = 0
        self._tare = np.zeros(len(self.names))     # load that was taken for none

    @property
    def threshold(self) -> Array:
        assert self._world.base is not None
        return np.asarray(self._world.base.monitor.detector.threshold)

    @property
    def lasting(self) -> Array:
        assert self._world.base is not None
        result = self._world.base.result
        return np.zeros(len(self.names), bool) if result is None else result.lasting

    @property
    def detections(self) -> list[float]:
        assert self._world.base is not None
        return self._world.base.detections

    def causes(self) -> dict[str, Array]:
        """What stands or pushes on the plate, and every contact of the arm above it."""
        world, base = self._world, self._world.base
        if base is None:
            return {}
        found = {name: base.felt(wrench) for name, (wrench, _) in base.loads.items()}
        for contact in world.plant.contact:
            found[contact.cause] = found.get(contact.cause, 0.0) + base.felt(
                of_force(contact.point, contact.force))
        return found

    def unknown(self) -> Array:
        world, base = self._world, self._world.base
        if base is None:
            return np.zeros(0)
        weight = (world.carried - world.told) * np.array(world.config.gravity)
        load = base.felt(of_force(world.model.frame_pose(world.q)[:3, 3], weight))
        if base.zeros != self._zeros:
            self._zeros = base.zeros
            self._tare = load + sum(self.causes().values())
        return load - self._tare

    def why_deaf(self, channel: int) -> str:
        base = self._world.base
        assert base is not None
        if self._world.time > base.heard + SILENCE:
            return 'no states come'
        return base.why_deaf
