"""Whether a recorded run is fit for identification: complete, followed, within limits, untouched.

All that counts is what stands in the bag: positions and velocities of the links from
`joint_states`, torques from `motor_states`, events from `collision` and `motor_board/mode`.
"""

from collections.abc import Sequence
import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rosbags.typesys import get_types_from_msg, get_typestore, Stores

from armsense.errors import ArmsenseError
from armsense.identify.robot_file import SourceConfig
from armsense.identify.signals.recording import Recording
from armsense.model import Arm
from armsense.recordings.bag_files import deserialize, messages, RawMessage
from armsense.recordings.bag_reader import read_bag
from armsense.trajectory import Limits, Trajectory

FOLLOWED = 0.1         # [rad] largest distance from the planned motion
FOLLOWED_ELASTIC = 0.3   # [rad] of joints behind a spring
GAP = 0.02             # [s] longest time without a state
SPEEDING = 1.1         # measured over allowed velocity: an encoder's noise is no violation
DAMPING = 4            # mode of the driver after a fault


class Check(NamedTuple):
    """One question to a recording."""

    name: str
    passed: bool
    text: str


class Run(NamedTuple):
    """What was driven."""

    model: Arm
    motion: Trajectory
    start: float           # stamp at which the motion began [s]
    namespace: str = ''    # of the arm's topics, such as '/left'


def check_recording(bag: Path, run: Run) -> list[Check]:
    """Ask all questions; every answer is a sentence."""
    states = _read(bag, f'{run.namespace}/motor_states', run)
    links = _read(bag, f'{run.namespace}/joint_states', run)
    collisions, faults = _events(bag, run.namespace)
    return [_complete(states, run), _followed(links, run), *_limits(states, links, run),
            _untouched(collisions), _faultless(faults)]


def verdict(checks: Sequence[Check]) -> str:
    """'ok', or what failed."""
    failed = [check.text for check in checks if not check.passed]
    return '; '.join(failed) or 'ok'


def _read(bag: Path, topic: str, run: Run) -> Recording:
    """Samples during the motion."""
    signals = read_bag(bag, SourceConfig(topic=topic), run.model.joint_names)
    recording = Recording(signals.t, signals.position, signals.effort, signals.velocity,
                          signals.name)
    first = run.start - recording.t[0]
    return recording.between(first, first + run.motion.duration)


def _complete(states: Recording, run: Run) -> Check:
    times = np.concatenate([[run.start], states.t, [run.start + run.motion.duration]])
    gap = float(np.diff(times).max())
    share = 100.0 * (states.t[-1] - states.t[0]) / run.motion.duration
    if gap <= GAP:
        return Check('complete', True, f'the whole motion is recorded, {len(states.t)} states')
    return Check('complete', False, f'{1e3 * gap:.0f} ms without a state ({share:.0f} % of the '
                 'motion is there)')


def _followed(links: Recording, run: Run) -> Check:
    planned = np.array([run.motion.sample(float(t - run.start)).q for t in links.t])
    away = np.abs(links.q - planned).max(axis=0)
    joints = run.model.config.joints.values() if run.model.config else ()
    elastic = np.array([j.elastic is not None for j in joints] or [False] * run.model.n)
    allowed = np.where(elastic, FOLLOWED_ELASTIC, FOLLOWED)
    worst = int(np.argmax(away / allowed))
    name = run.model.joint_names[worst]
    passed = bool(np.all(away <= allowed))
    text = (f'the arm followed, {name} was {away[worst]:.3f} rad away at most' if passed else
            f'the arm did not follow: {name} was {away[worst]:.3f} rad from the planned motion, '
            f'{allowed[worst]:g} rad are allowed')
    return Check('followed', passed, text)


def _limits(states: Recording, links: Recording, run: Run) -> list[Check]:
    limits = Limits.of(run.model)
    checks = [_within('position', links.q, limits.lower, limits.upper, 'rad', run)]
    if links.dq is not None:
        top = SPEEDING * limits.velocity
        checks.append(_within('velocity', links.dq, -top, top, 'rad/s', run))
    checks.append(_within('torque', states.tau, -limits.torque, limits.torque, 'Nm', run))
    return checks


def _within(what: str, values: Any, low: Any, high: Any, unit: str, run: Run) -> Check:
    excess = np.maximum(values - high, low - values).max(axis=0)
    worst = int(np.argmax(excess))
    if excess[worst] <= 0.0:
        return Check(what, True, f'every {what} stayed within its limits')
    column = values[:, worst]
    value = column[np.argmax(np.maximum(column - high[worst], low[worst] - column))]
    return Check(what, False, f'{run.model.joint_names[worst]} left its {what} limits: '
                 f'{value:.3g} {unit}, allowed {low[worst]:.3g} to {high[worst]:.3g} {unit}')


def _untouched(collisions: list[Any]) -> Check:
    if not collisions:
        return Check('untouched', True, 'nothing collided')
    first = collisions[0]
    return Check('untouched', False, f'{len(collisions)} collision'
                 f'{"s" if len(collisions) > 1 else ""}, the first on {first.link} '
                 f'({first.residual:.2f} Nm at {first.joint})')


def _faultless(faults: list[Any]) -> Check:
    if not faults:
        return Check('faultless', True, 'the driver reported no fault')
    return Check('faultless', False, f'the driver went to damping: {faults[0].fault} '
                 f'({faults[0].explanation})')


def _events(bag: Path, namespace: str) -> tuple[list[Any], list[Any]]:
    """Collisions, and modes that mean a fault."""
    store = get_typestore(Stores.ROS2_JAZZY)
    collisions, faults = [], []
    for message in messages(bag, []):
        if message.topic == f'{namespace}/collision':
            collisions.append(_decode(store, message))
        elif message.topic == f'{namespace}/motor_board/mode':
            mode = _decode(store, message)
            if mode.mode == DAMPING:
                faults.append(mode)
    return collisions, faults


def _decode(store: Any, message: RawMessage) -> Any:
    if message.type not in store.fielddefs:
        if not message.definition:
            raise ArmsenseError(f'the bag does not define {message.type}')
        store.register(get_types_from_msg(message.definition, message.type))
    return deserialize(store, message.type, message.data)


def model_hash(model: Arm) -> str:
    """SHA-256 of everything that makes a model: description, configuration, parameters."""
    digest = hashlib.sha256()
    digest.update(model.urdf.encode())
    digest.update(repr(model.config).encode())
    digest.update(model.parameters.tobytes())
    return digest.hexdigest()
