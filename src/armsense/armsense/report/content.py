"""Numbers and words of a report, as plain data: the page and the JSON file show the same."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import numpy as np

from armsense.identify.friction.columns import UNITS
from armsense.identify.model import IdentifiedModel, method
from armsense.identify.signals.filters import TorqueError
from armsense.jobs.identify_job import Identification
from armsense.model.model_file import file_hash, Provenance
from armsense.recordings.bag_files import BagFacts
from armsense.report.evidence import Evidence
from armsense.report.words import (
    excitation_words,
    identifiability,
    verdict,
    warnings,
    whiteness_words,
)

KINDS = {'m': ('mass', 'kg'), 'mx': ('first moment', 'kg m'), 'my': ('first moment', 'kg m'),
         'mz': ('first moment', 'kg m')}
INERTIA = ('inertia', 'kg m²')


def content(job: Identification, evidence: Evidence) -> dict[str, Any]:
    """Everything that the report says."""
    model = job.model
    facts: dict[str, Any] = {
        'robot': job.subject.arm.name,
        'date': datetime.now(timezone.utc).isoformat(timespec='seconds'),
        'result': job.result,
        'joints': joints(model, evidence),
        'total': {'train': _total(evidence.train_error),
                  'validation': _total(evidence.unseen_error)},
        'parameters': parameters(model),
        'drive': drive(model),
        'excitation': {
            'condition_number': evidence.base.condition,
            'singular_values': evidence.base.singular_values.tolist(),
            'base_parameters': [
                {'name': name, 'value': float(value), 'low': float(low), 'high': float(high)}
                for name, value, (low, high) in zip(
                    evidence.base.names, evidence.base.values, evidence.base.intervals(),
                    strict=True)],
            'words': excitation_words(evidence)},
        'provenance': provenance(job)}
    facts['whiteness'] = whiteness_words(facts['joints'])
    facts['identifiability'] = identifiability(model)
    facts['warnings'] = warnings(job, facts, evidence)
    facts['verdict'] = verdict(job, facts)
    return facts


def joints(model: IdentifiedModel, evidence: Evidence) -> list[dict[str, Any]]:
    """Errors joint by joint."""
    out = []
    for k, name in enumerate(model.model.joint_names):
        out.append({
            'name': name,
            'torque_rms': float(evidence.torque_rms[k]),
            'train': _error(evidence.train_error, k),
            'validation': _error(evidence.unseen_error, k),
            'white_probability': float(evidence.white[k]),
            'correlation_ms': 1e3 * float(evidence.correlation[k]) / evidence.rate})
    return out


def _error(error: TorqueError | None, k: int) -> dict[str, float] | None:
    if error is None:
        return None
    return {'percent': float(error.joint_percent[k]), 'rms': float(error.rms[k]),
            'maximum': float(error.maximum[k])}


def _total(error: TorqueError | None) -> dict[str, float] | None:
    if error is None:
        return None
    return {'percent': float(error.percent), 'mean_joint_percent': error.mean_joint_percent}


def parameters(model: IdentifiedModel) -> list[dict[str, Any]]:
    """Inertial parameters with their 95 % intervals."""
    names = model.model.parameter_names
    rows = []
    for k, name in enumerate(names):
        symbol = name.rstrip('0123456789')
        kind, unit = KINDS.get(symbol, INERTIA)
        low, high = model.intervals[k]
        rows.append({
            'name': name, 'symbol': symbol, 'link': model.model.link_names[k // 10],
            'kind': kind, 'unit': unit, 'value': float(model.parameters[k]), 'low': float(low),
            'high': float(high), 'nominal': float(model.nominal[k]),
            'state': model.findings[k].kind, 'words': model.findings[k].sentence})
    return rows


def drive(model: IdentifiedModel) -> list[dict[str, Any]]:
    """Coefficients of the drives with their 95 % intervals."""
    first = len(model.parameters)
    axes = _axis_names(model)
    rows = []
    for term in model.drive.terms:
        place = model.drive.index(term)
        for k, value in enumerate(model.coefficients[place]):
            low, high = model.intervals[first + place.start + k]
            rows.append({'term': term, 'axis': axes[k], 'unit': UNITS[term].replace('^2', '²'),
                         'value': float(value), 'low': float(low), 'high': float(high)})
    return rows


def _axis_names(model: IdentifiedModel) -> list[str]:
    """A drive axis is named by the joints that it turns with."""
    names = np.array(model.model.joint_names)
    return ['+'.join(names[np.abs(row) > 0.0]) for row in model.drive.axes]


def provenance(job: Identification) -> dict[str, Any]:
    """Where the model comes from."""
    sources = []
    for use, files in (('training', job.files), ('validation', job.validation_files)):
        for path in files:
            facts = BagFacts.read(path) or BagFacts()
            sources.append({'use': use, 'file': path.name, 'sha256': file_hash(path),
                            'motion': facts.motion, 'checks': facts.checks,
                            'model_sha256': facts.model_sha256})
    known = Provenance.now(method(job.model))
    return {'method': known.method, 'versions': known.versions, 'sources': sources,
            'urdf': (job.subject.robot or job.subject.arm.config).urdf,
            'seconds': job.result['seconds'],
            'step_seconds': job.result['step_seconds']}
