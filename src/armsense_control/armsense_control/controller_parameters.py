"""Parameters that all controller nodes have."""

from __future__ import annotations

from dataclasses import dataclass

from armsense.schema import quantity
from armsense_node.parameters import LifecycleParameters, LockstepParameters, ModelParameters


@dataclass(frozen=True, kw_only=True)
class ControllerParameters(LockstepParameters, LifecycleParameters, ModelParameters):
    """Arm, gains and whom to wait for."""

    controllers: str = quantity('', text='yaml file of gains; empty: config/controllers.yaml')
    await_residual: bool = quantity(False, text='lock-step: a collision observer runs')
    await_base: bool = quantity(False, text='lock-step: base_reaction runs')
