"""The load of an arm, from a recording with it and the recordings without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from armsense.errors import ArmsenseError
from armsense.identify.payload import identify_payload, Payload
from armsense.jobs.identify_job import Identification, recorded_motion


def find_payload(job: Identification, loaded: Path) -> dict[str, Any]:
    """Mass and centre, from all of the motion and, where the arm rests, from the poses alone."""
    recording, _ = recorded_motion(loaded, job.subject)
    found = {'dynamic': _plain(identify_payload(job.model, recording, job.training[0]))}
    try:
        found['static'] = _plain(identify_payload(job.model, recording, job.training[0],
                                                  static=True))
    except ArmsenseError as error:
        found['static'] = {'error': str(error)}
    return found


def payload_words(found: dict[str, Any]) -> str:
    """For the terminal."""
    return '\n'.join(_sentence(kind, found[kind]) for kind in ('dynamic', 'static'))


def _plain(payload: Payload) -> dict[str, Any]:
    return {'mass_kg': round(payload.mass, 4),
            'interval_kg': [round(x, 4) for x in payload.interval],
            'center_m': [round(float(x), 4) for x in payload.center]}


def _sentence(kind: str, data: dict[str, Any]) -> str:
    what = 'payload from the motion' if kind == 'dynamic' else 'payload from poses at rest'
    if 'error' in data:
        return f'{what}: not found, {data["error"]}'
    low, high = data['interval_kg']
    x, y, z = data['center_m']
    return (f'{what}: {data["mass_kg"]:.3f} kg (95 % in {low:.3f} to {high:.3f} kg), centre '
            f'({x:.3f}, {y:.3f}, {z:.3f}) m in the frame of the last link')
