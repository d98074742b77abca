"""Joint motion over time: splines, limits, time scaling, stopping, tolerances."""

from armsense.trajectory.clearance import Clearance, Guard
from armsense.trajectory.combined import Chain, entered, ramped, TimeScaled
from armsense.trajectory.limits import check_motion, Limits, Violation
from armsense.trajectory.quintic_spline import point_to_point, QuinticSpline
from armsense.trajectory.reference import Fourier, sample_grid, Trajectory
from armsense.trajectory.stopping import Brake, Pursuit, stop_on_path
from armsense.trajectory.tolerances import ErrorCode, ToleranceMonitor, Tolerances

__all__ = [
    'Brake', 'Chain', 'Clearance', 'ErrorCode', 'Fourier', 'Guard', 'Limits', 'Pursuit',
    'QuinticSpline', 'TimeScaled', 'ToleranceMonitor', 'Tolerances', 'Trajectory', 'Violation',
    'check_motion', 'entered', 'point_to_point', 'ramped', 'sample_grid', 'stop_on_path',
]
