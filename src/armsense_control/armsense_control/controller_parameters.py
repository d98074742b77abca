"""Parameters that all controller nodes have."""

from __future__ import annotations

from armsense_node.parameters import Parameter

ARM_PARAMETERS = (
    Parameter('arm', 'laas4', 'arm by name or path of its yaml file'),
    Parameter('model', '', 'identified model.yaml; empty: the arm file alone'),
    Parameter('controllers', '', 'yaml file of gains; empty: config/controllers.yaml'),
)
LOOP_PARAMETERS = (
    Parameter('autostart', True, 'configure and activate at once'),
    Parameter('lockstep', False, 'virtual time: answer every state with the residual before it'),
    Parameter('await_residual', False, 'lock-step: a collision observer runs'),
    Parameter('await_base', False, 'lock-step: base_reaction runs'),
)
