"""From jittery samples to smooth motion: clock repair, resampling, filters, derivatives.

All filters run forwards and backwards, so that torque and motion stay in phase. A glitch is a
sample that leaves and rejoins the motion at once; it is replaced by what lies between its
neighbours, because filters and derivatives would spread it. A joint at rest is held by static
friction, whose torque may be anything within its limits: its equation is left out while the rest
lasts, but for joints that rest most of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import interpolate, signal

from armsense.errors import BadValue, UnknownName
from armsense.identify.signals.recording import Recording
from armsense.types import Array

JITTER = 0.02            # share of the period from which stamps count as jittery
WHOLE = 0.1              # share of a period within which a step counts as whole periods
LEAST_CUTOFF = 5.0       # [Hz] of the torque band that models are fitted and judged in
BAND_FACTOR = 5.0        # torque band over motion band: friction reverses faster than the motion
SAMPLES_PER_PERIOD = 8.0
NOISE_FACTOR = 10.0      # over the floor of a spectrum: more is motion
DERIVATIVES = ('central', 'spectral', 'spline')
GLITCH = 40.0        # typical second differences from which a sample is a glitch
LEAST_GLITCH = 1e-4  # [rad]
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


def low_pass(x: Array, cutoff: float, rate: float, order: int = 4) -> Array:
    """Zero-phase Butterworth low-pass along the first axis; no filter at the Nyquist rate."""
    if cutoff <= 0.0:
        raise BadValue('cut-off frequency', cutoff, '> 0 Hz')
    if cutoff >= 0.499 * rate:
        return np.array(x, float)
    sos = signal.butter(order, cutoff, fs=rate, output='sos')
    pad = min(len(x) - 1, int(3.0 * rate / cutoff))
    return np.asarray(signal.sosfiltfilt(sos, x, axis=0, padlen=pad))


def settled(count: int, cutoff: float, rate: float) -> slice:
    """Samples one period of the cut-off or more from both ends, where filters have settled."""
    edge = min(int(np.ceil(rate / cutoff)), count // 10)
    return slice(edge, count - edge)


def repair_stamps(recording: Recording) -> tuple[Recording, str]:
    """A clock that agrees with the motion, where the stamps were taken too late to tell.

    Between two samples the positions advance by velocity times the true period. Where that period
    is always a whole number of controller periods (0: a sample was read twice), the samples were
    taken regularly and only stamped irregularly: the whole numbers are the better clock.

    Returns:
        The recording, without samples read twice, and what was done in words ('': nothing).
    """
    if recording.dq is None:
        return recording, ''
    steps = np.diff(recording.t)
    if np.std(steps) < JITTER * np.median(steps):
        return recording, ''
    mean = 0.5 * (recording.dq[1:] + recording.dq[:-1])
    energy = np.sum(mean * mean, axis=1)
    moving = energy > 0.02 * np.median(energy)
    if moving.mean() < 0.5:
        return recording, ''
    true = np.sum(np.diff(recording.q, axis=0) * mean, axis=1) / np.maximum(energy, 1e-12)
    period = float(np.median(true[moving]))
    count = np.maximum(np.rint(np.where(moving, true, steps) / max(period, 1e-9)), 0.0)
    period = float((recording.t[-1] - recording.t[0]) / max(count.sum(), 1.0))
    off = np.abs(true / period - count)[moving]
    if np.quantile(off, 0.9) > WHOLE:
        return recording, ''
    t = recording.t[0] + period * np.concatenate([[0.0], np.cumsum(count)])
    keep = np.concatenate([[True], count > 0.0])
    note = (f'{recording.name}: stamps jitter by {1e3 * np.std(steps):.2f} ms; the motion shows a '
            f'period of {1e3 * period:.3f} ms with {int((count == 0.0).sum())} samples read twice '
            f'and {int((count > 1.0).sum())} gaps')
    return Recording(t[keep], recording.q[keep], recording.tau[keep], recording.dq[keep],
                     recording.name), note


def regular(recording: Recording) -> tuple[Recording, list[str]]:
    """The recording on a regular clock of its own median rate, and what was done in words."""
    recording, note = repair_stamps(recording)
    notes = [note] if note else []
    steps = np.diff(recording.t)
    period = float(np.median(steps[steps > 0.0]))
    if np.abs(steps - period).max() < 1e-3 * period:
        return recording, notes
    if not note and np.std(steps) > JITTER * period:
        notes.append(f'{recording.name}: steps of {1e3 * steps.min():.1f} to '
                     f'{1e3 * steps.max():.1f} ms resampled to {1e3 * period:.3f} ms')
    rising = np.concatenate([[True], steps > 0.0])
    t = np.arange(recording.t[0], recording.t[-1], period)
    names = ('q', 'tau', 'dq')
    parts = {name: getattr(recording, name) for name in names}
    columns = {name: None if x is None else _interpolate(t, recording.t[rising], x[rising])
               for name, x in parts.items()}
    return Recording(t, columns['q'], columns['tau'], columns['dq'],  # type: ignore[arg-type]
                     recording.name), notes


def decimate(recording: Recording, rate: float) -> Recording:
    """A regular recording at about `rate` or above, with an anti-alias filter."""
    step = int(recording.rate / rate + 1e-6)
    if step < 2:
        return recording
    edge = 0.4 * recording.rate / step

    def reduce(x: Array) -> Array:
        return low_pass(x, edge, recording.rate)[::step]

    return Recording(recording.t[::step], reduce(recording.q), reduce(recording.tau),
                     None if recording.dq is None else reduce(recording.dq), recording.name)


def without_delay(recording: Recording, delay: float) -> Recording:
    """The recording with its velocities moved back by a delay [s]."""
    if recording.dq is None or delay == 0.0:
        return recording
    return replace(recording, dq=shift(recording.dq, recording.t, delay))


def motion(recording: Recording, cutoff: float, velocity: str = 'position',
           method: str = 'central') -> Motion:
    """Filtered positions, velocities and accelerations of a regular recording.

    Args:
        recording: On a regular clock.
        cutoff: Of the low-pass [Hz].
        velocity: 'measured' starts from the measured velocities, 'position' from the positions.
        method: Of differentiation: 'central', 'spectral' or 'spline'.
    """
    if velocity not in ('measured', 'position'):
        raise UnknownName('source of velocity', velocity, ('measured', 'position'))
    if velocity == 'measured' and recording.dq is None:
        raise BadValue(f'{recording.name}: measured velocities', None, 'recorded')
    rate = recording.rate
    q = low_pass(recording.q, cutoff, rate)
    if velocity == 'measured' and recording.dq is not None:
        dq = low_pass(recording.dq, cutoff, rate)
    else:
        dq = differentiate(q, rate, method, cutoff)
    return Motion(recording.t, q, dq, differentiate(dq, rate, method, cutoff), rate)


def differentiate(x: Array, rate: float, method: str = 'central', cutoff: float = np.inf) -> Array:
    """Time derivative along the first axis; see `motion` for the methods."""
    if method == 'central':
        return np.asarray(np.gradient(x, 1.0 / rate, axis=0, edge_order=2))
    if method == 'spectral':
        return spectral_derivative(x, rate, cutoff)
    if method == 'spline':
        t = np.arange(len(x)) / rate
        return np.asarray(interpolate.CubicSpline(t, x, axis=0)(t, 1))
    raise UnknownName('method of differentiation', method, DERIVATIVES)


def spectral_derivative(x: Array, rate: float, cutoff: float = np.inf) -> Array:
    """Derivative by multiplication with i omega up to `cutoff` (thesis 004, section 3.5)."""
    slope = (x[-1] - x[0]) / (len(x) - 1)
    return np.asarray(_in_frequency(x, rate, cutoff, lambda w: 1j * w) + slope * rate)


def spectral_filter(x: Array, rate: float, cutoff: float) -> Array:
    """Rectangular window in the frequency domain (thesis 004, section 3.5)."""
    ramp = np.linspace(0.0, 1.0, len(x)).reshape(-1, *[1] * (x.ndim - 1))
    return np.asarray(_in_frequency(x, rate, cutoff, np.ones_like) + x[0] + ramp * (x[-1] - x[0]))


def _in_frequency(x: Array, rate: float, cutoff: float,
                  response: Callable[[Any], NDArray[Any]]) -> Array:
    """A response up to `cutoff` applied to x without the straight line between its ends.

    Without that line the record starts and ends at zero and is continued with the opposite sign,
    so that value and slope stay continuous where the transform closes the circle.
    """
    N = len(x)
    shape = (-1, *[1] * (x.ndim - 1))
    slope = (x[-1] - x[0]) / (N - 1)
    rest = x - x[0] - slope * np.arange(N).reshape(shape)
    circle = np.concatenate([rest, -rest[-2:0:-1]])
    omega = 2.0 * np.pi * np.fft.rfftfreq(len(circle), 1.0 / rate)
    gain = np.where(omega <= 2.0 * np.pi * cutoff, response(omega), 0.0).reshape(shape)
    return np.asarray(np.fft.irfft(np.fft.rfft(circle, axis=0) * gain, len(circle), axis=0)[:N])


def shift(x: Array, t: Array, delay: float) -> Array:
    """x(t + delay): takes a delay out of the columns, (N, n)."""
    return x if delay == 0.0 else _interpolate(t + delay, t, x)


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


def _interpolate(t: Array, at: Array, x: Array) -> Array:
    return np.stack([np.interp(t, at, column) for column in x.T], axis=1)


def without_glitches(recording: Recording) -> tuple[Recording, list[str]]:
    """The recording with glitches of positions and torques bridged, and what was done in words."""
    q, bad_q = _bridged(recording.q, LEAST_GLITCH)
    tau, bad_tau = _bridged(recording.tau, 1e-3 * float(np.ptp(recording.tau)))
    notes = [f'{recording.name}: {count} glitches of the {what} are bridged'
             for what, count in (('positions', bad_q), ('torques', bad_tau)) if count]
    return (replace(recording, q=q, tau=tau) if notes else recording), notes


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


def _bridged(x: Array, least: float) -> tuple[Array, int]:
    out, count = x, 0
    for k, column in enumerate(x.T):
        bend = np.zeros(len(column))
        bend[1:-1] = column[1:-1] - 0.5 * (column[2:] + column[:-2])
        typical = np.quantile(np.abs(bend), 0.9)
        bad = np.abs(bend) > max(GLITCH * typical, least)
        # Neighbours of a glitch bend half as much to the other side: only the peak is bad.
        bad[1:-1] &= (np.abs(bend[1:-1]) >= np.abs(bend[2:])) & (
            np.abs(bend[1:-1]) >= np.abs(bend[:-2]))
        bad[1:-1] &= (bend[1:-1] * bend[2:] < 0.0) & (bend[1:-1] * bend[:-2] < 0.0)
        if bad.any():
            out = out.copy() if out is x else out
            good = np.flatnonzero(~bad)
            out[bad, k] = np.interp(np.flatnonzero(bad), good, column[good])
            count += int(bad.sum())
    return out, count
