"""An arm, its software and the people around it, in one process and on one injected clock.

Everything that touches the product is here and in `backs`: rules and invariants know `World`.
Boards, driver, controller, observer and plant are those of `ClosedLoop`; the cycle is written out
again because histories need what a healthy loop does not have: cycles of different lengths, parts
that pause or start anew, commands that are lost, a second controller, a wall clock that is set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
import math
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from armsense_core.collision_monitor import CollisionMonitor, MonitorResult
from armsense_core.control.goal import GoalStatus
from armsense_core.control.motion_controller import MotionController
from armsense_core.control.types import ArmState, Command
from armsense_core.detector.lasting import lasting_text
from armsense_core.errors import ArmsenseError
from armsense_core.model import ArmModel
from armsense_core.reaction.machine import CollisionEvent, Phase
from armsense_core.state_estimator import StateEstimator
from armsense_core.trajectory import point_to_point, Tolerances
from armsense_driver.arbiter import Mode
from armsense_driver.faults import Fault, FaultKind
from armsense_driver.joint_map import JointCommand, Reading
from bench.life.backs import BoardsBack, Clocks, EffortBack, MS

Array = NDArray[np.float64]
SILENCE = 0.2           # [s] after which a controller knows that the observer is gone
EFFORT = '/effort'      # behind an arm's name: driven through an effort interface
TURNS = 4               # changes between two senders after which they are two controllers
LONGEST_END = 3.0       # [s] of a driver
CARRY_SPEED = 10.0      # [rad/s] of an arm that a person carries home; quickly, to save time


@dataclass
class Push:
    """A force of a person on a link."""

    link: str
    point: Array         # [m] link frame, (3,)
    force: Array         # [N] world frame, (3,)
    until: float         # [s]


@dataclass
class Disturbance:
    """What happens to commands on their way."""

    kind: str            # 'missing', 'late', 'nan' or 'twin'
    until: float         # [s]
    delay: int = 0       # cycles, of late ones
    waiting: list[Any] = field(default_factory=list)
    turns: int = 0
    twin: Any = None


class World:
    """One arm that lives through a history; `tick` and `cycle` tell whoever watches it."""

    def __init__(self, arm: str, seed: int) -> None:
        self.arm, self.seed = arm, seed
        name = arm.removesuffix(EFFORT)
        self.model = ArmModel.load(name)
        config = self.model.config
        assert config is not None
        self.config, self.n = config, self.model.n
        self.home = np.array(config.home)
        self.clocks = Clocks()
        self.time = 0.0                       # [s] monotonic
        self.steps = 0                        # cycles
        self.controller = MotionController(self.model)
        self.limits = self.controller.limits
        self.monitor = CollisionMonitor(self.model)
        self.coulomb = np.array([j.friction.coulomb for j in config.joints.values()])
        self.strongest = np.array([j.torque_limit for j in config.joints.values()])   # [Nm] motors
        self.damping = np.array([j.safe_damping for j in config.joints.values()])
        self.pushes: dict[int, Push] = {}
        self._pushed = 0
        self.carried = self.told = 0.0        # [kg] in the hand, and as the software knows it
        self.cycle_ms, self._cycle_until = 1, 0.0
        self.detections: list[float] = []     # [s]
        self.torque = [0.0] * self.n          # [Nm] of the motors
        self.reading: Reading | None = None
        self.result: MonitorResult | None = None
        self.command: Command | None = None
        self.state: ArmState | None = None
        self.dt = MS                          # [s] of the last step of the controller
        self.stepped = False                  # the controller answered in this cycle
        self.handled = False                  # a person carries the arm, nothing counts
        self.planning = False
        self._asked = ''                      # what the last answer of the driver asked for
        self.given = self.enabled_at = -math.inf   # [s] last command, last change to ENABLED
        self.permit = False                   # a person has enabled the motors since ...
        self.revoked = -math.inf              # [s] the last stop, fault or power loss
        self.stopped = False                  # an emergency stop was pressed and not cleared
        self.ended = False
        self._broken_until = 0.0              # [s] all board faults are over
        self.observer_pause = self.controller_pause = -math.inf   # [s] until then
        self.listeners: list[Any] = []        # of `tick`, `cycle` and `told`
        self.disturbance: Disturbance | None = None
        back = EffortBack if arm.endswith(EFFORT) else BoardsBack
        self.back: Any = back(self.model, seed, self.clocks)
        self._fresh_controller()
        self._fresh_observer()
        self._start()

    def _start(self) -> None:
        """The arm stands on its support until its motors are on."""
        self.handled = True
        self.run(0.005)
        self.enable()
        self.run_until(lambda: self.mode is Mode.ENABLED, 0.5)
        self.handled = False
        self.run(0.15)

    # -- what can be seen ----------------------------------------------------------------------

    @property
    def driver(self) -> Any:
        return self.back.driver

    @property
    def plant(self) -> Any:
        return self.back.plant

    @property
    def mode(self) -> Mode:
        return self.driver.mode

    @property
    def fault(self) -> str:
        return self.driver.fault.name if self.driver.fault is not None else ''

    @property
    def phase(self) -> Phase:
        return self.controller.phase

    @property
    def floats(self) -> bool:
        return self.controller.law_name == 'float' or (
            self.phase is Phase.REACTING and self.controller.reaction.strategy == 'float')

    @property
    def q(self) -> Array:
        """True positions [rad], (n,)."""
        return np.asarray(self.plant.state.joint_position)

    @property
    def dq(self) -> Array:
        return np.asarray(self.plant.state.joint_velocity)

    @property
    def threshold(self) -> Array:
        """Above which a residual is a collision now [Nm], (n,)."""
        return np.asarray(self.monitor.detector.threshold)

    @property
    def gains(self) -> Array:
        """Of the observer [1/s], (n,)."""
        config = self.monitor.config
        return np.broadcast_to(np.array(config.gains or config.gain, float), (self.n,))

    def why_deaf(self, joint: int) -> str:
        """What the system itself says of why a joint would feel nothing now; empty: it would."""
        if self.mode is not Mode.ENABLED:
            return f'the driver is {self.mode.name}'
        if self.time < self.observer_pause:
            return 'the observer is gone'
        if self.result is None or not self.result.valid:
            return 'the residual is not valid'
        detector = self.monitor.detector
        if detector.time < detector.options.warm_up:
            return 'the detector warms up'
        if detector._allowed_for > 0.0 and detector._allowed[joint]:
            return 'contact is allowed'
        return ''

    def lasts(self, joint: int) -> bool:
        """The system says that a contact of this joint lasts."""
        return self.result is not None and bool(self.result.lasting[joint])

    @property
    def contact_lasts(self) -> bool:
        """The system says that some contact lasts."""
        return self.result is not None and bool(self.result.lasting.any())

    def contact_torques(self) -> dict[str, Array]:
        """External joint torques [Nm], (n,), of every cause there is."""
        q, found = self.q, {}
        for key, push in self.pushes.items():
            J = self.model.point_jacobian(q, push.link, push.point)
            found[f'push {key}'] = J.T @ push.force
        for contact in self.plant.contact:
            if contact.cause != 'push' and contact.link:
                J = self.model.jacobian(q, contact.link)
                r = contact.point - self.model.frame_pose(q, contact.link)[:3, 3]
                tau = J[:3].T @ contact.force + J[3:].T @ np.cross(r, contact.force)
                found[contact.cause] = found.get(contact.cause, 0.0) + tau
        return found

    def pressing(self) -> float:
        """Largest force on an obstacle [N]."""
        return max((float(np.linalg.norm(c.force)) for c in self.plant.contact
                    if c.cause != 'push'), default=0.0)

    def weight_unknown(self) -> Array:
        """Joint torques of what the software does not know to be carried [Nm], (n,)."""
        mass = self.carried - self.told
        if not mass:
            return np.zeros(self.n)
        J = self.model.jacobian(self.q)[:3]
        return np.asarray(J.T @ (mass * np.array(self.config.gravity)))

    def tool_speed(self) -> float:
        """Of the tool as the motors lead it [m/s]: what swings on springs is not theirs."""
        speed = np.array(self.plant.readings.motor_velocity)
        return float(np.linalg.norm(self.model.jacobian(self.q)[:3] @ speed))

    # -- time ----------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        end = self.time + seconds - 1e-9
        while self.time < end:
            self.step()

    def run_until(self, happens: Callable[[], bool], seconds: float) -> None:
        end = self.time + seconds
        while self.time < end and not happens():
            self.step()

    def step(self) -> None:
        """One cycle of the driver; after it boards and arm go on until the next one."""
        if self.time >= self._cycle_until:
            self.cycle_ms = 1
        torque = self._boards()
        self.stepped = False
        reading = self.back.cycle()
        self.reading = reading
        if self.mode is not Mode.ENABLED:
            self.enabled_at = self.time
        if self.mode in (Mode.DAMPING, Mode.DISABLED, Mode.DISCONNECTED):
            self._revoke()
        if reading is not None and not self.ended:
            self._answer(reading)
        self.steps += 1
        self._tell('cycle')
        self._move(torque)
        for _ in range(self.cycle_ms - 1):
            self._move(self._boards())

    def _boards(self) -> list[float]:
        self.torque = self.back.physics()
        return self.torque

    def _move(self, torque: list[float]) -> None:
        if not self.handled:
            self.plant.step(torque, MS)
        self.time += MS
        self.clocks.advance(MS)
        if any(push.until <= self.time for push in self.pushes.values()):
            self._keep_pushes({k: p for k, p in self.pushes.items() if p.until > self.time})
        self._tell('tick')

    def _tell(self, what: str, **details: Any) -> None:
        if not self.handled:
            for listener in self.listeners:
                getattr(listener, what)(self, **details)

    # -- controller and observer, as their nodes call them ---------------------------------------

    def _fresh_controller(self) -> None:
        self._estimator = StateEstimator(self.config)
        self.controller.reaction.agree_with(self.monitor.detector.release_level)
        self._last_time: int | None = None
        self._collision: CollisionEvent | None = None
        self._collision_seq = self._answered_seq = 0

    def _fresh_observer(self) -> None:
        self._seen_time: int | None = None
        self._residual: Array | None = None
        self._lasting = ''
        self._heard = -math.inf

    def _answer(self, reading: Reading) -> None:
        enabled = self.mode is Mode.ENABLED
        if self.time >= self.controller_pause:
            self._control(reading, enabled)
        if self.time >= self.observer_pause:
            self._watch(reading, enabled)

    def _control(self, reading: Reading, enabled: bool) -> None:
        now = self.driver.time_ns
        self.dt = MS if self._last_time is None else (now - self._last_time) * 1e-9
        self._last_time = now
        self.state = self._estimator.step(reading.position, reading.torque, reading.joint_position,
                                          reading.strain, self.dt).arm
        if not enabled:
            self.controller.rest()
            self.command = None
            return
        collision, self._collision = self._collision, None
        if collision is not None:
            self._answered_seq = self._collision_seq
        heard = self.time - self._heard <= SILENCE
        self.command = self.controller.step(
            self.state, self._residual if heard else None, collision, self.dt,
            self._lasting if heard else '')
        self.stepped = True
        self._send(JointCommand(*(values.tolist() for values in self.command)))

    def _watch(self, reading: Reading, enabled: bool) -> None:
        now = self.driver.time_ns
        dt = 0.0 if self._seen_time is None else (now - self._seen_time) * 1e-9
        self._seen_time = now
        self.result = result = self.monitor.step(
            reading.position, reading.torque, reading.joint_position, reading.strain, enabled, dt)
        self._residual, self._heard = result.filtered if result.valid else None, self.time
        self._lasting = lasting_text(self.model.joint_names, result.lasting, result.lasts_for)
        if result.detection is None:
            return
        self.detections.append(self.time)
        joint = result.detection.joint
        hit = result.isolation.joint if result.isolation else joint
        self._collision = CollisionEvent(self.model.joint_names[joint],
                                         self.model.link_names[hit])
        self._collision_seq = self.driver.seq
        self.driver.report_collision(self.driver.seq)

    def _give(self, command: JointCommand, seq: int, collision_seq: int) -> None:
        self.driver.give(command, seq, collision_seq)
        self.given = self.time

    def _send(self, command: JointCommand) -> None:
        trouble = self.disturbance
        if trouble is None or self.time >= trouble.until:
            self.disturbance = None
            self._give(command, self.driver.seq, self._answered_seq)
            return
        sent = (command, self.driver.seq, self._answered_seq)
        if trouble.kind == 'missing':
            return
        if trouble.kind == 'late':
            trouble.waiting.append(sent)
            if len(trouble.waiting) > trouble.delay:
                self._give(*trouble.waiting.pop(0))
        elif trouble.kind == 'nan':
            bad = list(command.torque)
            bad[0] = math.nan
            self._give(command._replace(torque=bad), *sent[1:])
        else:
            self._send_in_turns(trouble, sent)

    def _send_in_turns(self, trouble: Disturbance, sent: Any) -> None:
        """A second controller that starts where the arm is; the node notices that they are two."""
        assert self.state is not None
        self._give(*sent)
        trouble.twin = trouble.twin or MotionController(self.model)
        other = trouble.twin.step(self.state, None, None, MS)
        self._give(JointCommand(*(values.tolist() for values in other)), *sent[1:])
        trouble.turns += 1
        if trouble.turns > TURNS:
            self.driver.fail(Fault(FaultKind.TWO_CONTROLLERS))

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
        self._heed()
        answer = self.driver.clear_fault()
        self._asked = '' if answer.success else answer.message
        if answer.success or answer.message.startswith('emergency_stop cleared'):
            self.stopped = False
        return answer

    def _heed(self) -> None:
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
        self.controller.clear_fault()
        self.run(0.05)
        self.hold()
        self.run(0.01)

    def _revoke(self) -> None:
        if self.permit:
            self.permit, self.revoked = False, self.time

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
        return None, why

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

    def push(self, link: str, point: Array, force: Array, seconds: float) -> None:
        self._pushed += 1
        self.pushes[self._pushed] = Push(link, point, force, self.time + seconds)
        self.plant.apply_force(link, point, force)

    def release(self) -> None:
        self._keep_pushes({})

    def _keep_pushes(self, kept: dict[int, Push]) -> None:
        self.pushes = kept
        self.plant.release()
        for push in kept.values():
            self.plant.apply_force(push.link, push.point, push.force)

    def place(self, name: str, position: Array, **shape: Any) -> bool:
        try:
            self.plant.place_obstacle(name, position, **shape)
            return True
        except ArmsenseError:      # it would be inside the arm
            return False

    def tidy(self) -> None:
        """Nobody touches the arm, it carries nothing, and no cable is loose."""
        self.release()
        self.remove_obstacles()
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
