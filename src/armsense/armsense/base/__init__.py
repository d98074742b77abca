"""Load cells under the base: wrench, residual, parameters, sensitivity, fusion with joints."""

from armsense.base.base_observer import BaseObserver, BaseObserverOptions, BaseReading
from armsense.base.base_regressor import (
    felt_parameters,
    felt_regressor,
    FilteredRegressor,
    parameter_names,
)
from armsense.base.batch_estimation import BatchEstimate, estimate_batch, FeltMotion
from armsense.base.cell_calibration import calibrate_cell, CalibrationFile, CellCalibration
from armsense.base.cell_check import CellChecker, CellFault, check_layout, LayoutReport
from armsense.base.cell_layout import AXES, CellLayout
from armsense.base.recursive_estimation import RecursiveEstimator, RecursiveOptions
from armsense.base.run_database import RecordedProgram, RunFollower, RunReading
from armsense.base.sensitivity import (
    detectable_at_pose,
    detectable_force,
    DetectableForce,
    force_response,
    sensitivity_map,
    SensitivityMap,
    workspace_grid,
)
from armsense.base.sensitivity_figure import draw_sensitivity
from armsense.base.time_shift import find_time_shift, TimeShift
from armsense.base.vibration import BandStop, find_modes, VibrationFloor, VibrationMode

__all__ = [
    'AXES', 'BandStop', 'BaseObserver', 'BaseObserverOptions', 'BaseReading', 'BatchEstimate',
    'CalibrationFile', 'CellCalibration', 'CellChecker', 'CellFault', 'CellLayout',
    'DetectableForce', 'FeltMotion', 'FilteredRegressor', 'LayoutReport', 'RecordedProgram',
    'RecursiveEstimator', 'RecursiveOptions', 'RunFollower', 'RunReading', 'SensitivityMap',
    'TimeShift', 'VibrationFloor', 'VibrationMode', 'calibrate_cell', 'check_layout',
    'detectable_at_pose', 'detectable_force', 'draw_sensitivity', 'estimate_batch',
    'felt_parameters', 'felt_regressor', 'find_modes', 'find_time_shift', 'force_response',
    'parameter_names', 'sensitivity_map', 'workspace_grid',
]
