"""What every controller does with a state before it computes, and with its command after."""

from __future__ import annotations

from collections.abc import Sequence
import time
from typing import Any, NamedTuple

import numpy as np
from rclpy.node import Node

from armsense.base.cell_layout import AXES
from armsense.detector import lasting_text
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.types import ArmState, Array, Collision, Command
from armsense.watch.state_estimator import StateEstimator
from armsense_control.controller_parameters import ControllerParameters
from armsense_msgs.msg import BaseResidual, MotorCommands, MotorStates, Residual
from armsense_msgs.msg import Collision as CollisionMessage
from armsense_node.lockstep import lockstep_qos
from armsense_node.loop import (
    DirectSubscription,
    event_qos,
    state_time,
    stream_qos,
    StreamPublisher,
    StreamSubscription,
)

PERIOD = 0.001    # [s] taken for the first state
PATIENCE = 10.0   # [s] wall clock, lock-step only
SILENCE = 200     # states without a residual; after more the observer is gone,
SILENT_FOR = 0.2  # [s] and after as long where states come slowly,
FEW = 3           # if some of them have come meanwhile


class CollisionInbox:
    """What the observers say, taken in time and, in lock-step, always in the same order."""

    def __init__(self, node: Node, joints: Sequence[str], lockstep: bool,
                 base: bool = False) -> None:
        """Subscribe.

        Args:
            node: The controller.
            joints: Their names, in order.
            lockstep: Wait for the residual of the state before, and for every collision that it
                announces, so that the same seed gives the same run.
            base: The same for the residual of the base.
        """
        awaited = tuple(source for source, wait in (('joints', lockstep), ('base', base)) if wait)
        qos = lockstep_qos() if awaited else stream_qos()
        self._residuals = StreamSubscription(node, Residual, 'residual', len(joints), qos=qos)
        self._streams = {'joints': self._residuals}
        if 'base' in awaited or not awaited:
            self._streams['base'] = StreamSubscription(node, BaseResidual, 'base/residual', 6,
                                                       qos=qos)
        self._collisions = DirectSubscription(node, CollisionMessage, 'collision', event_qos())
        self._awaited = awaited
        self._seq = dict.fromkeys(awaited, 0)
        self._announced = dict.fromkeys(awaited, 0)
        self._heard = dict.fromkeys(awaited, 0)
        self.heard = 0                      # seq of the newest residual; 0: none has come
        self.silent = False                 # the observer ran and does not any more
        self._residual: Array | None = None
        self._names = {'joints': tuple(joints), 'base': tuple(f'base {axis}' for axis in AXES)}
        self._newest: dict[str, Any] = {}   # residual message by source
        self._now = 0.0                     # [s] of the present state
        self._kept_at = {'joints': 0.0, 'base': 0.0}   # [s] of the state when it came
        self._waiting: list[CollisionMessage] = []

    def take(self, seq: int, now: float = 0.0) -> tuple[Array | None, Collision | None]:
        """Residual and the newest collision not taken before.

        Args:
            seq: State before the present one; in lock-step nothing newer is looked at, even if
                it is there already, and its residual is waited for.
            now: Time of the present state, on the driver's clock [s].
        """
        state, self._now = seq, now
        if not self._awaited:
            for source, stream in self._streams.items():
                self._keep(source, stream.take_latest())
            self._waiting += self._collisions.drain()
            seq = max((c.seq for c in self._waiting), default=0)
        elif seq > 0:
            self._await(seq)
        # After a restart the driver counts anew: what was heard before is as old, and no sign of
        # life either.
        self.silent = self.heard > 0 and state > 0 and self._gone('joints', state - self.heard)
        if self.silent:
            self._residual = None           # what an observer said before it died is not true now
        self._newest = {source: message for source, message in self._newest.items()
                        if not self._gone(source, state - message.seq)}
        # Two observers may report at once, and which arrives first is chance.
        due = sorted((c for c in self._waiting if c.seq <= seq), key=lambda c: (c.seq, c.source))
        self._waiting = [c for c in self._waiting if c.seq > seq]
        newest = Collision(due[-1].joint, due[-1].link, due[-1].seq) if due else None
        return self._residual, newest

    @property
    def lasting(self) -> str:
        """Contacts that last as far as the newest residuals tell, in words; empty: none."""
        texts = (lasting_text(self._names[source], message.lasting, message.lasts_for)
                 for source, message in self._newest.items() if message.lasts_for > 0.0)
        return '; '.join(filter(None, texts))

    def _gone(self, source: str, behind: int) -> bool:
        """An observer so many states behind has ended; negative: the driver has."""
        late = self._now - self._kept_at[source] > SILENT_FOR and behind > FEW
        return late or abs(behind) > SILENCE

    def _await(self, seq: int) -> None:
        deadline = time.monotonic() + PATIENCE
        for source in self._awaited:
            stream = self._streams[source]
            while self._seq[source] < seq and not stream.deserted:
                self._note(source, stream.take() or stream.wait_oldest(0.1))
                self._check(deadline, seq)
        while any(self._heard[source] < self._announced[source] for source in self._awaited):
            found = list(self._collisions.drain()) or [self._collisions.wait(0.1)]
            for collision in found:
                if collision is not None:
                    self._waiting.append(collision)
                    self._heard[collision.source] = collision.seq
            self._check(deadline, seq)

    def _check(self, deadline: float, seq: int) -> None:
        self._residuals.raise_if_stopped()
        if time.monotonic() > deadline:
            raise ArmsenseError(
                f'lock-step: the residual of state {seq} or its collision did not come within '
                f'{PATIENCE:.0f} s; are the observers running ({", ".join(self._awaited)})?')

    def _note(self, source: str, message: Any) -> None:
        if message is None:
            return
        self._seq[source] = message.seq
        self._announced[source] = message.collision_seq
        self._keep(source, message)

    def _keep(self, source: str, message: Any) -> None:
        if message is None:
            return
        self._newest[source], self._kept_at[source] = message, self._now
        if source == 'joints':
            self.heard = message.seq
            self._residual = np.array(message.filtered) if message.valid else None


