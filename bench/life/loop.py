"""An arm and its software in one process and on one injected clock.

Boards, driver, controller, observer and plant are those of `ClosedLoop`; the cycle is written out
again because histories need what a healthy loop does not have: cycles of different lengths, parts
that pause or start anew, commands that are lost, a second controller, a wall clock that is set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
import math
from typing import Any

import mujoco
import numpy as np

from armsense.boards.joint_map import Reading
from armsense.boards.mode import Fault, FaultKind, Mode
from armsense.control.motion_controller import MotionController
from armsense.detector.detector import lasting_text
from armsense.model import Arm
from armsense.reaction.options import Phase
from armsense.types import ArmState, Array, as_floats, Collision, Command, Floats
from armsense.watch.collision_monitor import CollisionMonitor, MonitorResult
from armsense.watch.state_estimator import StateEstimator
from bench.life.backs import BoardsBack, Clocks, EffortBack, MS
from bench.life.base import Base

SILENCE = 0.2           # [s] after which a controller knows that the observer is gone
EFFORT = '/effort'      # behind an arm's name: driven through an effort interface
# Constraints of the plant; the stop of a link behind a spring is one of a tendon.
STOPS = [int(kind) for kind in (mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT,
                                mujoco.mjtConstraint.mjCNSTR_LIMIT_TENDON)]
TURNS = 4               # changes between two senders after which they are two controllers


@dataclass
class Push:
    """A force of a person on a link."""

    link: str
    point: Array         # [m] link frame, (3,)
    force: Array         # [N] world frame, (3,)
    until: float         # [s]
    since: float = 0.0   # [s]
    rise: float = 0.0    # [s] in which it grows to `force`

    def now(self, time: float) -> Array:
        """Force at a time [s]."""
        share = 1.0 if self.rise <= 0.0 else min((time - self.since) / self.rise, 1.0)
        return share * self.force


@dataclass
class Disturbance:
    """What happens to commands on their way."""

    kind: str            # 'missing', 'late', 'nan' or 'twin'
    until: float         # [s]
    delay: int = 0       # cycles, of late ones
    waiting: list[Any] = field(default_factory=list)
    turns: int = 0
    twin: Any = None


class Loop:
    """One arm; `tick` and `cycle` tell whoever watches it."""

    def __init__(self, arm: str, seed: int) -> None:
        self.arm, self.seed = arm, seed
        name = arm.removesuffix(EFFORT)
        self.model = Arm.load(name)
        config = self.model.config
        self.config, self.n = config, self.model.n
        self.home = np.array(config.home)
        self.clocks = Clocks()
        self.time = 0.0                       # [s] monotonic
        self.steps = 0                        # cycles
        self.controller = MotionController(self.model)
        self.limits = self.controller.limits
        self.monitor = CollisionMonitor(self.model)
        self.base = Base.of(self.model, seed)
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
        self.permit = self.driver.enable().success
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

    def contact_torques(self) -> dict[str, Array]:
        """External joint torques [Nm], (n,), of every cause there is."""
        q, found = self.q, {}
        for key, push in self.pushes.items():
            J = self.model.point_jacobian(q, push.link, push.point)
            found[f'push {key}'] = J.T @ push.now(self.time)
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

    def stop_torque(self) -> Array:
        """Of end stops on the joints [Nm], (n,)."""
        data = self.plant.data
        stops = np.isin(data.efc_type, STOPS)
        if not stops.any():
            return np.zeros(self.n)
        torque = np.zeros(self.plant.model.nv)
        mujoco.mj_mulJacTVec(self.plant.model, data, torque, np.where(stops, data.efc_force, 0.0))
        return torque[self.plant._motor]      # play between teeth is not among them

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
        self._cycle()
        while self.back.more:
            self._cycle()
        self._move(torque)
        for _ in range(self.cycle_ms - 1):
            self._move(self._boards())

    def _cycle(self) -> None:
        """The driver hears and speaks, and who listens to it answers."""
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

    def _boards(self) -> list[float]:
        self.torque = self.back.physics()
        return self.torque

    def _move(self, torque: list[float]) -> None:
        if any(self.time < push.since + push.rise + MS for push in self.pushes.values()):
            self._keep_pushes(self.pushes)      # those that grow
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
        self._collision: Collision | None = None
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
        if self.base is not None:
            self._watch_base(reading)

    def _control(self, reading: Reading, enabled: bool) -> None:
        now = self.driver.time_ns
        self.dt = MS if self._last_time is None else (now - self._last_time) * 1e-9
        self._last_time = now
        self.state = self._estimator.step(reading.position, reading.torque, reading.joint_position,
                                          reading.strain, self.dt)
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
            self._lasting_contacts(heard))
        self.stepped = True
        self._send(as_floats(self.command))

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
        self._report(Collision(self.model.joint_names[joint], self.model.link_names[hit]))

    def _watch_base(self, reading: Reading) -> None:
        assert self.base is not None
        self.base.monitor.lost_zero = self.driver.lost_zero
        q = reading.joint_position if len(reading.joint_position) else reading.position
        if self.base.step(q, self.plant, self.time):
            self._report(Collision('base', 'base_link'))

    def _report(self, collision: Collision) -> None:
        self._collision = collision
        self._collision_seq = self.driver.seq
        self.driver.report_collision(self.driver.seq)

    def _lasting_contacts(self, heard: bool) -> str:
        """Contacts that last as the controller hears of them."""
        texts = (self._lasting if heard else '', '' if self.base is None else self.base.lasting)
        return '; '.join(filter(None, texts))

    def _give(self, command: Command[Floats], seq: int, collision_seq: int) -> None:
        self.driver.give(command, seq, collision_seq)
        self.given = self.time

    def _send(self, command: Command[Floats]) -> None:
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
        self._give(as_floats(other), *sent[1:])
        trouble.turns += 1
        if trouble.turns > TURNS:
            self.driver.fail(Fault(FaultKind.TWO_CONTROLLERS))

    def _revoke(self) -> None:
        if self.permit:
            self.permit, self.revoked = False, self.time

    def _keep_pushes(self, kept: dict[int, Push]) -> None:
        self.pushes = kept
        self.plant.release()
        for push in kept.values():
            self.plant.apply_force(push.link, push.point, push.now(self.time))
