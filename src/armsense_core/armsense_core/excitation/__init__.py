"""Motions that excite all parameters of an arm: families, criteria, constraints, design."""

from armsense_core.excitation.clearance_rows import BaseCylinder
from armsense_core.excitation.constraints import Constraints
from armsense_core.excitation.criteria import CRITERIA, make_criterion
from armsense_core.excitation.design import Design, design_excitation
from armsense_core.excitation.design_options import DesignOptions, Progress
from armsense_core.excitation.excitation import Excitation
from armsense_core.excitation.kinds import KINDS

__all__ = ['BaseCylinder', 'Constraints', 'CRITERIA', 'Design', 'DesignOptions', 'Excitation',
           'KINDS', 'Progress', 'design_excitation', 'make_criterion']
