"""From samples to smooth motion: filters, derivatives, delays; what noise and errors are like.

All filters run forwards and backwards, so that torque and motion stay in phase. A joint at rest is
held by static friction, whose torque may be anything within its limits: its equation is left out
while the rest lasts, but for joints that rest most of the time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import signal, stats

from armsense.errors import BadValue
from armsense.identify.signals.recording import find_period, Recording
from armsense.schema import check_known
from armsense.types import Array

LEAST_CUTOFF = 5.0       # [Hz] of the torque band that models are fitted and judged in
BAND_FACTOR = 5.0        # torque band over motion band: friction reverses faster than the motion
SAMPLES_PER_PERIOD = 8.0
NOISE_FACTOR = 10.0      # over the floor of a spectrum: more is motion
REST_SPEED = 1e-3    # [rad/s]
REST_TIME = 1.0      # [s]
MOST_REST = 0.7      # share of the recording


@dataclass(frozen=True)
class Motion:
    """Smooth motion on a regular clock."""

    t: Array      # [s], (N,)
    q: Array      # [rad], (N, n)
    dq: Array     # [rad/s], (N, n)
    ddq: Array    # [rad/s^2], (N, n)
    rate: float   # [Hz]


def low_pass(x: Array, cutoff: float, rate: float) -> Array:
    """Zero-phase Butterworth low-pass along the first axis; no filter at the Nyquist rate."""
    if cutoff <= 0.0:
        raise BadValue('cut-off frequency', cutoff, '> 0 Hz')
    if cutoff >= 0.499 * rate:
        return np.array(x, float)
    sos = signal.butter(4, cutoff, fs=rate, output='sos')
    pad = min(len(x) - 1, int(3.0 * rate / cutoff))
    return np.asarray(signal.sosfiltfilt(sos, x, axis=0, padlen=pad))


def settled(count: int, cutoff: float, rate: float) -> slice:
    """Samples one period of the cut-off or more from both ends, where filters have settled."""
    edge = min(int(np.ceil(rate / cutoff)), count // 10)
    return slice(edge, count - edge)


def thinned(count: int, cutoff: float, rate: float) -> slice:
    """Samples without the settling of the filter, about five per period of the cut-off."""
    inside = settled(count, cutoff, rate)
    return slice(inside.start, inside.stop, max(1, int(rate / (5.0 * cutoff))))


def in_band(x: Array, cutoff: float, rate: float) -> Array:
    """Thinned samples behind the low-pass along the first axis, signals (N, n) or columns."""
    keep = thinned(len(x), cutoff, rate)
    if x.ndim < 3:
        return low_pass(x, cutoff, rate)[keep]
    flat = x.reshape(len(x), -1)
    busy = np.flatnonzero(np.any(flat, axis=0))      # a joint feels only the links behind it
    out = np.zeros_like(flat)
    if len(busy):
        out[:, busy] = low_pass(flat[:, busy], cutoff, rate)
    return np.asarray(out.reshape(x.shape)[keep])


def period_in_band(recording: Recording, cutoff: float) -> float:
    """Period of a motion in samples of `in_band`; inf: it does not repeat."""
    step = thinned(len(recording.t), cutoff, recording.rate).step
    return float((find_period(recording) or np.inf) * recording.rate / step)


def decimate(recording: Recording, rate: float) -> Recording:
    """A regular recording at about `rate` or above, with an anti-alias filter."""
    step = int(recording.rate / rate + 1e-6)
    if step < 2:
        return recording
    edge = 0.4 * recording.rate / step
    return recording.mapped(recording.t[::step],
                            lambda x: low_pass(x, edge, recording.rate)[::step])


def motion(recording: Recording, cutoff: float, velocity: str = 'position') -> Motion:
    """Low-passed [Hz] positions, velocities and accelerations of a regular recording.

    They start from the 'measured' velocities or from the 'position'.
    """
    check_known('source of velocity', velocity, ('measured', 'position'))
    if velocity == 'measured' and recording.dq is None:
        raise BadValue(f'{recording.name}: measured velocities', None, 'recorded')
    rate = recording.rate
    q = low_pass(recording.q, cutoff, rate)
    if velocity == 'measured' and recording.dq is not None:
        dq = low_pass(recording.dq, cutoff, rate)
    else:
        dq = derivative(q, rate)
    return Motion(recording.t, q, dq, derivative(dq, rate), rate)


def derivative(x: Array, rate: float) -> Array:
    """Central differences along the first axis."""
    return np.asarray(np.gradient(x, 1.0 / rate, axis=0, edge_order=2))


def velocity_delay(recordings: Sequence[Recording], cutoff: float) -> float:
    """By how much the measured velocities lag behind the positions [s].

    To first order a late velocity is dq(t) = v(t) - delay a(t).
    """
    top = bottom = 0.0
    for recording in recordings:
        if recording.dq is None:
            return 0.0
        moving = motion(recording, cutoff)
        late = low_pass(recording.dq, cutoff, recording.rate) - moving.dq
        inside = settled(len(recording.t), cutoff, recording.rate)
        top -= float(np.sum(late[inside] * moving.ddq[inside]))
        bottom += float(np.sum(np.square(moving.ddq[inside])))
    return top / max(bottom, 1e-300)


def torque_band(recording: Recording) -> float:
    """Cut-off of the torque filter [Hz] that belongs to a motion.

    Five times the frequency that holds 99 % of the velocity's power (median over the joints), and
    at least 5 Hz, so that slow motions are judged in the band that is usual for arms; at most an
    eighth of the rate, where a period still has eight samples.
    """
    rate = recording.rate
    x = recording.q if recording.dq is None else recording.dq
    frequency, power = signal.welch(x, rate, nperseg=min(len(x), int(4.0 * rate)), axis=0)
    if recording.dq is None:
        # What lies as low as the upper half of the spectrum is noise of the encoder.
        floor = np.median(power[len(power) // 2:], axis=0)
        power = np.where(power > NOISE_FACTOR * floor, power, 0.0) * np.square(frequency)[:, None]
    share = np.cumsum(power, axis=0) / np.maximum(power.sum(axis=0), 1e-300)
    edge = [frequency[min(int(np.searchsorted(column, 0.99)), len(frequency) - 1)]
            for column in share.T]
    band = max(LEAST_CUTOFF, BAND_FACTOR * float(np.median(edge)))
    return min(band, rate / SAMPLES_PER_PERIOD)


def resting(motion: Motion) -> NDArray[np.bool_]:
    """Where a joint has stopped for long, (N, n)."""
    slow = np.abs(motion.dq) < REST_SPEED
    least = max(1, int(REST_TIME * motion.rate))
    out = np.zeros_like(slow)
    for k in range(slow.shape[1]):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], slow[:, k].astype(int), [0]])))
        for start, end in edges.reshape(-1, 2):
            out[start:end, k] = end - start >= least
        if out[:, k].mean() > MOST_REST:
            out[:, k] = False
    return out


@dataclass(frozen=True)
class TorqueError:
    """Error of predicted torques; percent means 100 |error| / |torque| in Euclidean norms."""

    percent: float          # pooled over joints
    joint_percent: Array    # (n,)
    change_percent: Array   # the same of how the torque changes about its mean, (n,)
    rms: Array              # [Nm], (n,)
    maximum: Array          # [Nm], (n,)
    whiteness: Array        # probability that the errors are white noise, (n,)

    @property
    def mean_joint_percent(self) -> float:
        return float(self.joint_percent.mean())


def torque_error(measured: Array, predicted: Array) -> TorqueError:
    """Errors of (N, n) predicted torques."""
    if measured.shape != predicted.shape or measured.ndim != 2:
        raise BadValue('shapes of measured and predicted torque',
                       (measured.shape, predicted.shape), '(N, n), both the same')
    error = measured - predicted
    size = np.linalg.norm(measured, axis=0)
    if not np.all(size > 0.0):
        raise BadValue('measured torque of joint', int(np.argmin(size)) + 1, 'not all zero')
    return TorqueError(
        percent=float(100.0 * np.linalg.norm(error) / np.linalg.norm(measured)),
        joint_percent=100.0 * np.linalg.norm(error, axis=0) / size,
        change_percent=change_percent(measured, error),
        rms=np.sqrt(np.mean(np.square(error), axis=0)),
        maximum=np.abs(error).max(axis=0),
        whiteness=np.array([whiteness(column) for column in error.T]))


def change_percent(measured: Array, error: Array) -> Array:
    """Error over how the torque changes [%], (n,): the mean alone explains 0 % of that."""
    change = np.linalg.norm(measured - measured.mean(axis=0), axis=0)
    return np.asarray(100.0 * np.linalg.norm(error, axis=0) / np.maximum(change, 1e-300))


def whiteness(error: Array, lags: int = 20) -> float:
    """Ljung-Box probability of such correlations in white noise, (N,)."""
    N = len(error)
    least = lags + 2
    if least > N:
        raise BadValue('number of samples', N, f'>= {least}')
    x = error - error.mean()
    power = float(x @ x)
    if power == 0.0:
        return 1.0
    correlation = np.array([x[k:] @ x[:-k] for k in range(1, lags + 1)]) / power
    lag = np.arange(1, lags + 1)
    Q = N * (N + 2) * np.sum(np.square(correlation) / (N - lag))
    return float(stats.chi2.sf(Q, lags))


def correlation_factor(error: Array) -> float:
    """By how much fewer independent samples there are than samples, >= 1, (N,).

    Sum of the autocorrelation up to its first negative value (initial positive sequence).
    """
    x = error - error.mean()
    power = np.abs(np.fft.rfft(x, 2 * len(x))) ** 2
    correlation = np.fft.irfft(power)[:len(x)]
    if correlation[0] <= 0.0:
        return 1.0
    correlation = correlation / correlation[0]
    below = np.flatnonzero(correlation < 0.0)
    end = int(below[0]) if len(below) else len(correlation)
    return float(max(1.0, 1.0 + 2.0 * correlation[1:end].sum()))


def folded(error: Array, period: float) -> Array:
    """Sums of what stands at the same part of a period, over the root of its number, (M, n).

    Noise keeps its size; errors that come back in every period are counted once, as one large one.

    Args:
        error: (N, n).
        period: [samples]; inf: the motion does not repeat, all errors stay.
    """
    phase = (np.arange(len(error)) % min(period, len(error))).astype(int)
    sums = np.zeros((phase.max() + 1, error.shape[1]))
    np.add.at(sums, phase, error)
    return np.asarray(sums / np.sqrt(np.bincount(phase))[:, None])
