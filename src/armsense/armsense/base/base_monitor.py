"""All that `base_reaction` decides: states and cell forces in, residual and collisions out.

From start to detection: the first rest of the arm gives the offset (weight of the base, tare);
then the residual counts. Cells that report themselves invalid, or that the others contradict,
are left out and named; with too few left the monitor says so instead of guessing.
"""

from collections.abc import Sequence
import contextlib
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from armsense.base.base_observer import BaseObserver, BaseObserverOptions, BaseReading
from armsense.base.base_regressor import FilteredRegressor, RecursiveEstimator
from armsense.base.cell_check import CellFault, CellTrust
from armsense.base.cell_layout import cell_list, CellLayout
from armsense.base.cell_offset import drift_step, Rest, RestWatch
from armsense.base.sensitivity import detectable_force, DetectableForce
from armsense.base.vibration import VibrationFloor, VibrationMode
from armsense.detector import (
    Detection,
    Detector,
    DetectorOptions,
    fit_false_alarm_threshold,
    fixed_thresholds,
    Thresholds,
)
from armsense.errors import ArmsenseError
from armsense.identify.estimation.recursive import RecursiveOptions
from armsense.model import Arm
from armsense.model.base_motion import BaseMotion
from armsense.schema import quantity
from armsense.types import Array, Flags
from armsense.velocity import WeightedRegression

UNKNOWN_MODEL = 0.03     # share of the weight taken as model error until thresholds are learned
LEARN_EVERY = 10         # cycles between two corrections of the parameters
HIDDEN = 0.5             # share of a threshold that corrections may take from the residual at most
MAX_STORED = 3_600_000   # cycles of residuals kept for thresholds


@dataclass(frozen=True, kw_only=True)
class BaseMonitorOptions:
    """How the base is watched."""

    gain: float = quantity(40.0, unit='1/s', above=0,
                           text='of the low pass on measurement and prediction')
    cell_lag: float = quantity(0.0, unit='s', low=0, high=1,
                               text='by which the cells are later than the encoders')
    velocity_window: int = quantity(12, low=3, text='samples of the velocity regression')
    modes: tuple[VibrationMode, ...] = ()
    vibration_floor: float = quantity(
        0.0, low=0, text='factor on the learned swing added to thresholds; 0: off')
    detector: DetectorOptions = DetectorOptions(count=3, window=4)
    rest_speed: float = quantity(0.02, unit='rad/s', above=0)
    rest_time: float = quantity(0.3, unit='s', above=0, text='of rest that gives the offset')
    zero_at_start: bool = True
    drift: float = quantity(2.0, unit='N/h', low=0, high=1000,
                            text='fastest drift of a cell that the offset follows; 0: none')
    parity_tolerance: float | None = quantity(
        None, unit='N', low=0, text='by which cells may disagree; None: 2 % of their capacity')
    update_model: bool = quantity(
        False, text='correct the inertial parameters while the arm moves')
    recursive: RecursiveOptions = RecursiveOptions()


DEFAULT_OPTIONS = BaseMonitorOptions()


class BaseResult(NamedTuple):
    """One cycle."""

    reading: BaseReading
    threshold: Array               # of the felt axes [N, Nm], (k,)
    detection: Detection | None    # its `joint` is the index of a felt axis
    fault: CellFault | None        # a cell that the others contradict, when it is found
    problem: str                   # why the residual does not count; '' where it does
    lasting: Flags                 # felt axes in contact, (k,)
    lasts_for: float               # [s] of the oldest of these contacts; 0: there is none