class Cycle(NamedTuple):
    """What a controller answers."""

    state: ArmState
    residual: Array | None     # external torque [Nm], (n,); None: unknown
    collision: Collision | None     # one that was not taken before
    dt: float                  # [s] since the state before
    lasting: str               # a contact that lasts, in words; empty: none does


class ArmStream:
    """`motor_states` in, `motor_commands` with the same number out, collisions in between."""

    def __init__(self, node: Node, model: Arm, settings: ControllerParameters) -> None:
        """Make the topics; the settings tell whom to wait for."""
        lockstep = settings.lockstep
        qos = lockstep_qos() if lockstep else stream_qos()
        self.states = StreamSubscription(node, MotorStates, 'motor_states', model.n,
                                         optional=('joint_position', 'strain'), qos=qos)
        self.inbox = CollisionInbox(node, model.joint_names, lockstep and settings.await_residual,
                                    lockstep and settings.await_base)
        self.commands = StreamPublisher(node, MotorCommands, 'motor_commands', model.n, qos=qos,
                                        begin=False)
        self._estimator = StateEstimator(model.config)
        self._last_seq = self._last_time = self._collision_seq = 0

    @property
    def time(self) -> float:
        """Of the newest state [s]."""
        return self._last_time * 1e-9

    def take(self, message: Any) -> Cycle:
        """The next state, with what the observers have said since the one before."""
        first = not self._last_seq
        now = state_time(message)
        dt = PERIOD if first else (now - self._last_time) * 1e-9
        if message.seq < self._last_seq:     # another driver counts from the start, collisions too
            self._collision_seq = 0
        self._last_seq, self._last_time = message.seq, now
        state = self._estimator.step(message.position, message.torque, message.joint_position,
                                     message.strain, dt)
        residual, collision = self.inbox.take(0 if first else message.seq - 1, self.time)
        if collision is not None:
            self._collision_seq = collision.seq
        return Cycle(state, residual, collision, dt, self.inbox.lasting)

    def publish(self, command: Command, message: Any) -> None:
        """Answer a `motor_states` record."""
        out = self.commands.message
        out.seq, out.stamp_ns = message.seq, message.stamp_ns
        out.collision_seq = self._collision_seq   # the command takes it into account
        out.position, out.velocity, out.torque = command.position, command.velocity, command.torque
        out.kp, out.kd, out.ki = command.kp, command.kd, command.ki
        self.commands.publish()


def no_torque(state: ArmState) -> Command:
    """No torque, while the motors are off."""
    zero = np.zeros(len(state.theta))
    return Command(state.theta, zero, zero, zero, zero, zero)
