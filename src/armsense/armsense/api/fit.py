"""A recording in, an identified robot out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
import time
from typing import Any

from armsense.errors import ArmsenseError
from armsense.identify.estimation.training import Options
from armsense.identify.identify import identify as identify_arm
from armsense.identify.payload import find_payload
from armsense.identify.signals.recording import Recording
from armsense.jobs.files import check_target
from armsense.jobs.identify_job import Identification, Setup, summary
from armsense.model import Arm

Recordings = Recording | Sequence[Recording]


def identify(recordings: Recordings, robot: Arm, *, validate: Recordings = (),
             gravity: str = 'given', estimator: str = 'consistent') -> Fit:
    """A physically consistent model of a robot, from one recorded motion or several.

    Args:
        recordings: Every joint must move in them, and nobody may touch the robot.
        robot: What is known of it, such as `load('ur10e')`.
        validate: Recordings that judge the result and are not used for it.
        gravity: 'given' keeps that of the robot; 'auto' finds how it is mounted.
        estimator: See docs/identification.md.

    Example:
        >>> fit = armsense.identify(rec, robot)
        >>> print(fit)
        >>> fit.report('report.html')
    """
    if any(joint.drive != 'rigid' for joint in robot.config.joints.values()):
        raise ArmsenseError(f'{robot.name} has springs or strain gauges, which arrays of angles '
                            'and torques do not hold; type: armsense identify BAG --arm '
                            f'{robot.name}')
    if gravity not in ('given', 'auto'):
        raise ArmsenseError(f'gravity is {gravity!r}; it must be given or auto')
    begin = time.perf_counter()
    options = Options(gravity=robot.gravity if gravity == 'given' else None, estimator=estimator)
    setup = Setup.rigid(robot, options)
    training, unseen = _several(recordings), _several(validate)
    found = identify_arm(training, setup.arm, options)
    result = summary(found, unseen, (), time.perf_counter() - begin)
    return Fit(robot, Identification(setup, found, training, unseen, (), (), result))


@dataclass(frozen=True, repr=False)
class Fit:
    """What `identify` found; `print` shows a table, `robot` is the arm with its new parameters."""

    nominal: Arm
    job: Identification

    @property
    def robot(self) -> Arm:
        """The identified arm: inertias, friction, rotors, gravity."""
        return self.job.model_file().apply(self.nominal)

    @property
    def grade(self) -> str:
        """good, usable or poor."""
        return str(self.job.result['grade'])

    @property
    def verdict(self) -> str:
        """One sentence."""
        return str(self.job.result['verdict'])

    @property
    def percent(self) -> float:
        """Share of the torque that is missed, on unseen motion where there is some [%]."""
        result = self.job.result
        unseen = result['validation_percent']
        return float(result['cross_validated_percent'] if unseen is None else unseen)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self.job.result['notes'])

    def save(self, path: str | Path) -> Path:
        """Write `model.yaml`, which `load`, all commands and all nodes read."""
        check_target(Path(path), 'model.yaml')
        self.job.model_file().write(path)
        return Path(path)

    def report(self, path: str | Path = 'report.html') -> Path:
        """Write the report, one page that needs nothing beside itself."""
        from armsense.report.page import page  # matplotlib takes a second
        check_target(Path(path), 'report.html')
        Path(path).write_text(page(self.job))
        return Path(path)

    def payload(self, loaded: Recording) -> dict[str, Any]:
        """Mass [kg] and centre [m] of what the robot carries in another recording."""
        return find_payload(self.job.model, loaded, self.job.training[0])

    def __repr__(self) -> str:
        model, unseen = self.job.model, self.job.result.get('validation_joint_percent')
        width = max(map(len, model.model.joint_names))
        lines = [f'{model.model.name}: torque error up to {model.cutoff:.1f} Hz',
                 f'{"joint":<{width}}  train %  unseen %  mass kg  over URDF']
        for k, name in enumerate(model.model.joint_names):
            other = '-' if unseen is None else f'{unseen[k]:.2f}'
            lines.append(f'{name:<{width}}  {model.train.joint_percent[k]:7.2f}  {other:>8}  '
                         f'{model.masses[k]:7.3f}  {model.mass_factors[k]:9.2f}')
        return '\n'.join([*lines, *(f'note: {note}' for note in self.notes), f'{self.verdict}.'])


def _several(recordings: Recordings) -> tuple[Recording, ...]:
    return (recordings,) if isinstance(recordings, Recording) else tuple(recordings)
