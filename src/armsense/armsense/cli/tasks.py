"""What the actions of `identification_server` let a worker do; commands do the same in place.

An arm is told by its name or yaml file, a model by its file; empty: the nominal model.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
import math
from pathlib import Path
from typing import Any, NamedTuple

from armsense import schema
from armsense.errors import ArmsenseError
from armsense.excite import Constraints, design_excitation, DesignOptions, SearchStep
from armsense.jobs.files import check_target, expand, read_motion
from armsense.jobs.identify_job import run, Setup
from armsense.model import Arm
from armsense.model.arm_source import ArmSource
from armsense.model.model_file import file_hash
from armsense.recordings.bag_files import BagFacts
from armsense.recordings.recording_check import check_recording, model_hash, Run, verdict
from armsense.schema import check_known

# Names of the action's goal and of the estimators.
METHODS = {'sdp': 'consistent', 'wls': 'wls', 'ols': 'ols', 'huber': 'huber'}

Tell = Callable[[Any], None]


class Outcome(NamedTuple):
    """What an action answers."""

    message: str
    file: str = ''
    values: dict[str, float] = {}


def design(arm: str, out: str, model: str, options: dict[str, Any], tell: Tell) -> Outcome:
    """Design an excitation, with some `DesignOptions`, and write it; tells `SearchStep`."""
    check_target(Path(out), 'excite.yaml')
    chosen = schema.load(DesignOptions, options, 'goal')
    loaded = Arm.load(arm, model or None)
    tell(SearchStep(0.0, 0, 0, math.nan, False, 0.0))
    result = design_excitation(loaded, chosen, Constraints.of(loaded), progress=tell)
    result.excitation.write(Path(out))
    quality = result.excitation.quality
    cut = ', cut short by the time limit' if result.interrupted else ''
    return Outcome(f'{quality.criterion} {quality.value:.5g}, condition number '
                   f'{quality.condition_number:.4g}{cut}', out,
                   {'criterion_value': quality.value,
                    'condition_number': quality.condition_number})


def identify(bags: Sequence[str], arm: str, out: str, method: str, tell: Tell) -> Outcome:
    """Identify by one of `METHODS` and write model and report; tells (share, step)."""
    from armsense.report.page import write_all
    check_known('method', method, METHODS)
    if not bags:
        raise ArmsenseError('no bag is given')
    check_target(Path(out), 'model.yaml')
    setup = Setup.of_arm(arm)
    setup = setup._replace(options=replace(setup.options, estimator=METHODS[method]))
    job = run(setup, expand(bags), tell=lambda share, step: tell((share, step)))
    tell((0.9, 'writing the report'))
    written = write_all(job, Path(out))
    percent = job.result['cross_validated_percent']
    remarks = ''.join(f'; {note}' for note in job.result['notes'])
    return Outcome(f'{job.result["verdict"]}; report: {written[1]}{remarks}', out,
                   {'error_percent': percent, 'grade': job.result['grade']})


def check(bag: Path, file: Path, arm: str, model: str, start: float, periods: int,
          namespace: str, tell: Tell) -> Outcome:
    """Check the recording of a motion that began at a stamp [s], and write into it what it is."""
    loaded = Arm.load(arm, model or None)
    motion = read_motion(file, loaded.name).trajectory(periods)
    source = ArmSource.of(loaded.config)
    facts = BagFacts(
        arm=loaded.name, arm_file=source.file if source else '',
        arm_sha256=source.sha256 if source else '', model_sha256=model_hash(loaded),
        motion=file.name, motion_sha256=file_hash(file), motion_start=f'{start:.9f}',
        motion_end=f'{start + motion.duration:.9f}', periods=str(periods),
        date=datetime.now(timezone.utc).isoformat(timespec='seconds'))
    checks = check_recording(bag, Run(loaded, motion, start, namespace))
    said = verdict(checks)
    replace(facts, checks=said).write(bag)
    if said != 'ok':
        raise ArmsenseError(f'{bag} is no use for identification: {said}')
    return Outcome('; '.join(c.text for c in checks), str(bag))
