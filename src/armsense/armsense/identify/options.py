"""What a user may decide instead of the data."""

from __future__ import annotations

from dataclasses import dataclass

from armsense.errors import UnknownName
from armsense.identify.feasible import MASS_FACTORS
from armsense.identify.friction_columns import TERMS
from armsense.types import Array

# How positions become smooth velocities and accelerations; `average` averages periods first.
PREPROCESSING = ('auto', 'filter', 'spectral', 'fourier', 'spline', 'average')
ESTIMATORS = ('consistent', 'ols', 'wls', 'huber', 'ridge', 'iv', 'ml', 'recursive')


@dataclass(frozen=True)
class Options:
    """Choices of an identification; None and `auto` leave them to the data."""

    gravity: Array | None = None           # [m/s^2] in the base frame
    axes: Array | None = None              # drive axes, (k, n); None: one drive per joint
    cutoff: float | None = None            # of the torque band [Hz]; None: from the motion
    mass_factors: tuple[float, float] = MASS_FACTORS
    total_mass: tuple[float, float] | None = None   # [kg]
    preprocess: str = 'auto'
    estimator: str = 'consistent'
    terms: tuple[str, ...] | None = None   # of the drives; None: by cross-validation

    def __post_init__(self) -> None:
        if self.preprocess not in PREPROCESSING:
            raise UnknownName('preprocess', self.preprocess, PREPROCESSING)
        if self.estimator not in ESTIMATORS:
            raise UnknownName('estimator', self.estimator, ESTIMATORS)
        for term in self.terms or ():
            if term not in TERMS:
                raise UnknownName('drive term', term, TERMS)
