"""The sentences of a report: verdict, warnings, and what the motion could not tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armsense.identify.model import IdentifiedModel
from armsense.jobs.identify_job import Identification, WEAK_JOINT
from armsense.report.evidence import Evidence

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
        out.append(f'The error grows from {result["train_percent"]:.2g} % on the training to '
                   f'{result["validation_percent"]:.2g} % on other motion: the training motion '
                   'may be too short or too poor.')
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
