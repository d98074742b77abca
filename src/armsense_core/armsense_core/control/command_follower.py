"""An arm that follows a stream of joint positions, as ros2_control's controllers send them.

A collision freezes the reference where the arm is, until `resume`: whoever sends the positions
knows nothing of collisions, and would drive on into the obstacle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from armsense_core.control.law import Law
from armsense_core.control.types import ArmState, Array, Command, Reference
from armsense_core.errors import ArmsenseError, BadValue

REACH = 0.2   # [rad] from where the arm is to the first position it is sent to


class CommandFollower:
    """One law, one reference."""

    def __init__(self, law: Law, joint_names: Sequence[str]) -> None:
        """Prepare.

        Args:
            law: Bound to the arm; it follows positions and velocities.
            joint_names: Of the arm, in its order.
        """
        self._law = law
        self._names = tuple(joint_names)
        self._reference: Reference | None = None
        self.frozen = False
        self._following = False

    def send(self, names: Sequence[str], position: Sequence[float],
             velocity: Sequence[float] = ()) -> None:
        """Take the newest reference, joints in any order; what is wrong leaves the old one.

        Raises:
            ArmsenseError: A joint is missing, a value is no number, or the first position is
                further than `REACH` from the arm.
        """
        missing = [name for name in self._names if name not in names]
        if missing or len(position) != len(names):
            raise ArmsenseError(f'a position of every joint is needed; missing: '
                                f'{", ".join(missing) or "some positions"}')
        order = [list(names).index(name) for name in self._names]
        q = np.array([position[k] for k in order], float)
        speeds = [velocity[k] for k in order] if len(velocity) == len(names) else 0.0
        dq = np.nan_to_num(np.broadcast_to(np.array(speeds, float), q.shape), posinf=0, neginf=0)
        if not np.isfinite(q).all():
            raise BadValue('commanded position', q.tolist(), 'finite')
        if self.frozen or self._reference is None:
            return
        distance = np.abs(q - self._reference.q)
        if not self._following and distance.max() > REACH:
            joint = self._names[int(distance.argmax())]
            raise ArmsenseError(f'{joint} is sent {distance.max():.2f} rad away at once; start '
                                f'within {REACH} rad of where the arm is')
        self._following = True
        self._reference = Reference(q, dq, np.zeros(len(q)))

    def step(self, state: ArmState, collision: bool, dt: float) -> Command:
        """Command for this cycle; a collision freezes the reference."""
        if self._reference is None:
            self._law.reset(state)
            self._reference = Reference.at_rest(state.q)
        elif collision:
            self._law.halt(state)
            self._reference = Reference.at_rest(state.q)
            self.frozen = True
        return self._law.step(state, self._reference, dt)

    def rest(self) -> None:
        """The motors are off: begin anew where the arm will be."""
        self._reference, self._following = None, False

    def resume(self) -> None:
        """Follow again, from a reference near the arm."""
        self.frozen = self._following = False

    @property
    def held(self) -> Array | None:
        """Where the arm shall be now [rad], (n,)."""
        return None if self._reference is None else self._reference.q
