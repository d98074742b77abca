"""What an arm is: configuration, rigid-body model, identified model files."""

from armsense.model.arm_config import ArmConfig, JointConfig
from armsense.model.arm_model import ArmModel

__all__ = ['ArmConfig', 'ArmModel', 'JointConfig']
