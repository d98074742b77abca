"""Motions that excite all parameters of an arm: families, criteria, constraints, design."""

from armsense.excite.constraints import BaseCylinder, Constraints
from armsense.excite.criteria import CRITERIA, make_criterion
from armsense.excite.design import Design, design_excitation
from armsense.excite.excitation import Excitation
from armsense.excite.families import KINDS
from armsense.excite.search import DesignOptions, SearchStep

__all__ = ['BaseCylinder', 'Constraints', 'CRITERIA', 'Design', 'DesignOptions', 'Excitation',
           'KINDS', 'SearchStep', 'design_excitation', 'make_criterion']
