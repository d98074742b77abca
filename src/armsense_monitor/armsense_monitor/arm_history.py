"""What is known of a running (or replayed) arm: its last seconds, events, modes, health.

No ROS here: messages are turned into calls by `feed.py`, and the page is drawn by `web_view.py`.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armsense.types import Array

SECONDS = 10.0         # [s] kept of every stream
STATE_RATE = 1000      # [Hz] at most, of the streams
FORENSIC = 0.5         # [s] kept before and after each event
KEPT_EVENTS = 50
SHOWN = 2.0            # [s] an event's contact stays in the picture
SILENT = 1.0           # [s] without a word: what is shown is not the arm as it is
RATE_OF = 200          # messages that a rate is taken over
JUMP_BACK = 0.5        # [s] a stamp this much older than the last one begins a new run


class Window(NamedTuple):
    """A piece of a signal, N samples of w values."""

    time: Array     # [s] (N,)
    values: Array   # (N, w)


class TimeSeries:
    """Rows of numbers with rising times; the oldest make room for new ones."""

    def __init__(self, width: int, capacity: int) -> None:
        """Without rows yet; at least `capacity` of them, of `width` numbers, will be kept."""
        # Twice the room: the newest rows always stand in one piece, and are moved seldom.
        self._time = np.zeros(2 * capacity)
        self._rows = np.zeros((2 * capacity, width))
        self._capacity = capacity
        self._end = 0

    def __len__(self) -> int:
        return min(self._end, self._capacity)

    @property
    def newest(self) -> float | None:
        """Time of the last row [s]; None without one."""
        return float(self._time[self._end - 1]) if self._end else None

    @property
    def last_row(self) -> Array | None:
        return self._rows[self._end - 1].copy() if self._end else None

    def append(self, time: float, row: ArrayLike) -> None:
        """Add a row; one that is older than the last is left out."""
        if self._end and time < self._time[self._end - 1]:
            return
        if self._end == len(self._time):
            self._time[:self._capacity] = self._time[self._capacity:]
            self._rows[:self._capacity] = self._rows[self._capacity:]
            self._end = self._capacity
        self._time[self._end] = time
        self._rows[self._end] = row
        self._end += 1

    def clear(self) -> None:
        self._end = 0

    def window(self, begin: float, end: float) -> Window:
        """Copies of the rows with begin <= time <= end [s]."""
        first = self._end - len(self)
        times = self._time[first:self._end]
        a = first + int(np.searchsorted(times, begin, 'left'))
        b = first + int(np.searchsorted(times, end, 'right'))
        return Window(self._time[a:b].copy(), self._rows[a:b].copy())


def thin(window: Window, points: int) -> Window:
    """At most about `points` samples that keep the peaks: of each stretch, the largest values.

    A peak of a single sample must not vanish from a plot because the screen is small.
    """
    count = len(window.time)
    if count <= points:
        return window
    step = -(-count // points)
    whole = count // step * step
    blocks = window.values[:whole].reshape(-1, step, window.values.shape[1])   # (B, step, w)
    peaks = np.abs(blocks).argmax(axis=1)[:, None, :]
    values = np.take_along_axis(blocks, peaks, axis=1)[:, 0, :]
    return Window(window.time[step - 1:whole:step], values)


class Event(NamedTuple):
    """One collision, as it was announced."""

    number: int           # counts the events of this history
    time: float           # [s] stamp of the state that decided
    source: str           # joints, base or fusion
    link: str
    joint: str
    residual: float       # [Nm]
    threshold: float      # [Nm]
    confidence: float     # 0..1


class Contact(NamedTuple):
    """Where and how strongly something touches the arm, base frame."""

    time: float               # [s]
    point: Array | None       # [m] (3,); None: cannot be told
    force: Array | None       # [N] (3,) on the arm; None: cannot be told


class Forensic(NamedTuple):
    """Half a second before and after an event."""

    residual: Window      # [Nm] (N, n)
    threshold: Window     # [Nm] (N, n)
    position: Window      # [rad] (M, n)
    complete: bool        # the half second after it is over


class Mode(NamedTuple):
    """What the driver does."""

    name: str
    fault: str
    explanation: str


class Reaction(NamedTuple):
    """What the controller does."""

    controller: str       # active law
    strategy: str
    state: str
    explanation: str


class Applied(NamedTuple):
    """What the simulation really does to the arm, base frame."""

    time: float           # [s]
    link: str             # empty: nothing
    point: Array          # [m] (3,)
    force: Array          # [N] (3,)


class Thing(NamedTuple):
    """Something that stands around a simulated arm, base frame."""

    name: str
    round: bool           # a sphere; else a box
    position: Array       # [m] (3,)
    sides: Array          # [m] (3,), of a sphere its diameter
    color: tuple[int, int, int]   # 0..255


class Health(NamedTuple):
    """One line of diagnostics."""

    level: int            # 0 ok, 1 warning, 2 error, 3 stale
    message: str
    heard: float = 0.0    # [s] any clock that all lines share


class ArmHistory:
    """Ring buffers and newest states of one arm with n joints."""

    def __init__(self, joints: Sequence[str]) -> None:
        self.joints = tuple(joints)
        n, rows = len(self.joints), int(SECONDS * STATE_RATE)
        self._position = TimeSeries(n, rows)
        self._residual = TimeSeries(2 * n, rows)     # residual, threshold
        self.clear()

    def clear(self) -> None:
        """Forget everything: another run begins."""
        self._position.clear()
        self._residual.clear()
        self.residual_valid = False
        self.events: list[Event] = []
        self._forensics: dict[int, Forensic] = {}
        self._count = 0
        self.contacts: dict[int, Contact] = {}       # by the number of the event
        self.cells: Array = np.zeros(0)              # [N] (m,)
        self.cells_valid: NDArray[np.bool_] = np.zeros(0, bool)
        self.mode: Mode | None = None
        self.reaction: Reaction | None = None
        self.health: dict[str, Health] = {}
        self.lasting: tuple[list[str], float] = ([], 0.0)   # joints of contacts that last, [s]
        self.applied: Applied | None = None
        self.things: list[Thing] = []
        self.begin: float | None = None              # [s] first stamp
        self._heard: dict[str, deque[float]] = {}    # [s] monotonic, by who has spoken

    # -- what comes in -----------------------------------------------------------------------

    def hear(self, who: str, now: float) -> None:
        """Note that a node has spoken, at a monotonic time [s]."""
        self._heard.setdefault(who, deque(maxlen=RATE_OF)).append(now)

    def add_position(self, time: float, position: ArrayLike) -> None:
        """Joint angles [rad] (n,) at a stamp [s]."""
        self._watch_clock(time, self._position)
        self.begin = time if self.begin is None else self.begin
        self._position.append(time, position)

    def add_residual(self, time: float, residual: Sequence[float], threshold: Sequence[float],
                     valid: bool) -> None:
        """External torque and its threshold [Nm], each (n,)."""
        self._watch_clock(time, self._residual)
        self.residual_valid = valid
        if valid:
            self._residual.append(time, [*residual, *threshold])

    def add_event(self, event: Event) -> None:
        """Announce a collision; its number is given here."""
        self._count += 1
        self.events.append(event._replace(number=self._count))
        for old in self.events[:-KEPT_EVENTS]:
            self._forensics.pop(old.number, None)
            self.contacts.pop(old.number, None)
        del self.events[:-KEPT_EVENTS]

    def add_contact(self, contact: Contact) -> None:
        """Force and point of an event, told by its stamp, which come a little later."""
        for event in reversed(self.events):
            if abs(event.time - contact.time) < 1e-6:
                self.contacts[event.number] = contact
                return

    def add_cells(self, force: ArrayLike, valid: ArrayLike) -> None:
        """Forces on the load cells [N], (m,)."""
        self.cells, self.cells_valid = np.array(force, float), np.array(valid, bool)

    def settle(self) -> None:
        """Keep the surroundings of events that are over; call it now and then."""
        now = self.time
        for event in self.events:
            done = self._forensics.get(event.number)
            if now is not None and done is None and now >= event.time + FORENSIC:
                self._forensics[event.number] = self._cut(event, True)

    # -- what can be asked -------------------------------------------------------------------

    def silence(self, now: float) -> float:
        """How long nothing has been heard of the arm [s]; for ever, if nothing ever was."""
        return now - max((times[-1] for times in self._heard.values()), default=-np.inf)

    def rate(self, who: str, now: float) -> float:
        """How often a node speaks [Hz]; 0: not any more, or never."""
        times = self._heard.get(who)
        if times is None or len(times) < 2 or now - times[-1] > SILENT:
            return 0.0
        return (len(times) - 1) / max(times[-1] - times[0], 1e-6)

    @property
    def since_begin(self) -> float | None:
        """Newest stamp, less the first [s]."""
        return None if self.time is None or self.begin is None else self.time - self.begin

    @property
    def time(self) -> float | None:
        """Newest stamp [s]; None before the first message."""
        times = [t for t in (self._position.newest, self._residual.newest) if t is not None]
        return max(times, default=None)

    @property
    def position(self) -> Array | None:
        """Newest joint angles [rad], (n,)."""
        return self._position.last_row

    @property
    def ratio(self) -> Array:
        """Newest residual over its threshold, absolute, (n,); zero without one."""
        row, n = self._residual.last_row, len(self.joints)
        if row is None or not self.residual_valid:
            return np.zeros(n)
        return np.asarray(np.abs(row[:n]) / np.maximum(row[n:], 1e-9))

    def residuals(self, seconds: float) -> tuple[Window, Window]:
        """The last seconds of residual and threshold [Nm]."""
        end = self.time or 0.0
        return self._residuals(end - seconds, end)

    def forensic(self, event: Event) -> Forensic:
        """Half a second before and after; what there is of it, while it still happens."""
        return self._forensics.get(event.number) or self._cut(event, False)

    def present_contact(self) -> Contact | None:
        """Contact of the last event while it is fresh."""
        if not self.events or self.time is None:
            return None
        event = self.events[-1]
        if self.time - event.time > SHOWN:
            return None
        return self.contacts.get(event.number)

    # -- inside ------------------------------------------------------------------------------

    def _residuals(self, begin: float, end: float) -> tuple[Window, Window]:
        both, n = self._residual.window(begin, end), len(self.joints)
        return Window(both.time, both.values[:, :n]), Window(both.time, both.values[:, n:])

    def _cut(self, event: Event, complete: bool) -> Forensic:
        begin, end = event.time - FORENSIC, event.time + FORENSIC
        return Forensic(*self._residuals(begin, end), self._position.window(begin, end), complete)

    def _watch_clock(self, time: float, series: TimeSeries) -> None:
        """A restarted simulation or bag starts its clock anew."""
        newest = series.newest
        if newest is not None and time < newest - JUMP_BACK:
            latched = self.mode, self.reaction, self.things, self._heard   # told once, before
            self.clear()
            self.mode, self.reaction, self.things, self._heard = latched
