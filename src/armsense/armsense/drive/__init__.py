"""What turns motor readings into the torque that moves the links."""

from armsense.drive.current_sign import CurrentSign, expected_current, recover_signs
from armsense.drive.drive import Drive, DriveReading, make_drive, MixedDrive
from armsense.drive.elastic_joint import ElasticJoint
from armsense.drive.friction import FrictionModel
from armsense.drive.rigid_drive import MotorCurrent, RigidDrive, torque_constant
from armsense.drive.strain_link import GravityOffset, StrainLink

__all__ = [
    'CurrentSign', 'Drive', 'DriveReading', 'ElasticJoint', 'FrictionModel', 'GravityOffset',
    'MixedDrive', 'MotorCurrent', 'RigidDrive', 'StrainLink', 'expected_current', 'make_drive',
    'recover_signs', 'torque_constant',
]