class BaseMonitor:
    """Residual, detection and health of one arm on its cells."""

    def __init__(self, model: Arm, options: BaseMonitorOptions = DEFAULT_OPTIONS,
                 thresholds: Thresholds | None = None) -> None:
        """For an arm whose yaml has load cells; without thresholds they are guessed."""
        config = model.config
        if config.load_cells is None:
            raise ArmsenseError(f"{model.name} has no load cells; its yaml needs 'load_cells'")
        self.options = options
        self.layout = CellLayout.of_config(config.load_cells)
        self._noise = max(config.load_cells.noise, 1e-6)
        self._period = 1.0 / config.rate
        self._velocity = WeightedRegression(model.n, options.velocity_window, self._period)
        self.observer = BaseObserver(model, self.layout, BaseObserverOptions(
            gain=options.gain, period=self._period, cell_lag=options.cell_lag,
            velocity_lag=self._velocity.delay), options.modes)
        tolerance = (0.02 * config.load_cells.capacity if options.parity_tolerance is None
                     else options.parity_tolerance)
        self._trust = CellTrust(self.layout, self._noise, options.gain, self._period, tolerance)
        self.set_thresholds(thresholds or self.guessed_thresholds(model))
        k = len(self.layout.axes)
        self._floor = (VibrationFloor(k, self._period, factor=options.vibration_floor)
                       if options.vibration_floor > 0.0 else None)
        self._learn_from(model)
        self._zeroed = not options.zero_at_start
        self._offset = np.zeros(k)      # of the last zero; the estimator adds its own
        self._drift = np.sqrt(np.diag(self.layout.covariance(options.drift / 3600.0)))  # [N/s]
        self._rest = RestWatch(self.layout, self._noise,
                               max(8, round(options.rest_time / self._period)),
                               options.rest_speed)
        self._recorded: list[Array] | None = None
        self._cycle = 0
        self.lost_zero = ''             # why the driver's positions are wrong; empty: they are not

    def set_model(self, model: Arm) -> None:
        """Go on with other inertias (a payload); the offset of the cells stays."""
        self.observer.model = model
        self.observer.offset = self._offset
        self._learn_from(model)
        self.observer.reset()
        self.detector.reset()
        self._cycle = 0

    def _learn_from(self, model: Arm) -> None:
        """Corrections of the parameters begin with those of this model."""
        self._regressor = FilteredRegressor(model, self.layout, self.options.gain)
        self.estimator = RecursiveEstimator(
            model, self.layout, np.sqrt(np.diag(self.layout.covariance(self._noise))),
            self.options.recursive)
        self._start = self.estimator.phi.copy()
        self._learned = np.zeros_like(self._start)      # of it, what the prediction uses

    # -- cycle -------------------------------------------------------------------------------

    def step(self, q: Sequence[float] | Array, force: Array, valid: Flags, dt: float,
             motion: BaseMotion | None = None) -> BaseResult:
        """One cycle, `dt` [s] after the one before.

        Joint positions [rad], (n,); forces [N] of the cells and whether their driver trusts them,
        (m,); motion of the base, None where it stands still.
        """
        position = np.array(q, float)
        if self.lost_zero:
            self._forget()
            return self._silent(f'where the joints are is not known: {self.lost_zero}')
        dq = self._velocity.step(position, dt)
        usable = self._trust.usable(force, valid)
        if not self.layout.can_do_with(usable):
            self.observer.reset()
            return self._silent(f'load cells {cell_list(~usable)} are missing: '
                                f'{", ".join(self.layout.names)} cannot be told')
        if motion is not None and not motion.known:
            self.observer.reset()
            return self._silent('the base moves and its imu is silent: nothing can be told')
        felt = self.layout.wrench(np.where(usable, force, 0.0), usable, self._trust.checker.bias)
        self._note_rest(dq, Rest(position, felt, motion), np.where(usable, force, np.nan))
        if not self._zeroed:
            return self._silent('waiting for the arm to rest, for the offset of the cells')
        reading = self.observer.step(position, dq, felt, dt, motion)
        self._cycle += 1
        fault = self._trust.step(force, usable, reading, dt)
        if self.layout_problem:
            return self._silent(self.layout_problem)
        if not reading.valid:
            return self._silent('warming up')
        return self._judge(reading, felt, fault, dt)

    def _judge(self, reading: BaseReading, felt: Array, fault: CellFault | None,
               dt: float) -> BaseResult:
        """What a residual means; what it teaches about drift, parameters and thresholds."""
        detection = self._detect(reading.residual, dt)
        if not self.detector.tripped:
            change = drift_step(reading.residual, self._drift, dt)
            self._offset = self._offset + change
            self.observer.offset = self.observer.offset + change
        self._learn(felt, dt)
        if self._recorded is not None and len(self._recorded) < MAX_STORED:
            self._recorded.append(reading.residual)
        threshold = self.detector.threshold + (0.0 if self._floor is None else self._floor.floor)
        return BaseResult(reading, threshold, detection, fault, '', self.detector.lasting,
                          self.detector.lasts_for)

    def _forget(self) -> None:
        """Positions were wrong: nothing that was made of them counts."""
        self._velocity.reset()
        self._rest.reset()
        self.observer.reset()
        self.detector.reset()
        self._cycle = 0

    def _detect(self, residual: Array, dt: float) -> Detection | None:
        if self._floor is None:
            return self.detector.step(residual, np.zeros(len(residual)), dt)
        floor = self._floor.step(residual)
        # The floor comes off the residual, which leaves the calibrated thresholds as they are.
        rest = np.sign(residual) * np.maximum(np.abs(residual) - floor, 0.0)
        return self.detector.step(rest, np.zeros(len(residual)), dt)

    def _learn(self, felt: Array, dt: float) -> None:
        """Correct the parameters, at a tenth of the rate, while nothing touches the arm."""
        if not self.options.update_model or self._cycle % LEARN_EVERY:
            return
        q, dq = self.observer.aligned
        Y = self._regressor.step(q, dq, LEARN_EVERY * dt)
        self._use_learned(self._learned, Y)
        settled = self._cycle * self._period * self.options.gain > 5.0
        if self.detector.tripped or not settled:
            return
        low = self.observer.reading.measured - self._offset
        self.estimator.step(Y, low, LEARN_EVERY * dt)
        if self._cycle % (50 * LEARN_EVERY) == 0 and self.estimator.masses.min() > 0.0:
            self._use_learned(self.estimator.phi - self._start, Y)

    def _use_learned(self, change: Array, Y: Array) -> None:
        """Predict with changed parameters, as far as no contact is hidden by them.

        A touch that grows slowly looks like a model that is wrong. What the change takes from the
        residual is therefore bounded in every pose; what is felt beyond stays visible. The change
        is that of parameters and offsets since the start, (p,); Y is filtered, (k, p).
        """
        hidden = np.abs(Y @ change) / (HIDDEN * self.detector.threshold)
        change = change / max(1.0, float(hidden.max()))
        if np.array_equal(change, self._learned):
            return
        self._learned = change
        pi, offset = np.split(self._start + change, [-len(self.layout.axes)])
        # For the prediction alone the links need not be ones that could exist.
        self.observer.model = self.estimator.model.replace(parameters=pi)
        self.observer.offset = self._offset + offset

    def _silent(self, problem: str) -> BaseResult:
        k = len(self.layout.axes)
        reading = self.observer.reading._replace(valid=False)
        return BaseResult(reading, self.detector.threshold[:k].copy(), None, None, problem,
                          np.zeros(k, bool), 0.0)

    # -- offset ------------------------------------------------------------------------------

    def zero(self) -> str:
        """Take the present rest, if it has lasted, as free of contact; returns what was done."""
        if self.lost_zero:
            raise ArmsenseError(f'where the joints are is not known: {self.lost_zero}')
        rest = self._rest.mean()
        offset = self.observer.zero(rest.q, rest.felt, rest.motion)
        self._offset = offset - self._learned[-len(offset):]
        forces = self._rest.forces
        if np.isfinite(forces).all():
            self._trust.checker.learn_bias(forces)
        self.detector.reset()
        self._zeroed = True
        return ', '.join(f'{name} {value:+.3g}' for name, value
                         in zip(self.layout.names, offset, strict=True))

    def _note_rest(self, dq: Array, sample: Rest, force: Array) -> None:
        self._rest.step(dq, sample, force)
        if not self._zeroed and self._rest.long_enough:
            with contextlib.suppress(ArmsenseError):   # still swinging: once more with the next
                self.zero()

    # -- thresholds and cells --------------------------------------------------------------------

    def guessed_thresholds(self, model: Arm) -> Thresholds:
        """From the noise of the cells and a share of the weight: before anything is learned."""
        noise = np.sqrt(np.diag(self.layout.covariance(self._noise)))
        share = np.sqrt(0.5 * self.options.gain * self._period)      # of the low pass
        weight = float(model.masses.sum() * np.linalg.norm(model.gravity))
        reach = float(np.linalg.norm(model.frame_pose(np.zeros(model.n))[:3, 3]))
        scale = np.array([weight if axis < 3 else 0.5 * weight * reach
                          for axis in self.layout.axes])
        return fixed_thresholds(6.0 * share * noise + UNKNOWN_MODEL * scale)

    def set_thresholds(self, thresholds: Thresholds) -> None:
        """Use other thresholds from now on."""
        if thresholds.n != len(self.layout.axes):
            raise ArmsenseError(f'{thresholds.n} thresholds; the cells feel '
                                f'{", ".join(self.layout.names)}')
        self.detector = Detector(thresholds, self.options.detector)

    def record_residuals(self) -> None:
        """Begin to collect residuals of motion without collisions."""
        self._recorded = []

    def fit_thresholds(self, rate_per_hour: float = 1.0, confidence: float = 0.9) -> Thresholds:
        """Thresholds for a number of false alarms per hour, from what was collected; used now."""
        recorded, self._recorded = self._recorded, None
        if not recorded or len(recorded) * self._period < 10.0:
            raise ArmsenseError('thresholds need 10 s of residuals or more without collisions')
        detector = self.options.detector
        thresholds = fit_false_alarm_threshold(
            np.array(recorded), self._period, rate_per_hour, confidence,
            debounce=(detector.count, detector.window))
        self.set_thresholds(thresholds)
        return thresholds

    @property
    def failed_cells(self) -> tuple[int, ...]:
        """Cells that were found to be wrong, from 1."""
        return self._trust.failed

    @property
    def layout_problem(self) -> str:
        """Cells that are not where the layout says; '' where all are."""
        return self._trust.layout_problem

    def trust_cells(self) -> None:
        """Give cells that were found to be wrong, or to be exchanged, another chance."""
        self._trust.reset()

    def detectable(self, q: Array) -> DetectableForce:
        """Smallest force on the tool that would be found at joint positions q [rad], (n,)."""
        tool = self.observer.model.frame_pose(q)[:3, 3]
        return detectable_force(self.layout, tool, self.detector.threshold)
