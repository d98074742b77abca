"""What an arm does about a collision."""

from armsense.reaction.admittance import Admittance
from armsense.reaction.directive import Directive, Phase
from armsense.reaction.machine import ReactionMachine
from armsense.reaction.options import ReactionOptions, STRATEGIES
from armsense.reaction.path_memory import PathMemory

__all__ = ['Admittance', 'Directive', 'PathMemory', 'Phase', 'ReactionMachine',
           'ReactionOptions', 'STRATEGIES']
