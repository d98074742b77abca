"""Joint motion over time: splines, limits, time scaling, stopping, tolerances."""

from armsense_core.trajectory.blending import Blended, entered
from armsense_core.trajectory.clearance import Clearance, Guard
from armsense_core.trajectory.fourier import Fourier, fourier_test
from armsense_core.trajectory.limits import check_motion, Limits, Violation
from armsense_core.trajectory.point_to_point import point_to_point
from armsense_core.trajectory.quintic_spline import QuinticSpline
from armsense_core.trajectory.reference import Reference, sample_grid, TaskReference, Trajectory
from armsense_core.trajectory.stopping import approach_speed, Brake, Pursuit, stop_on_path
from armsense_core.trajectory.task_motion import (
    follow_task_path,
    inverse_kinematics,
    pick_and_place,
)
from armsense_core.trajectory.time_scaling import Chain, ramped, TimeScaled
from armsense_core.trajectory.tolerances import ErrorCode, ToleranceMonitor, Tolerances

__all__ = [
    'Blended', 'Brake', 'Chain', 'Clearance', 'ErrorCode', 'Fourier', 'Guard', 'Limits',
    'Pursuit', 'QuinticSpline', 'Reference', 'TaskReference', 'TimeScaled', 'ToleranceMonitor',
    'Tolerances', 'Trajectory', 'Violation',
    'approach_speed', 'check_motion', 'entered', 'follow_task_path', 'fourier_test',
    'inverse_kinematics', 'pick_and_place', 'point_to_point', 'ramped', 'sample_grid',
    'stop_on_path',
]
