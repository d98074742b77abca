"""What drives a simulated arm: the arbiter on emulated boards, or on an effort interface."""

from __future__ import annotations

import math

import numpy as np

from armsense.boards.arm_driver import ArmDriver
from armsense.boards.command_guard import guard_limits
from armsense.boards.effort_bridge import EffortBridge
from armsense.boards.emulator.faults import Injection
from armsense.boards.joint_map import motor_zero, Reading
from armsense.model import Arm
from armsense.sim.closed_loop import ClosedLoop
from armsense.sim.mujoco_plant import make_plant

MS = 0.001                   # [s] step of boards and plant
ROBOT_SILENCE = 50_000_000   # [ns] without joint states, as of the node
SOON = 20e-6                 # [s] from one to the next of states that come together


class Clocks:
    """Time as the software sees it; nothing depends on the machine."""

    def __init__(self) -> None:
        self._now = 10**12                       # [ns] monotonic
        self._offset = 1_700_000_000 * 10**9     # [ns] of the wall clock
        self._spent = 0                          # [ns] of the next step

    def advance(self, seconds: float) -> None:
        self._now += round(seconds * 1e9) - self._spent
        self._spent = 0

    def spend(self, seconds: float) -> None:
        """Time passes within a step, before it is over."""
        self._now += round(seconds * 1e9)
        self._spent += round(seconds * 1e9)

    def set_wall(self, seconds: float) -> None:
        self._offset += round(seconds * 1e9)

    def wall_ns(self) -> int:
        return self._now + self._offset

    def monotonic_ns(self) -> int:
        return self._now


# Position [rad], velocity [rad/s], effort [Nm] of the joints, and the stamp [ns].
Message = tuple[list[float], list[float], list[float], int]


class BoardsBack:
    """Driver and emulated boards, which exchange bytes."""

    more = False                             # of states that wait to be read

    def __init__(self, model: Arm, seed: int, clocks: Clocks) -> None:
        self.model, self._clocks = model, clocks
        self._loop = ClosedLoop(model, seed=seed)
        self.plant, self.rack = self._loop.plant, self._loop.rack.rack
        self.driver = self._loop.driver
        self.restart()

    def restart(self) -> None:
        """The driver's program begins anew; the boards go on."""
        old = self.driver
        self.driver = ArmDriver(self._loop.config, guard_limits(self.model), old.links,
                                old.settings, zero=motor_zero(self.model),
                                clock=self._clocks.monotonic_ns)

    def physics(self) -> list[float]:
        """Boards advance by a millisecond; motor torques [Nm], (n,)."""
        return self._loop._step_boards()

    def cycle(self) -> Reading | None:
        return self.driver.cycle()

    def let_go(self) -> None:
        """Last words of the driver."""
        self.driver.let_go()
        for _ in range(2):
            self.driver.cycle()

    def inject(self, name: str, board: int, seconds: float) -> None:
        board %= len(self.rack.boards)
        self.rack.inject(Injection(name, board, self.rack.time, seconds))

    def power_cycle(self) -> None:
        for board in range(len(self.rack.boards)):
            self.rack.power_cycle(board)

    @property
    def unsafe_frames(self) -> int:
        return self.rack.unsafe_frames

    @property
    def brakes(self) -> list[bool]:
        """Joints whose board drives its motors, so that they can be braked, (n,)."""
        boards = self.driver._monitors
        return [boards[board].was_driving for board, _ in self.driver.map.slots]


class EffortBack:
    """The arm of somebody else: joint states in, efforts out."""

    unsafe_frames = 0

    def __init__(self, model: Arm, seed: int, clocks: Clocks) -> None:
        config = model.config
        self.brakes = [True] * model.n
        self.model, self._config, self._clocks = model, config, clocks
        self.plant = make_plant(config, seed=seed)
        self.plant.reset(config.home)
        self._torque = [0.0] * model.n
        self._silent_until = self._nan_until = 0
        self._burst_until = self._pause = 0      # [ns]
        self._together = 1
        self._held: list[Message] = []           # on their way
        self._arrived: list[Message] = []        # to be read now
        self._heard = clocks.monotonic_ns()
        self.restart()

    def restart(self) -> None:
        """The bridge's program begins anew."""
        self.driver = EffortBridge(self.model, guard_limits(self.model),
                                   clock=self._clocks.monotonic_ns)

    def physics(self) -> list[float]:
        """The robot gives the last effort that it was told."""
        return self._torque

    def cycle(self) -> Reading | None:
        now, bridge = self._clocks.monotonic_ns(), self.driver
        if now < self._silent_until:
            if now - self._heard > ROBOT_SILENCE:
                bridge.silence()
                self._torque = [0.0] * self.model.n
            self._held, self._arrived = [], []
            return None
        if self._arrived:
            self._clocks.spend(SOON)
        else:
            self._held.append(self._state(now))
            if now < min(self._burst_until, self._heard + self._pause):
                return None
            self._arrived, self._held = self._held[-self._together:], []
        self._heard = now
        reading = bridge.read(bridge.names, *self._arrived.pop(0))
        self._torque = bridge.efforts(reading)
        return reading

    @property
    def more(self) -> bool:
        return bool(self._arrived)

    def _state(self, now: int) -> Message:
        """As the robot samples and stamps it."""
        state = self.plant.state
        position = np.round(state.motor_position, 5).tolist()
        if now < self._nan_until:
            position[0] = math.nan
        return position, state.motor_velocity.tolist(), self._torque, self._clocks.wall_ns()

    def burst(self, pause: float, together: int, seconds: float) -> None:
        """For some seconds states come after pauses, the newest of them together."""
        self._pause, self._together = round(pause * 1e9), together
        self._burst_until = self._clocks.monotonic_ns() + round(seconds * 1e9)

    def let_go(self) -> None:
        """Last words of the bridge."""
        self.driver.let_go()
        self._torque = [0.0] * self.model.n

    def inject(self, name: str, board: int, seconds: float) -> None:
        """Some faults of boards are here a robot that says nonsense, all others its silence."""
        until = self._clocks.monotonic_ns() + round(seconds * 1e9)
        if name in ('reply_ones', 'reply_zeros', 'lost_counts', 'encoder_fault'):
            self._nan_until = until
        else:
            self._silent_until = until

    def power_cycle(self) -> None:
        """The robot is silent while it starts."""
        self.inject('power', 0, 0.15)
        self._nan_until = 0
