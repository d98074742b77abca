"""What an arm does about a collision."""

from armsense.reaction.machine import ReactionMachine
from armsense.reaction.options import Directive, Phase, ReactionOptions, STRATEGIES
from armsense.reaction.retreat import Admittance
from armsense.reaction.ways import PathMemory

__all__ = ['Admittance', 'Directive', 'PathMemory', 'Phase', 'ReactionMachine',
           'ReactionOptions', 'STRATEGIES']
