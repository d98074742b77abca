"""Control laws, and what keeps their commands safe.

`control.motion_controller.MotionController` joins them with trajectories and reactions.
"""

from armsense.control.active_law import Switcher
from armsense.control.law import Law
from armsense.control.laws import DYNAMIC_LAWS, find_law, JOINT_SPACE_LAWS, LAWS
from armsense.control.limiter import Limited, Limiter
from armsense.types import ArmState, board_torque, Command, Reference

__all__ = [
    'ArmState', 'Command', 'DYNAMIC_LAWS', 'JOINT_SPACE_LAWS', 'LAWS', 'Law', 'Limited', 'Limiter',
    'Reference', 'Switcher', 'board_torque', 'find_law',
]
