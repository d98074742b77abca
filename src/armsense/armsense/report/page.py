"""The report as one HTML page that needs nothing beside itself."""

import json
import math
from pathlib import Path
from typing import Any

import jinja2

from armsense.jobs.files import report_name, together
from armsense.jobs.identify_job import Identification
from armsense.report import figures
from armsense.report.content import content
from armsense.report.evidence import Evidence

FOLDER = Path(__file__).parent
STATES = {'alone': 'identified', 'combined': 'in a sum', 'weak': 'CAD, below noise',
          'silent': 'CAD, never felt'}
MINUS = '\N{MINUS SIGN}'


def write_all(job: Identification, out: Path) -> tuple[Path, Path, Path]:
    """Model, page and JSON file together or not at all; their paths."""
    evidence = Evidence.of(job)
    facts = content(job, evidence)
    page, data = report_name(out, '.html'), report_name(out, '.json')
    html, model = render(job, evidence, facts), job.model_file()
    with together(out.absolute().parent) as stage:
        (stage / data).write_text(json.dumps(facts, indent=1))
        (stage / page).write_text(html)
        model.write(stage / out.name)
    return out, out.with_name(page), out.with_name(data)


def page(job: Identification) -> str:
    """The page alone."""
    evidence = Evidence.of(job)
    return render(job, evidence, content(job, evidence))


def render(job: Identification, evidence: Evidence, facts: dict[str, Any]) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {'digits': significant, 'interval': with_interval}
    template = environment.get_template('page.html.j2')
    return template.render(**facts, figures=draw(job, evidence, facts), states=STATES,
                           unseen=evidence.unseen_error is not None,
                           seconds=float(evidence.shown.t[-1] - evidence.shown.t[0]))


def draw(job: Identification, evidence: Evidence, facts: dict[str, Any]) -> dict[str, Any]:
    model, n = job.model, job.model.model.n
    kinds = {kind: [row for row in facts['parameters'] if row['kind'] == kind]
             for kind in ('mass', 'first moment', 'inertia')}
    terms = {term: [row for row in facts['drive'] if row['term'] == term]
             for term in model.drive.terms}
    return {
        'torque': [figures.torque_figure(model, evidence, k) for k in range(n)],
        'friction': [figures.friction_figure(model, evidence, k) for k in range(n)],
        'forest': {kind: figures.forest_figure(rows, rows[0]['unit'], kind.split()[0])
                   for kind, rows in kinds.items()},
        'terms': {term: figures.forest_figure(rows, rows[0]['unit'], f'term-{term}', 3.3)
                  for term, rows in terms.items()},
        'trajectory': figures.trajectory_figure(model, evidence),
        'singular': figures.singular_figure(evidence),
        'whiteness': figures.whiteness_figure(model, evidence)}


def significant(value: float | None, digits: int = 3) -> str:
    """A few significant digits without exponent where possible; a dash for nothing."""
    if value is None or not math.isfinite(value):
        return '–'
    if value == 0.0:
        return '0'
    exponent = math.floor(math.log10(abs(value)))
    if -5 <= exponent < 6:
        text = f'{value:.{max(0, digits - 1 - exponent)}f}'
    else:
        mantissa, power = f'{value:.{digits - 1}e}'.split('e')
        text = f'{mantissa}·10^{int(power)}'
    return text.replace('-', MINUS)


def with_interval(value: float, low: float, high: float) -> str:
    """Value and half width of its interval, both to the second digit of the half width."""
    half = 0.5 * (high - low)
    if not (half > 0.0 and math.isfinite(half)):
        return significant(value)
    places = min(8, max(0, 1 - math.floor(math.log10(half))))
    return f'{value:.{places}f} ± {half:.{places}f}'.replace('-', MINUS)
