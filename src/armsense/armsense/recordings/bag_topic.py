"""Which arm of a bag is meant, where several may have been recorded together."""

from __future__ import annotations

from collections.abc import Mapping

from armsense.errors import ArmsenseError, UnknownName
from armsense.recordings.fast_decoder import MOTOR_STATES


def choose_states(where: str, kinds: Mapping[str, str], topic: str | None) -> str:
    """Topic of the motor states.

    Args:
        where: Name of the bag, for errors.
        kinds: Types of its topics.
        topic: That is wanted; None: the only one of that type.
    """
    candidates = [name for name, kind in kinds.items() if kind == MOTOR_STATES]
    if topic is None and len(candidates) == 1:
        return candidates[0]
    if topic in candidates:
        return str(topic)
    if topic is None and candidates:
        raise ArmsenseError(f'{where} has several arms; choose a topic: {", ".join(candidates)}')
    known = [f'{name} ({kind})' for name, kind in kinds.items()] or ['nothing']
    raise UnknownName('topic of MotorStates', topic or 'motor_states', known, where)
