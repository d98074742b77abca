"""What an arm is: configuration, rigid-body model, identified model files."""

from armsense_core.model.arm_config import ArmConfig, JointConfig
from armsense_core.model.arm_model import ArmModel

__all__ = ['ArmConfig', 'ArmModel', 'JointConfig']
