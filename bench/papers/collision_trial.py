"""Collision tests of the documents: drive into an obstacle, watch the detector and the reaction.

Everything runs through `ClosedLoop`: emulated boards with noise and quantisation, a real
`CollisionMonitor`, the controller's own reaction. Contact forces are the plant's truth.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
import math
from typing import NamedTuple

import numpy as np

from armsense.control.config import ControllerConfig
from armsense.control.motion_controller import MotionController
from armsense.model import Arm
from armsense.sim.closed_loop import ClosedLoop, Cycle
from armsense.trajectory import QuinticSpline
from armsense.types import Array
from armsense.watch.collision_monitor import CollisionMonitor, DetectionConfig
from armsense.watch.state_estimator import VelocityOptions

HALTED = 0.05   # of the speed at detection


@dataclass(frozen=True)
class Setup:
    """Motion and obstacle of a collision test."""

    arm: str
    start: tuple[float, ...]                # [rad]
    goal: tuple[float, ...]                 # [rad]
    duration: float                         # [s] of the motion
    box: tuple[float, float, float]         # [m] full sides of the obstacle
    position: tuple[float, float, float]    # [m] of its centre
    joint: int                              # the one that swings
    stiffness: float = 10e3                 # [N/m]
    dissipation: float = 0.04               # [s/m] alpha of Hunt and Crossley
    speed: float = 100.0                    # [deg/s] of the swing, where no duration is given


# Thesis 000, section 5.3: from vertical to 120 degrees (joint 2 of the document counts from the
# vertical, that of the URDF from the horizontal), a flat obstacle at the height of joint 2.
BIOROB = Setup('biorob', (0.0, math.pi / 2, 0.0, 0.0), (0.0, -math.pi / 6, 0.0, 0.0), 1.8,
               (0.3, 0.3, 0.2), (0.72, 0.0, 0.25 - 0.1 - 0.015), 1)
# Paper 001, section 6, fig. 6: joint 2 at 100 degrees per second and 200 degrees per second^2 onto
# a cube of 0.3 m; the commanded pose lies inside the cube.
TUDOR = Setup('tudor', (0.0, 1.35, -0.3), (0.0, -0.5, -0.3), 0.0, (0.3, 0.3, 0.3),
              (0.75, 0.0, 0.357 - 0.15), 1, stiffness=20e3)


class TrialResult(NamedTuple):
    """What a collision test showed; times in s, NaN where it did not happen."""

    false_alarms: int      # detections before the contact
    contact: float         # [s] first touch
    detection: float       # [s]
    speed: float           # [rad/s] of the swinging joint's motor at the detection
    halt: float            # [s] from detection until that motor is at 5 % of this speed
    dissipation: float     # [s] from first touch to last touch
    peak_force: float      # [N]
    rest_force: float      # [N] mean of the last 0.5 s
    phase: str             # of the reaction at the end


@dataclass
class Log:
    """Truth and detections, cycle by cycle."""

    time: list[float] = field(default_factory=list)       # [s]
    force: list[float] = field(default_factory=list)      # [N]
    speed: list[float] = field(default_factory=list)      # [rad/s] motor of the swinging joint
    q: list[Array] = field(default_factory=list)          # [rad] (n,)
    detections: list[float] = field(default_factory=list)   # [s]


class CollisionTrial:
    """One arm in front of its obstacle; `run` it, then look at `result`."""

    def __init__(self, setup: Setup, strategy: str, *, monitor: CollisionMonitor | None = None,
                 config: ControllerConfig | None = None, model: Arm | None = None,
                 seed: int = 1) -> None:
        """Put arm and obstacle in place.

        Args:
            setup: Motion and obstacle.
            strategy: Reaction to the collision.
            monitor: None: the arm's own from `config/detection.yaml`.
            config: None: the arm's own from `config/controllers.yaml`.
            model: The arm, also of the simulation; None: as in `config/arms`.
            seed: Of every random number.
        """
        self.setup, self.strategy = setup, strategy
        self.model = model or Arm.load(setup.arm)
        # The arm stands on a pedestal beside the obstacle: no floor. The trajectory is not given
        # up for its tolerance: without reaction the arm shall press on.
        config = replace(config or ControllerConfig.of(self.model), floor=None,
                         path_tolerance=(0.0,), goal_tolerance=(0.0,))
        monitor = monitor or CollisionMonitor(self.model, detection(self.model))
        self.loop = ClosedLoop(self.model, controller=MotionController(self.model, config),
                               monitor=monitor, seed=seed, home=np.array(setup.start))
        self.loop.plant.place_obstacle('cube', setup.position, box=setup.box,
                                       stiffness=setup.stiffness, dissipation=setup.dissipation)
        self.log = Log()

    def run(self, rest: float = 0.5, after: float = 2.0) -> TrialResult:
        """Stand still, swing into the obstacle, wait; times [s]."""
        self.loop.run(rest, self._note)
        trajectory = swing(self.setup, self.model)
        self.loop.controller.reaction.choose(self.strategy)   # also for what follows the motion
        self.loop.controller.follow(trajectory)
        self.loop.run(trajectory.duration + after, self._note)
        return self.result()

    def result(self) -> TrialResult:
        """Figures of what has happened until now."""
        time, force = np.array(self.log.time), np.array(self.log.force)
        touched = np.flatnonzero(force > 0.0)
        contact = float(time[touched[0]]) if len(touched) else math.nan
        early = [t for t in self.log.detections if not t >= contact]
        later = [t for t in self.log.detections if t >= contact]
        detection, speed, halt = later[0] if later else math.nan, math.nan, math.nan
        if later:
            start = int(np.searchsorted(time, detection))
            speeds = np.abs(self.log.speed[start:])
            speed = float(speeds[0])
            slow = np.flatnonzero(speeds <= HALTED * speed)
            halt = float(time[start + slow[0]] - detection) if len(slow) else math.nan
        last = float(time[touched[-1]]) - contact if len(touched) else math.nan
        tail = round(0.5 / self.loop.dt)
        return TrialResult(len(early), contact, detection, speed, halt, last,
                           float(force.max()), float(force[-tail:].mean()),
                           self.loop.controller.phase.value)

    def _note(self, cycle: Cycle) -> None:
        plant, log = self.loop.plant, self.log
        state = plant.state
        log.time.append(cycle.time)
        log.force.append(sum(float(np.linalg.norm(c.force)) for c in plant.contact))
        log.speed.append(float(state.motor_velocity[self.setup.joint]))
        log.q.append(state.joint_position.copy())
        if cycle.result is not None and cycle.result.detection is not None:
            log.detections.append(cycle.time)


def detection(model: Arm) -> DetectionConfig:
    """What `config/detection.yaml` says of the arm; else calm velocities for coarse encoders."""
    config = DetectionConfig.of(model)
    if config != DetectionConfig():
        return config
    return DetectionConfig(gain=50.0, velocity=VelocityOptions(window=40))


def swing(setup: Setup, model: Arm) -> QuinticSpline:
    """A quintic of the given duration; where that is 0, the given speed, up to 200 deg/s^2."""
    start, goal = np.array(setup.start), np.array(setup.goal)
    if setup.duration > 0.0:
        rest = np.zeros((2, model.n))
        return QuinticSpline([0.0, setup.duration], [start, goal], rest, rest)
    speed, acceleration = math.radians(setup.speed), math.radians(190.0)
    return cruise(start, goal, speed, acceleration)


def cruise(start: Array, goal: Array, speed: float, acceleration: float) -> QuinticSpline:
    """Straight line with a stretch of constant speed [rad/s] of the joint that goes furthest."""
    way = goal - start
    length = float(np.abs(way).max())
    along = way / length
    # A quintic from rest to `speed` with peak acceleration a takes 1.5 speed / a.
    ramp = 1.5 * speed / acceleration
    cruising = (length - speed * ramp) / speed
    times = [0.0, ramp, ramp + cruising, 2.0 * ramp + cruising]
    ways = [0.0, 0.5 * speed * ramp, length - 0.5 * speed * ramp, length]
    speeds = [0.0, speed, speed, 0.0]
    return QuinticSpline(times, [start + along * s for s in ways], [along * v for v in speeds],
                         np.zeros((4, len(way))))
