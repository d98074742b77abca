"""What an arm does about a collision."""

from armsense_core.reaction.admittance import Admittance
from armsense_core.reaction.machine import CollisionEvent, Directive, Phase, ReactionMachine
from armsense_core.reaction.options import ReactionOptions, STRATEGIES
from armsense_core.reaction.path_memory import PathMemory

__all__ = ['Admittance', 'CollisionEvent', 'Directive', 'PathMemory', 'Phase', 'ReactionMachine',
           'ReactionOptions', 'STRATEGIES']
