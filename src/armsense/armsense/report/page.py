"""The report as one HTML page that needs nothing beside itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from armsense.jobs.files import report_name, together
from armsense.jobs.identify_job import Identification
from armsense.report import figures
from armsense.report.content import content
from armsense.report.evidence import Evidence
from armsense.report.numbers import significant, with_interval

FOLDER = Path(__file__).parent
STATES = {'alone': 'identified', 'combined': 'in a sum', 'weak': 'CAD, below noise',
          'silent': 'CAD, never felt'}


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


def render(job: Identification, evidence: Evidence, facts: dict[str, Any]) -> str:
    """HTML of the report."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {'digits': significant, 'interval': with_interval}
    template = environment.get_template('page.html.j2')
    return template.render(**facts, figures=draw(job, evidence, facts), states=STATES,
                           unseen=evidence.unseen_error is not None,
                           seconds=float(evidence.shown.t[-1] - evidence.shown.t[0]))


def draw(job: Identification, evidence: Evidence, facts: dict[str, Any]) -> dict[str, Any]:
    """All figures."""
    model, n = job.model, job.model.model.n
    kinds = {kind: [row for row in facts['parameters'] if row['kind'] == kind]
             for kind in ('mass', 'first moment', 'inertia')}
    terms = {term: [row for row in facts['drive'] if row['term'] == term]
             for term in model.drive.terms}
    return {
        'torque': [_safe(figures.torque_figure(model, evidence, k)) for k in range(n)],
        'friction': [_safe(figures.friction_figure(model, evidence, k)) for k in range(n)],
        'forest': {kind: _safe(figures.forest_figure(rows, rows[0]['unit'], kind.split()[0]))
                   for kind, rows in kinds.items()},
        'terms': {term: _safe(figures.forest_figure(rows, rows[0]['unit'], f'term-{term}', 3.3))
                  for term, rows in terms.items()},
        'trajectory': _safe(figures.trajectory_figure(model, evidence)),
        'singular': _safe(figures.singular_figure(evidence)),
        'whiteness': _safe(figures.whiteness_figure(model, evidence))}


def _safe(svg: str) -> Markup:
    return Markup(svg)   # our own figures, not a stranger's text
