"""What the actions of `identification_server` let a worker do; commands do the same in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
import math
from pathlib import Path
from typing import Any, NamedTuple

from armsense import schema
from armsense.errors import ArmsenseError, UnknownName
from armsense.excite import Constraints, design_excitation, DesignOptions, SearchStep
from armsense.jobs.files import check_target, expand, read_motion
from armsense.jobs.identify_job import run, Subject
from armsense.model import Arm
from armsense.model.model_file import file_hash
from armsense.recordings.bag_files import BagFacts
from armsense.recordings.recording_check import check_recording, model_hash, Run, verdict

# Names of the action's goal and of the estimators.
METHODS = {'sdp': 'consistent', 'wls': 'wls', 'ols': 'ols', 'huber': 'huber'}

Tell = Callable[[Any], None]


class Outcome(NamedTuple):
    """What an action answers."""

    message: str
    file: str = ''
    values: dict[str, float] = {}


@dataclass(frozen=True)
class DesignRequest:
    """As the action's goal; 0 and '' mean the default."""

    arm: str
    out: str
    model: str = ''
    options: dict[str, Any] = field(default_factory=dict)


def design(request: DesignRequest, tell: Tell) -> Outcome:
    """Design an excitation and write it; tells `SearchStep`."""
    out = Path(request.out)
    check_target(out, 'excite.yaml')
    options = schema.load(DesignOptions, request.options, 'goal')
    model = Arm.load(request.arm, request.model or None)

    tell(SearchStep(0.0, 0, 0, math.nan, False, 0.0))
    result = design_excitation(model, options, Constraints.of(model), progress=tell)
    result.excitation.write(out)
    quality = result.excitation.quality
    cut = ', cut short by the time limit' if result.interrupted else ''
    return Outcome(f'{quality.criterion} {quality.value:.5g}, condition number '
                   f'{quality.condition_number:.4g}{cut}', str(out),
                   {'criterion_value': quality.value,
                    'condition_number': quality.condition_number})


@dataclass(frozen=True)
class IdentifyRequest:
    """As the action's goal."""

    bags: tuple[str, ...]
    arm: str
    out: str
    method: str = 'sdp'


def identify(request: IdentifyRequest, tell: Tell) -> Outcome:
    """Identify and write model and report; tells (share, step)."""
    from armsense.report.page import write_all
    if request.method not in METHODS:
        raise UnknownName('method', request.method, METHODS)
    if not request.bags:
        raise ArmsenseError('no bag is given')
    out = Path(request.out)
    check_target(out, 'model.yaml')
    subject = Subject.of_arm(request.arm)
    subject = subject._replace(
        options=replace(subject.options, estimator=METHODS[request.method]))
    job = run(subject, expand(request.bags), tell=lambda share, step: tell((share, step)))
    tell((0.9, 'writing the report'))
    written = write_all(job, out)
    percent = job.result['cross_validated_percent']
    remarks = ''.join(f'; {note}' for note in job.result['notes'])
    return Outcome(f'{job.result["verdict"]}; report: {written[1]}{remarks}', str(out),
                   {'error_percent': percent, 'grade': job.result['grade']})


@dataclass(frozen=True)
class CheckRequest:
    """A finished run."""

    bag: str
    motion: str          # file
    arm: str
    model: str           # file, '' for the nominal model
    start: float         # stamp [s]
    periods: int = 1
    namespace: str = ''


def check(request: CheckRequest, tell: Tell) -> Outcome:
    """Check a recording and write into it what it is; a failed check is an error."""
    bag, file = Path(request.bag), Path(request.motion)
    model = Arm.load(request.arm, request.model or None)
    motion = read_motion(file, model.name).trajectory(request.periods)
    facts = BagFacts(
        arm=model.name, model_sha256=model_hash(model), motion=file.name,
        motion_sha256=file_hash(file), motion_start=f'{request.start:.9f}',
        motion_end=f'{request.start + motion.duration:.9f}', periods=str(request.periods),
        date=datetime.now(timezone.utc).isoformat(timespec='seconds'))
    checks = check_recording(bag, Run(model, motion, request.start, request.namespace))
    said = verdict(checks)
    replace(facts, checks=said).write(bag)
    if said != 'ok':
        raise ArmsenseError(f'{bag} is no use for identification: {said}')
    return Outcome('; '.join(c.text for c in checks), str(bag))

