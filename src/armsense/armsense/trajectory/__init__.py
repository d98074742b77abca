"""Joint motion over time: splines, limits, time scaling, stopping, tolerances."""

from armsense.trajectory.blending import Blended, entered
from armsense.trajectory.clearance import Clearance, Guard
from armsense.trajectory.fourier import Fourier, fourier_test
from armsense.trajectory.limits import check_motion, Limits, Violation
from armsense.trajectory.point_to_point import point_to_point
from armsense.trajectory.quintic_spline import QuinticSpline
from armsense.trajectory.reference import sample_grid, Trajectory
from armsense.trajectory.stopping import approach_speed, Brake, Pursuit, stop_on_path
from armsense.trajectory.task_motion import (
    follow_task_path,
    inverse_kinematics,
    pick_and_place,
)
from armsense.trajectory.time_scaling import Chain, ramped, TimeScaled
from armsense.trajectory.tolerances import ErrorCode, ToleranceMonitor, Tolerances
from armsense.types import Reference, TaskReference

__all__ = [
    'Blended', 'Brake', 'Chain', 'Clearance', 'ErrorCode', 'Fourier', 'Guard', 'Limits',
    'Pursuit', 'QuinticSpline', 'Reference', 'TaskReference', 'TimeScaled', 'ToleranceMonitor',
    'Tolerances', 'Trajectory', 'Violation',
    'approach_speed', 'check_motion', 'entered', 'follow_task_path', 'fourier_test',
    'inverse_kinematics', 'pick_and_place', 'point_to_point', 'ramped', 'sample_grid',
    'stop_on_path',
]
