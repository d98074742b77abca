"""What turns motor readings into the torque that moves the links."""

from armsense.drive.drive import Drive, make_drive, MixedDrive, RigidDrive
from armsense.drive.elastic_joint import ElasticJoint
from armsense.drive.friction import FrictionModel
from armsense.drive.strain_link import GravityOffset, StrainLink

__all__ = ['Drive', 'ElasticJoint', 'FrictionModel', 'GravityOffset', 'MixedDrive', 'RigidDrive',
           'StrainLink', 'make_drive']
