"""Numbers and words of a report, as plain data: the page and the JSON file show the same."""

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

import numpy as np

from armsense.identify.friction.columns import UNITS
from armsense.identify.model import IdentifiedModel, method
from armsense.identify.signals.filters import TorqueError
from armsense.jobs.identify_job import Identification
from armsense.jobs.verdict import percent_words, WEAK_JOINT
from armsense.model.model_file import file_hash, Provenance
from armsense.recordings.bag_files import BagFacts
from armsense.report.evidence import Evidence

KINDS = {'m': ('mass', 'kg'), 'mx': ('first moment', 'kg m'), 'my': ('first moment', 'kg m'),
         'mz': ('first moment', 'kg m')}
INERTIA = ('inertia', 'kg m²')
OVERFIT = 1.5                     # error on unseen data over that of the training
POOR_CONDITION = 100.0            # of a base regressor with columns of unit length
UNLIKELY = 0.01                   # probability below which errors do not count as white
COST = 0.3                        # [points] that physical consistency may cost
REASONS = {
    'alone': 'Identified: {}',
    'combined': 'Identified in sums with other parameters, split between them as in the CAD '
                'model: {}',
    'weak': 'Below the noise in this motion, CAD value kept: {}',
    'silent': 'Never felt by any joint, CAD value kept: {}',
}


def content(job: Identification, evidence: Evidence) -> dict[str, Any]:
    model = job.model
    facts: dict[str, Any] = {
        'robot': job.setup.arm.name,
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
        symbol = _symbol(name)
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
            'urdf': (job.setup.robot or job.setup.arm.config).urdf,
            'seconds': job.result['seconds'],
            'step_seconds': job.result['step_seconds']}


# -- sentences ------------------------------------------------------------------------------------

def verdict(job: Identification, facts: dict[str, Any]) -> dict[str, str]:
    """Grade and one sentence, as in the result, with a hint to the warnings."""
    count = len(facts['warnings'])
    hint = f' ({count} warning{"s" if count > 1 else ""} below)' if count else ''
    return {'grade': job.result['grade'], 'sentence': f'{job.result["verdict"]}{hint}.'}


def warnings(job: Identification, facts: dict[str, Any], evidence: Evidence) -> list[str]:
    """What a user should look at before trusting the model."""
    result = job.result
    out = list(result['notes'])
    if evidence.unseen_error is None:
        out.append('No recording was left for validation; give one with --validate.')
    elif result['validation_percent'] > OVERFIT * result['train_percent'] + 0.5:
        before, after = (percent_words(result[f'{part}_percent'])
                         for part in ('train', 'validation'))
        out.append(f'The error grows from {before} on the training to {after} on other motion: '
                   'the training motion may be too short or too poor.')
    if result.get('validation_lost_seconds'):
        out.append(f'{result["validation_lost_seconds"]:.3g} s of the validation are lost in '
                   'gaps.')
    for joint in facts['joints']:
        error = joint['validation'] or joint['train']
        if error['percent'] > WEAK_JOINT:
            out.append(f'{joint["name"]}: {error["percent"]:.0f} % of its torque is not '
                       f'explained ({error["rms"]:.2g} Nm of {joint["torque_rms"]:.2g} Nm).')
    if evidence.base.condition > POOR_CONDITION:
        out.append(f'The motion excites the parameters poorly (condition number '
                   f'{evidence.base.condition:.0f}): design one with ./armsense excite design.')
    cost = result['train_percent'] - result['unconstrained_train_percent']
    if cost > COST:
        out.append(f'Physical consistency costs {cost:.1f} points of error: the description of '
                   'the robot (lengths, axes, signs) or the drive gains may be wrong.')
    out += [f'{s["file"]}: {s["checks"]}' for s in facts['provenance']['sources']
            if s['checks'] and s['checks'] != 'ok']
    return out


def excitation_words(evidence: Evidence) -> str:
    """How well the motion was chosen."""
    number = evidence.base.condition
    rating = 'well' if number < 30.0 else 'fairly' if number < POOR_CONDITION else 'poorly'
    return (f'The motion excites the {len(evidence.base.names)} parameter combinations that the '
            f'torques can tell at all {rating}: condition number {number:.3g}. The best excited '
            'one weighs that many times more than the worst; below 30 is good, above 100 poor.')


def whiteness_words(joints: Sequence[dict[str, Any]]) -> str:
    """What is left in the errors."""
    longest = max(joints, key=lambda joint: float(joint['correlation_ms']))
    odd = [joint['name'] for joint in joints if joint['white_probability'] < UNLIKELY]
    rest = (f'More than noise is left in {", ".join(odd)}: friction, flexibility or ripple that '
            'the model does not hold.' if odd else
            'Within the torque band they look like noise.')
    return (f'Behind the low-pass neighbouring errors resemble each other, longest for '
            f'{longest["name"]}, {longest["correlation_ms"]:.0f} ms; the intervals count '
            f'correlated samples only once. {rest}')


def identifiability(model: IdentifiedModel) -> list[dict[str, str]]:
    """Link by link, which parameters the motion told and why not the others."""
    out = []
    for link, title in enumerate(model.model.link_names):
        block = model.findings[10 * link:10 * link + 10]
        groups = {kind: [_symbol(f.name) for f in block if f.kind == kind] for kind in REASONS}
        text = '. '.join(REASONS[kind].format(', '.join(names))
                         for kind, names in groups.items() if names)
        out.append({'link': title, 'text': f'{text}.'})
    return out


def _symbol(name: str) -> str:
    return name.rstrip('0123456789')
