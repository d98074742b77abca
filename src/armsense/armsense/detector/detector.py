"""From residual and thresholds to collisions: debouncing, lasting contacts, reversals, intent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armsense.detector.onset import Onset
from armsense.errors import BadValue
from armsense.model.model_file import Thresholds
from armsense.schema import check_known, quantity
from armsense.types import Array, Flags

LONGEST = 60.0      # [s] an intent that nobody renews ends by itself


class LastingContacts:
    """Per joint: free, or in contact at a level of the residual that has been reported.

    For load cells the joints are the axes of the base wrench.

    The level rises with an event and while that settles, and falls with the residual. What
    exceeds it by a threshold is therefore always new, however slowly it came. An arm that is
    pushed hard shakes, most of all when it is let go: beside a high level it takes more.
    """

    def __init__(self, n: int, options: DetectorOptions) -> None:
        """All joints are free."""
        self._options = options
        self.lasting: Flags = np.zeros(n, bool)
        self.any = False              # some joint is in contact
        self.level = np.zeros(n)      # [Nm] signed, (n,); 0 where a joint is free
        self._since = np.zeros(n)     # [s] when each contact began
        self._quiet = np.zeros(n)     # [s] below the level of release
        self._settled_at = -math.inf  # [s]

    def explained(self, residual: Array, threshold: Array) -> Array:
        """Size of the residual that is nothing new [Nm], (n,); of the other sign: shaking only."""
        size = np.abs(self.level)
        shaking = self._options.shake * float((size / threshold).max()) * threshold
        return np.where(residual * self.level > 0.0, size, 0.0) + shaking

    def settling(self, time: float) -> bool:
        """Whether what comes now [s] is still the contact of the last event."""
        return self.any and time < self._settled_at

    def since(self, time: float) -> float:
        """How long the oldest contact has lasted at a time [s]; 0 where there is none."""
        return time - float(self._since[self.lasting].min()) if self.any else 0.0

    def begin(self, time: float) -> None:
        """An event: for a while all that follows is the same contact."""
        self._settled_at = time + self._options.settle_time

    def load(self, joints: Flags, residual: Array, time: float, least: float = 0.0) -> None:
        """These joints are in contact from now on, at this residual, for so long at least [s]."""
        self._since = np.where(joints & ~self.lasting, time, self._since)
        hold = min(self._options.release_time - least, 0.0)
        self._quiet = np.where(joints, hold, self._quiet)
        self.level = np.where(joints, residual, self.level)
        self.lasting = self.lasting | joints
        self.any = True

    def step(self, residual: Array, quiet: Flags, time: float, dt: float) -> None:
        """Let levels follow and release the joints that have been quiet for long enough."""
        if not self.any:
            return
        grown = residual * self.level >= self.level**2    # of the same sign, and no smaller
        fall = self._options.fall_time
        share = min(1.0, dt / fall) if fall > 0.0 else 1.0
        level = self.level + np.where(grown, 0.0, share) * (residual - self.level)
        if self.settling(time):
            level = np.where(np.abs(residual) > np.abs(self.level), residual, level)
        self._quiet = np.where(quiet, self._quiet + dt, 0.0)
        self.lasting = self.lasting & (self._quiet < self._options.release_time)
        self.level = np.where(self.lasting, level, 0.0)
        self.any = bool(self.lasting.any())


def lasting_text(names: Sequence[str], lasting: ArrayLike, seconds: float) -> str:
    """Such as 'contact lasts on joint2, for 3.2 s now'; empty where nothing lasts.

    Names are those of joints or axes; the seconds are those of the oldest contact.
    """
    loaded = [name for name, flag in zip(names, np.asarray(lasting), strict=True) if flag]
    return f'contact lasts on {", ".join(loaded)}, for {seconds:.1f} s now' if loaded else ''


@dataclass(frozen=True, kw_only=True)
class DetectorOptions:
    """When an exceeded threshold is a collision."""

    count: int = quantity(2, low=1, text='samples of the window that must exceed')
    window: int = quantity(3, low=1, text='samples looked at')
    hysteresis: float = quantity(0.6, above=0, high=1,
                                 text='share of the threshold below which a contact has ended')
    release_time: float = quantity(0.1, unit='s', low=0,
                                   text='below it for so long before a joint is free again')
    settle_time: float = quantity(0.2, unit='s', low=0, text='after a collision, in which all '
                                  'that follows is the same contact')
    fall_time: float = quantity(0.2, unit='s', low=0, text='time constant with which the known '
                                'level of a lasting contact falls to the residual')
    shake: float = quantity(0.2, low=0, high=1, text='share of the largest such level, both in '
                            'thresholds, by which what is new must be larger')
    warm_up: float = quantity(0.1, unit='s', low=0, text='after start and reset')
    # Friction is known worst where a joint starts, stops or turns.
    standstill_speed: float = quantity(0.02, unit='rad/s', low=0)
    standstill_margin: tuple[float, ...] = quantity(
        (), unit='Nm', low=0, text='added while slower than that, per joint: stiction')
    reversal_margin: tuple[float, ...] = quantity(
        (), unit='Nm', low=0, text='added after start, stop and turn, per joint')
    reversal_time: float = quantity(0.05, unit='s', low=0)

    def __post_init__(self) -> None:
        if not 1 <= self.count <= self.window:
            raise BadValue('count, window', (self.count, self.window), '1 <= count <= window')

    def release_level(self, thresholds: Thresholds) -> Array:
        """Residual of an arm at rest below which a contact has ended [Nm], (n,)."""
        return self.hysteresis * np.array(thresholds.constant)


DEFAULT_DETECTOR = DetectorOptions()


class Detection(NamedTuple):
    """The moment at which a collision was decided."""

    time: float  # [s] since reset
    first_exceeded: float  # [s] since reset: oldest sample that counted
    joint: int  # last joint above its threshold
    direction: int  # sign of that joint's residual: where the environment pushes
    residual: Array  # [Nm], (n,)
    new: Array  # [Nm], (n,): the residual without what lasting contacts had shown before
    threshold: Array  # [Nm], (n,)
    exceeded: Flags  # (n,)
    onset: Onset | None = None  # the sudden torque that decided; `residual` and `new` are it

    @property
    def margin(self) -> float:
        """How far beyond its level the decision was, 1 or more."""
        if self.onset is not None:
            return self.onset.ratio
        return float((np.abs(self.residual) / self.threshold).max())

    @property
    def known(self) -> Array:
        """What lasting contacts had shown before [Nm], (n,)."""
        return self.residual - self.new


class Detector:
    """Warm-up, then every joint is free or in contact; deterministic, time is passed in.

    A collision is reported when a joint exceeds its threshold: a free one, or one in contact
    that exceeds the level of this contact by a threshold or is pushed the other way. A contact
    that lasts silences nothing else. A sample with NaN is passed over. An intended contact
    (`allow_contact`) silences the named joints for a time, also across `reset`; a contact that
    lasts longer is a collision then.
    """

    def __init__(self, thresholds: Thresholds,
                 options: DetectorOptions = DEFAULT_DETECTOR) -> None:
        self.thresholds = thresholds
        self.options = options
        self.n = thresholds.n
        self._standstill = self._margin('standstill_margin', options.standstill_margin)
        self._reversal = self._margin('reversal_margin', options.reversal_margin)
        self._margins = bool(self._standstill.any() or self._reversal.any())
        self._allowed: Flags = np.zeros(self.n, bool)
        self._allowed_for = 0.0  # [s] from now
        self.reset()

    def reset(self) -> None:
        """As at the start, warm-up included; only an intended contact stays announced."""
        self.time = 0.0  # [s]
        self.threshold = np.array(self.thresholds.constant)  # [Nm] of the last sample, (n,)
        self.exceeded: Flags = np.zeros(self.n, bool)  # in the last sample
        self._history = np.zeros((self.options.window, self.n), bool)
        self._stamps = np.full(self.options.window, -math.inf)
        self._slot = 0
        self._contacts = LastingContacts(self.n, self.options)
        self._moving = np.zeros(self.n)  # sign of the motion
        self._turned = np.full(self.n, math.inf)  # [s] since start, stop or turn

    @property
    def armed(self) -> bool:
        """Whether a collision would be reported now."""
        silenced = self._allowed_for > 0.0 and bool(self._allowed.all())
        return (self.time >= self.options.warm_up and not silenced
                and not self._contacts.settling(self.time))

    @property
    def release_level(self) -> Array:
        """Residual of an arm at rest below which a contact has ended [Nm], (n,)."""
        return self.options.release_level(self.thresholds)

    @property
    def lasting(self) -> Flags:
        """Joints in contact, (n,)."""
        return self._contacts.lasting

    @property
    def tripped(self) -> bool:
        """Some joint is in contact."""
        return self._contacts.any

    @property
    def lasts_for(self) -> float:
        """How long the oldest contact that still lasts has done so [s]; 0: there is none."""
        return self._contacts.since(self.time)

    def allow_contact(self, duration: float, joints: ArrayLike | None = None) -> None:
        """Expect a contact: for `duration` [s] the joints of the mask (n,), or all, are silent."""
        mask = np.ones(self.n, bool) if joints is None else np.asarray(joints, bool)
        if mask.shape != (self.n,):
            raise BadValue('shape of joints', mask.shape, f'({self.n},)')
        self._allowed = mask
        self._allowed_for = duration

    def pass_time(self, dt: float) -> None:
        """No residual for `dt` [s]: an intended contact is over in time all the same."""
        if math.isfinite(dt) and dt > 0.0:
            self._allowed_for -= dt

    def step(self, residual: Array, dq: Array, dt: float, ddq: Array | None = None,
             onset: Onset | None = None) -> Detection | None:
        """The collision, in the sample in which it is decided; None in all others.

        Residual [Nm], velocities [rad/s], `dt` [s] after the sample before, and accelerations
        [rad/s^2] where the thresholds need them, (n,) each. `onset`: a sudden torque beyond its
        level; it decides while no contact lasts and none is intended.
        """
        if math.isfinite(dt) and dt > 0.0:
            self.time += dt
            self._allowed_for -= dt
        if not math.isfinite(sum(residual.tolist()) + sum(dq.tolist()) + dt):
            return None
        self.threshold = self._threshold(dq, ddq, dt)
        size = np.abs(residual)
        self.exceeded = size > self.threshold
        detection, contacts = None, self._contacts
        settling = contacts.settling(self.time)     # whatever comes now is the same contact
        beyond = self._debounce(size, residual, settling)
        if self.time >= self.options.warm_up and beyond.any():
            if not settling:
                detection = self._decide(residual, beyond)
            contacts.load(beyond & ~contacts.lasting if settling else beyond, residual, self.time)
            self._history[:, beyond] = False    # these samples have been reported
        elif (onset is not None and self.time >= self.options.warm_up and not contacts.any
              and self._allowed_for <= 0.0):
            detection = self._decide_onset(onset, residual)
        contacts.step(residual, size <= self.options.hysteresis * self.threshold, self.time, dt)
        return detection

    def _decide(self, residual: Array, beyond: Flags) -> Detection:
        joint = int(np.flatnonzero(beyond)[-1])
        first = self._stamps[self._history[:, joint]].min()
        self._contacts.begin(self.time)
        return Detection(self.time, float(first), joint, int(np.sign(residual[joint])),
                         residual.copy(), residual - self._contacts.level, self.threshold.copy(),
                         self.exceeded.copy())

    def _decide_onset(self, onset: Onset, residual: Array) -> Detection:
        """The residual follows within the time in which all is the same contact."""
        joint = onset.joint
        self._contacts.begin(self.time)
        self._contacts.load(np.arange(self.n) == joint, residual, self.time,
                            self.options.settle_time)
        return Detection(self.time, self.time - onset.age, joint,
                         int(np.sign(onset.torque[joint])), onset.torque, onset.torque,
                         self.threshold.copy(), self.exceeded.copy(), onset)

    def _threshold(self, dq: Array, ddq: Array | None, dt: float) -> Array:
        threshold = self.thresholds.at(dq, ddq)
        if not self._margins:
            return threshold
        moving = np.sign(dq) * (np.abs(dq) >= self.options.standstill_speed)
        self._turned = np.where(moving != self._moving, 0.0, self._turned + dt)
        self._moving = moving
        widened = np.where(self._turned < self.options.reversal_time, self._reversal, 0.0)
        # The larger of the two, not their sum: both stand for the same friction.
        return threshold + np.maximum(widened, np.where(moving == 0.0, self._standstill, 0.0))

    def _debounce(self, size: Array, residual: Array, settling: bool) -> Flags:
        """Joints with enough samples in the window that are beyond threshold and level."""
        flags = self.exceeded
        if self._contacts.any and not settling:
            flags = flags & (
                size > self.threshold + self._contacts.explained(residual, self.threshold))
        if self._allowed_for > 0.0:
            flags = flags & ~self._allowed
        self._history[self._slot] = flags
        self._stamps[self._slot] = self.time
        self._slot = (self._slot + 1) % self.options.window
        return np.asarray(self._history.sum(axis=0) >= self.options.count)

    def _margin(self, name: str, values: tuple[float, ...]) -> Array:
        if len(values) not in (0, self.n):
            raise BadValue(f'length of {name}', len(values), f'0 or {self.n}')
        return np.array(values) if values else np.zeros(self.n)


def read_intent(text: str, joint_names: Sequence[str]) -> tuple[float, Flags]:
    """Seconds and mask (n,) of a text such as `0.5 joint3 joint4`; no joint: all of them."""
    number, *names = text.split() or ['']
    try:
        seconds = float(number)
    except ValueError:
        seconds = -1.0
    if not 0.0 <= seconds <= LONGEST:
        raise BadValue('intended contact', text, f'seconds from 0 to {LONGEST:g}, then joints')
    for name in names:
        check_known('joint', name, joint_names)
    return seconds, np.array([not names or name in names for name in joint_names])
