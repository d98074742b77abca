"""Cost of one step of each control law beside the bare Pinocchio calls that it needs."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from armsense.control import ArmState, Reference
from armsense.control.config import ControllerConfig
from armsense.model import Arm
from armsense.types import Array

BURST = 20             # steps between two looks at the clock
# What a law needs at least; a law that is not here needs no Pinocchio call.
CALLS = {'pd_gravity': ('gravity',), 'computed_torque': ('rnea',),
         'oscillation_damping': ('rnea',), 'joint_impedance': ('rnea', 'crba'),
         'elastic_state': ('gravity',) * 2, 'elastic_inverse_dynamics': ('rnea',) * 3,
         'kinematic_cartesian': ('pose', 'jacobian') * 2,
         'task_pd': ('pose', 'pose', 'jacobian', 'gravity'),
         'cartesian_impedance': ('pose', 'pose', 'jacobian', 'rnea', 'crba'),
         'force': ('pose', 'pose', 'jacobian', 'rnea', 'crba'),
         'disturbance_observer': ('rnea', 'crba', 'gravity')}
YARDSTICK = ('rnea',)  # for laws that need none


class Cost(NamedTuple):
    """Of one law."""

    step: float      # [us]
    bare: float      # [us] of the calls
    ratio: float
    calls: str       # their names; empty: none are needed


def step_costs(arm: str, laws: list[str], rounds: int) -> dict[str, Cost]:
    """Costs by law.

    In every round all laws and all bare calls run in turn, in short bursts, so that a busy machine
    hits numerator and denominator alike. Times are the tenth percentile over the rounds: the
    median would also count the bursts that other processes interrupt.
    """
    model = Arm.load(arm)
    runs = {**bare_calls(model), **_steps(model, laws)}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            for _ in range(BURST):
                run()
            times[name].append((time.perf_counter() - start) / BURST * 1e6)
    return {law: _cost(law, {name: np.array(values) for name, values in times.items()})
            for law in laws}


def _cost(law: str, times: dict[str, Array]) -> Cost:
    calls = CALLS.get(law, ())
    bare: Array = np.sum([times[call] for call in calls or YARDSTICK], axis=0)
    names = ', '.join(f'{calls.count(call)} {call}' for call in dict.fromkeys(calls))
    step, needed = (float(np.percentile(values, 10)) for values in (times[law], bare))
    return Cost(step, needed, step / needed, names)


def _steps(model: Arm, laws: list[str]) -> dict[str, Callable[[], Any]]:
    config, (q, dq, ddq) = ControllerConfig.of(model), _motion(model)
    state = ArmState(q, dq, q + 0.01, dq, np.zeros(model.n), np.zeros(model.n))
    reference = Reference(q + 0.001, dq, ddq, ddq, ddq)
    runs: dict[str, Callable[[], Any]] = {}
    for name in laws:
        law = config.make(name, model)
        law.reset(state)
        runs[name] = lambda step=law.step: step(state, reference, 1e-3)   # type: ignore[misc]
    return runs


def _motion(model: Arm) -> tuple[Array, Array, Array]:
    """Angles q [rad], dq [rad/s], ddq [rad/s^2], (n,) each."""
    return np.array(model.config.home), np.full(model.n, 0.3), np.full(model.n, 0.2)


def bare_calls(model: Arm) -> dict[str, Callable[[], Any]]:
    """Pinocchio without anything around it."""
    q, dq, ddq = _motion(model)
    inner, data = model._model, model._data
    frame, axes = inner.getFrameId(model.tool_frame), pin.LOCAL_WORLD_ALIGNED
    return {'rnea': lambda: pin.rnea(inner, data, q, dq, ddq),
            'crba': lambda: pin.crba(inner, data, q),
            'gravity': lambda: pin.computeGeneralizedGravity(inner, data, q),
            'pose': lambda: pin.framesForwardKinematics(inner, data, q),
            'jacobian': lambda: pin.computeFrameJacobian(inner, data, q, frame, axes)}
