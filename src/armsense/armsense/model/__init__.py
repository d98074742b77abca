"""What an arm is: configuration, rigid-body model, identified model files."""

from armsense.model.arm import Arm
from armsense.model.arm_config import ArmConfig, JointConfig

__all__ = ['ArmConfig', 'Arm', 'JointConfig']
