"""How an arm answers a collision: parameters, phases, what the controller shall follow."""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from armsense.schema import check, check_known, quantity
from armsense.types import Flags, Reference

STRATEGIES = ('ignore', 'stop', 'retract', 'float', 'retrace', 'resume')

PerJoint = tuple[float, ...]   # one number per joint, or a single one for all


@dataclass(frozen=True, kw_only=True)
class ReactionOptions:
    """Parameters of all strategies."""

    strategy: str = quantity('retract', choices=STRATEGIES)
    quiet: PerJoint = quantity((), unit='Nm', above=0, text='residual below which nothing is '
                               'felt; empty: where the detector calls a contact ended, and never '
                               'more than that')
    quiet_moving: float = quantity(2.0, low=1, high=10, text='times `quiet` while the arm regains '
                                   'clearance: it feels its own friction then')
    quiet_time: float = quantity(0.3, unit='s', low=0)
    timeout: float = quantity(3.0, unit='s', above=0, text='of a reaction, then hold')
    # Paper 001, eq. 18: dq = overreaction * residual / (inertia s + drag + stiffness / s)
    inertia: PerJoint = quantity((), unit='kg m^2', low=0, text='empty: that of the joint where '
                                 'the arm was hit, at least 0.05')
    drag: PerJoint = quantity((), unit='Nm s/rad', above=0, text='1/K_R of thesis 000, eq. 5.1, '
                              'if nothing else is set; empty: 20 per second times the inertia of '
                              'the joint, at least 5')
    stiffness: PerJoint = quantity((0.0,), unit='Nm/rad', low=0)
    overreaction: PerJoint = quantity((3.0,), unit='1', low=1, high=100)
    reflex_time: float = quantity(0.3, unit='s', low=0, text='after it the overreaction is 1')
    retract_speed: PerJoint = quantity((1.0,), unit='rad/s', above=0)
    retract_distance: PerJoint = quantity((0.5,), unit='rad', above=0)
    rest_speed: float = quantity(0.03, unit='rad/s', above=0, text='below it the arm rests')
    float_time: float = quantity(0.0, unit='s', low=0,
                                 text='quiet rest after which floating ends; 0: never')
    memory: float = quantity(2.0, unit='s', above=0, text='of the path, for retrace')
    retrace_speed: float = quantity(0.5, above=0, high=1, text='fraction of the speed just driven')
    clearance: float = quantity(0.05, unit='rad', low=0,
                                text='away from the contact before the arm resumes')
    clearance_speed: float = quantity(0.1, unit='rad/s', above=0)
    resume_speed: float = quantity(0.3, above=0, high=1, text='fraction of the nominal speed')
    attempts: int = quantity(2, low=0, text='resumptions of one trajectory')
    resume_timeout: float = quantity(30.0, unit='s', above=0, text='from a contact until the arm '
                                     'resumes; then the goal is aborted')

    def __post_init__(self) -> None:
        check(self)


def known_strategy(name: str) -> str:
    """The name, if it is one."""
    check_known('reaction', name, STRATEGIES)
    return name


class Phase(str, Enum):
    """States of the machine."""

    TRACKING = 'tracking'
    REACTING = 'reacting'
    HOLDING = 'holding'
    VERIFYING = 'verifying'
    RESUMING = 'resuming'
    SAFE = 'safe'


class Directive(NamedTuple):
    """What the controller shall follow in this cycle."""

    phase: Phase
    reference: Reference | None = None   # instead of the trajectory
    anew: Flags | None = None            # joints whose reference begins anew now, (n,)
    law: str | None = None               # instead of the chosen law
    resume: bool = False                 # plan the rest of the trajectory now
