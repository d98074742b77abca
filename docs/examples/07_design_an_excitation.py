"""A motion that shows the dynamics of an arm and keeps all its limits, in a few seconds."""

from armsense.excite.design import design_excitation
from armsense.excite.search import DesignOptions
from armsense.model import Arm

model = Arm.load('crs_a465')
design = design_excitation(model, DesignOptions(period=6.0, harmonics=3, starts=1, iterations=15))
print(f'objective from {design.first_objective:.1f} (best of many random motions) to '
      f'{design.objective:.1f} in {design.iterations} steps')
excitation = design.excitation
print(f'{excitation.kind}, {excitation.period:g} s, {excitation.n} joints; '
      f'condition number {excitation.quality.condition_number:.1f}')
