"""What people, things and chance do to an arm and its software: one method each.

Everything that touches the product is here and in `loop`, `base` and `backs`; rules and invariants
know `World`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import math
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

from armsense.boards.mode import Mode
from armsense.control.goal import GoalStatus
from armsense.control.motion_controller import MotionController
from armsense.errors import ArmsenseError
from armsense.trajectory import point_to_point, Tolerances
from armsense.types import Array
from armsense.watch.collision_monitor import CollisionMonitor
from bench.life.backs import EffortBack
from bench.life.loop import Disturbance, Loop, MS, Push

LONGEST_END = 3.0       # [s] of a driver
CARRY_SPEED = 10.0      # [rad/s] of an arm that a person carries home; quickly, to save time


class World(Loop):
    """One arm that lives through a history."""

    # -- what a person does at the driver ------------------------------------------------------

    def enable(self) -> Any:
        answer = self.driver.enable()
        if answer.success and self.mode in (Mode.STARTING, Mode.ENABLED):
            self.permit = True
        return answer

    def disable(self) -> None:
        self.driver.disable()
        self._revoke()

    def emergency_stop(self) -> None:
        self.driver.emergency_stop()
        self.stopped = True
        self._revoke()

    def clear(self) -> Any:
        """An honest user: what an answer asks for is done before the next one is asked for."""
        self._do_what_was_asked()
        answer = self.driver.clear_fault()
        self._asked = '' if answer.success else answer.message
        if answer.success or answer.message.startswith('emergency_stop cleared'):
            self.stopped = False
        return answer

    def _do_what_was_asked(self) -> None:
        asked, self._asked = self._asked, ''
        if 'home' in asked:
            self.carry_home()
        if 'power-cycle' in asked:
            self.power_loss()
            self.run(0.1)

    def recover(self) -> None:
        """The documented way out of every fault, for a person who reads the answers."""
        self.disturbance = None
        self.observer_pause = self.controller_pause = -math.inf
        for _ in range(6):
            if self.mode in (Mode.ENABLED, Mode.STARTING):
                break
            self.carry_home()
            if self.clear().success:
                answer = self.enable()
                self._asked = '' if answer.success else answer.message
            self.run(0.1)
            if self.mode is Mode.DAMPING and not self._asked and self.driver.fault is not None:
                self._asked = self.driver.fault.explanation      # as its mode topic shows it
        self.controller.clear_fault()
        self.run(0.05)
        self.hold()
        self.run(0.01)

    def carry_home(self) -> None:
        """Somebody leads the arm to its home pose, by hand."""
        if self.mode is Mode.ENABLED:
            return
        self.handled = True
        way = self.home - self.q
        count = max(1, math.ceil(float(np.abs(way).max()) / (CARRY_SPEED * MS)))
        start = self.q.copy()
        self.release()
        self.remove_obstacles()
        self.carry(0.0, tell=True)            # springs align where they hang without a load
        for k in range(1, count + 1):
            self.plant.reset(start + way * k / count)
            self.step()
        self.run(0.02)
        self.handled = False

    def power_loss(self) -> None:
        self.back.power_cycle()
        self._revoke()

    def fail_board(self, name: str, board: int, seconds: float) -> None:
        self.back.inject(name, board, seconds)
        self._broken_until = max(self._broken_until, self.time + seconds + 0.01)
        if name == 'board_reset':
            self._revoke()

    def burst(self, pause: float, together: int, seconds: float) -> None:
        if isinstance(self.back, EffortBack):
            self.back.burst(pause, together, seconds)
            self._broken_until = max(self._broken_until, self.time + seconds + 0.01)

    # -- what a person does at the controller --------------------------------------------------

    def request(self, act: Callable[[], Any]) -> Any:
        """A request may be refused; every other exception is a defect."""
        try:
            return act()
        except ArmsenseError:
            return None

    def goal(self, kind: str, target: Array, speed: float, *, tight: bool = False,
             reaction: str | None = None, delay: float = 0.0) -> GoalStatus | None:
        """Send a goal; it is planned while the arm goes on for `delay` seconds."""
        controller, now = self.controller, self.controller.reference
        tolerances = Tolerances(path=np.full(self.n, 0.01), goal=np.full(self.n, 0.002),
                                goal_time=0.3) if tight else None
        if now is None:
            return None
        motion = point_to_point(now.q, target, self.limits, self.model, speed)
        last = motion.duration
        if kind == 'waypoints':
            times = np.array([0.5, 1.0]) * last * 1.3
            points = np.array([0.5 * (now.q + target), target])
            zero = np.array([np.zeros(self.n)] * 2)
            zero[0] = (target - now.q) / (last * 1.3)
            call = lambda: controller.follow_waypoints(   # noqa: E731
                times, points, zero, np.zeros_like(zero), tolerances, reaction)
        elif kind == 'stamped':
            call = lambda: controller.follow_waypoints(   # noqa: E731
                [1.3 * last], [target], None, None, tolerances, reaction, controller.time + 0.1)
        elif kind == 'home':
            call = controller.home
        else:
            call = lambda: controller.follow(motion, tolerances, reaction)   # noqa: E731
        with self._slow_planning(delay):
            return self.request(call)

    def try_goal(self) -> tuple[GoalStatus | None, str]:
        """A goal that a patient person gets accepted, or why it is not."""
        why = 'the controller has no reference'
        for attempt in range(4):
            reference = self.controller.reference
            try:
                if reference is not None:
                    target = reference.q + 0.1 * np.where(reference.q > self.home, -1.0, 1.0)
                    return self.controller.follow(point_to_point(
                        reference.q, target, self.limits, self.model, 0.5)), ''
            except ArmsenseError as error:
                why = str(error)
            self.hold()
            if attempt == 2:                  # where no way leads out, a hand does
                self.disable()
                self.recover()
            self.run(0.4)
            if 'lasts on base' in why:
                self.zero_cells()
        return None, why

    def zero_cells(self) -> None:
        """Of an arm whose base says that a contact lasts that a person does not see."""
        if self.base is not None:
            self.run(1.0)                     # cells that still swing cannot be zeroed
            self.base.zero()
            self.run(0.2)                     # until the controller has heard of it

    @contextmanager
    def _slow_planning(self, seconds: float) -> Iterator[None]:
        """The loop goes on between the begin of the planning and its end."""
        planner = self.controller._planner
        check = planner.check

        def slow(*arguments: Any) -> Any:
            if not self.planning and seconds > 0.0:
                self.planning = True
                self.run(seconds)
                self.planning = False
            return check(*arguments)
        with mock.patch.object(planner, 'check', slow):
            yield

    def hold(self) -> None:
        self.controller.hold()
        self._tell('gave_up')

    def cancel(self) -> None:
        self.controller.cancel()
        self._tell('gave_up')

    # -- what happens to processes, wires and clocks -------------------------------------------

    def restart_controller(self, pause: float) -> None:
        self.controller = MotionController(self.model)
        self._fresh_controller()
        self.controller_pause = self.time + pause
        self._tell_payload(0.0)

    def restart_observer(self, pause: float) -> None:
        self.monitor = CollisionMonitor(self.model)
        self._fresh_observer()
        if self.base is not None:
            self.base.restart()
        self.observer_pause = self.time + pause
        self._tell_payload(self.told)

    def restart_driver(self) -> None:
        self.end()
        self.back.restart()
        self.ended = self.stopped = False

    def end(self) -> None:
        """The driver's program ends, in whatever mode."""
        self._revoke()
        self.ended = True
        self.driver.release()
        self.run_until(lambda: self.driver.released, LONGEST_END)
        self.back.let_go()

    def cycles(self, milliseconds: int, seconds: float) -> None:
        self.cycle_ms, self._cycle_until = milliseconds, self.time + seconds

    def set_clock(self, seconds: float) -> None:
        self._tell('clock_set')
        self.clocks.set_wall(seconds)

    def disturb(self, kind: str, seconds: float, delay: int = 0) -> None:
        self.disturbance = Disturbance(kind, self.time + seconds, delay)

    # -- what happens to the arm ---------------------------------------------------------------

    def direction(self, joint: int, link: int) -> tuple[str, Array, Array, Array]:
        """Link, point, unit force that loads a joint best, and the torques of it."""
        q = self.q
        link %= self.n
        joint = min(joint % self.n, link)
        name = self.model.link_names[link]
        place = np.zeros(3)
        if link == self.n - 1:
            link_pose, tool_pose = self.model.frame_pose(q, name), self.model.frame_pose(q)
            place = (np.linalg.inv(link_pose) @ tool_pose)[:3, 3]
        J = self.model.point_jacobian(q, name, place)
        size = float(np.linalg.norm(J[:, joint]))
        if size < 0.05:
            return self.direction(joint, self.n - 1) if link < self.n - 1 else (
                name, place, J[:, 0] / max(float(np.linalg.norm(J[:, 0])), 1e-3), J.T @ J[:, 0])
        force = J[:, joint] / size
        return name, place, force, J.T @ force

    def push(self, link: str, point: Array, force: Array, seconds: float,
             rise: float = 0.0) -> None:
        self._pushed += 1
        push = Push(link, point, force, self.time + seconds, self.time, rise)
        self.pushes[self._pushed] = push
        self.plant.apply_force(link, point, push.now(self.time))

    def release(self) -> None:
        self._keep_pushes({})

    def place(self, name: str, position: Array, **shape: Any) -> bool:
        try:
            self.plant.place_obstacle(name, position, **shape)
            return True
        except ArmsenseError:      # it would be inside the arm
            return False

    def tidy(self) -> None:
        """Nobody touches the arm or its base, it carries nothing, and no cable is loose."""
        self.release()
        self.remove_obstacles()
        if self.base is not None:
            self.base.clear()
        self.carry(0.0, tell=True)
        self.cycle_ms, self._cycle_until = 1, 0.0
        self.run(max(0.05, self._broken_until - self.time))

    def usual_law(self) -> None:
        self.controller.switch(self.controller.config.law)
        self.run(0.01)

    def remove_obstacles(self) -> None:
        self._tell('freed')
        for name in list(self.plant.obstacles):
            self.plant.remove_obstacle(name)

    def carry(self, mass: float, tell: bool) -> None:
        self.carried = mass
        self.plant.set_payload(mass)
        if tell:
            self._tell_payload(mass)

    def _tell_payload(self, mass: float) -> None:
        self.told = mass
        self.controller.set_payload(mass)
        self.monitor.set_model(self.model.with_payload(mass))
        if self.base is not None:
            self.base.set_payload(mass)

    def allow_contact(self, seconds: float) -> None:
        self.monitor.detector.allow_contact(seconds)


def snapshot(plant: Any) -> SimpleNamespace:
    """State of a plant, to come back to."""
    data = plant.data
    return SimpleNamespace(qpos=data.qpos.copy(), qvel=data.qvel.copy(), time=data.time,
                           applied=data.qfrc_applied.copy(), warm=data.qacc_warmstart.copy())


def restore(plant: Any, saved: SimpleNamespace) -> None:
    data = plant.data
    data.qpos[:], data.qvel[:], data.time = saved.qpos, saved.qvel, saved.time
    data.qfrc_applied[:], data.qacc_warmstart[:] = saved.applied, saved.warm
    plant._sense()
