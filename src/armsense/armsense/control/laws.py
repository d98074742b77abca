"""All control laws by name."""

from armsense.control.decentralised import PidPosition, PiVelocity
from armsense.control.disturbance import DisturbanceObserver
from armsense.control.dynamic import ComputedTorque, Float, JointImpedance, PdGravity
from armsense.control.elastic import ElasticInverseDynamics, ElasticState
from armsense.control.kinematic import KinematicCartesian, KinematicJoint, OscillationDamping
from armsense.control.law import Law
from armsense.control.task_space import CartesianImpedance, Force, TaskPd
from armsense.schema import check_known

LAWS: dict[str, type[Law]] = {law.name: law for law in (
    PiVelocity, PidPosition, KinematicJoint, KinematicCartesian,
    PdGravity, ComputedTorque, JointImpedance, ElasticState, ElasticInverseDynamics,
    OscillationDamping, TaskPd, CartesianImpedance, Force, DisturbanceObserver, Float)}

# What each of the two controller nodes offers.
JOINT_SPACE_LAWS = ('pi_velocity', 'pid_position', 'kinematic_joint', 'kinematic_cartesian')
DYNAMIC_LAWS = ('pd_gravity', 'computed_torque', 'joint_impedance', 'elastic_state',
                'elastic_inverse_dynamics', 'oscillation_damping', 'task_pd',
                'cartesian_impedance', 'force', 'disturbance_observer', 'float')


def find_law(name: str) -> type[Law]:
    check_known('control law', name, LAWS)
    return LAWS[name]
