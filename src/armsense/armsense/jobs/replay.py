"""A recorded run seen again by an observer: same numbers, other thresholds if wanted."""

from collections.abc import Callable
import csv
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from armsense.detector import ContactEstimate, ContactOptions, Thresholds
from armsense.model import Arm
from armsense.recordings.bag_files import blank, COLLISION, message_type, RESIDUAL, serialize
from armsense.recordings.bag_tape import BagTape
from armsense.recordings.bag_writer import BagWriter
from armsense.recordings.record import new_record
from armsense.watch import Trace, watch
from armsense.watch.collision_message import add_contact, fill_collision
from armsense.watch.collision_monitor import CollisionMonitor, DetectionConfig

SETTLED = 0.02   # [s] after a decision, when force and point are estimated
FINE = ContactOptions()


class Event(NamedTuple):
    """One collision that the replay found."""

    time: float              # [s] since the beginning of the bag
    number: int              # of the reading
    joint: str
    link: str
    residual: float          # [Nm]
    threshold: float         # [Nm]
    contact: ContactEstimate | None   # `SETTLED` later; None: the link has no shape

    def __repr__(self) -> str:
        force = '' if self.force is None else f', {self.force:.1f} N'
        return f'<Event at {self.time:.3f} s: {self.link}, felt at {self.joint}{force}>'

    @property
    def force(self) -> float | None:
        """[N]; None: not observable."""
        if self.contact is None or not self.contact.force_observable:
            return None
        return float(np.linalg.norm(self.contact.force))

    @property
    def plain(self) -> dict[str, object]:
        """For JSON."""
        known = self.contact is not None and self.contact.point_observable
        return {'time': self.time, 'joint': self.joint, 'link': self.link,
                'residual': self.residual, 'threshold': self.threshold, 'force': self.force,
                'point': self.contact.point.tolist() if known and self.contact else None}


class Replay(NamedTuple):
    """A bag and what a monitor says to it."""

    model: Arm
    bag: BagTape
    monitor: CollisionMonitor
    trace: Trace
    events: tuple[Event, ...]

    @property
    def identical(self) -> bool | None:
        """Whether every residual in the bag is repeated bit for bit; None: it has none."""
        live = self.bag.residual
        if live is None:
            return None
        place = {int(seq): k for k, seq in enumerate(self.bag.seq)}
        rows = [place.get(int(seq), -1) for seq in live.seq]
        if -1 in rows:
            return False
        return bool(np.array_equal(live.filtered, self.trace.filtered[rows])
                    and np.array_equal(live.raw, self.trace.raw[rows])
                    and np.array_equal(live.valid, self.trace.valid[rows]))


def replay(model: Arm, bag: BagTape, config: DetectionConfig | None = None,
           thresholds: Thresholds | None = None, observer: str | None = None) -> Replay:
    """Step a monitor through a bag; arguments as of `CollisionMonitor`."""
    monitor = CollisionMonitor(model, config, thresholds, observer)
    trace = watch(monitor, bag.tape)
    return Replay(model, bag, monitor, trace, _events(model, monitor, trace))


def _events(model: Arm, monitor: CollisionMonitor, trace: Trace) -> tuple[Event, ...]:
    events = []
    for (number, detection), link in zip(trace.detections, trace.links, strict=True):
        j = detection.joint
        later = min(int(np.searchsorted(trace.time, trace.time[number] + SETTLED)),
                    len(trace.time) - 1)
        new, threshold = trace.filtered[number:later + 1] - detection.known, trace.threshold[later]
        peak = np.abs(new).max(axis=0)
        joint = monitor.settled_joint(peak, threshold, model.moving_joint(link))
        contact = monitor.contact(new[-1], threshold, trace.q[later], joint, FINE)
        events.append(Event(float(trace.time[number]), number, model.joint_names[j], link,
                            float(detection.residual[j]), float(detection.threshold[j]),
                            contact))
    return tuple(events)


def write_csv(run: Replay, path: Path) -> None:
    """Time, raw and filtered residual, threshold of every joint, one line per reading."""
    names, trace = run.model.joint_names, run.trace
    with path.open('w', newline='') as file:
        out = csv.writer(file)
        out.writerow(['time', *(f'{what}_{name}' for what in ('raw', 'filtered', 'threshold')
                                for name in names), 'valid', 'collision'])
        hits = {event.number for event in run.events}
        for k, row in enumerate(np.hstack([trace.time[:, None], trace.raw, trace.filtered,
                                           trace.threshold]).tolist()):
            out.writerow([*row, int(trace.valid[k]), int(k in hits)])


def write_bag(run: Replay, folder: Path) -> None:
    """Residual and collision topics as the node would have published them, as MCAP."""
    model, trace, bag = run.model, run.trace, run.bag
    writer = BagWriter(folder)
    writer.add_topic('/residual', RESIDUAL, 'stream')
    writer.add_topic('/collision', COLLISION)
    record = new_record(message_type(RESIDUAL), model.n)
    hits = {event.number: k for k, event in enumerate(run.events)}
    collision_seq = 0
    for k, stamp in enumerate(bag.tape.stamp.tolist()):
        record.seq, record.stamp_ns = int(bag.seq[k]), stamp
        if k in hits:
            collision_seq = int(bag.seq[k])
            writer.write('/collision', _collision(run, hits[k], stamp), stamp)
        record.collision_seq = collision_seq
        record.raw, record.filtered = trace.raw[k], trace.filtered[k]
        record.threshold, record.exceeded = trace.threshold[k], trace.exceeded[k]
        record.lasting, record.lasts_for = trace.lasting[k], float(trace.lasts_for[k])
        record.valid = bool(trace.valid[k])
        writer.write('/residual', record.wire(), stamp)
    writer.close()


def _collision(run: Replay, k: int, stamp: int) -> bytes:
    number, detection = run.trace.detections[k]
    message = blank(COLLISION)
    fill_collision(message, run.model, detection, run.trace.links[k], number=k + 1,
                   seq=int(run.bag.seq[number]), stamp=stamp)
    contact = run.events[k].contact
    if contact is not None:
        add_contact(message, contact)
    return serialize(message)


def draw(run: Replay, path: Path) -> None:
    """Write `draw_on` as a file."""
    from matplotlib.figure import Figure  # a second, and an extra of the package
    path.parent.mkdir(parents=True, exist_ok=True)
    draw_on(run, Figure).savefig(path, dpi=110)


def draw_on(run: Replay, make: Callable[..., Any], most: int = 20_000) -> Any:
    """Residual and thresholds of every joint, collisions as lines, on a figure of `make`."""
    trace, n = run.trace, run.model.n
    step = max(len(trace.time) // most, 1)
    figure = make(figsize=(10, 1.8 * n + 0.6), layout='constrained')
    for j, axes in enumerate(figure.subplots(n, 1, sharex=True, squeeze=False)[:, 0]):
        axes.plot(trace.time[::step], trace.filtered[::step, j], lw=0.8)
        for sign in (1.0, -1.0):
            axes.plot(trace.time[::step], sign * trace.threshold[::step, j], 'k:', lw=0.7)
        for event in run.events:
            axes.axvline(event.time, color='tab:red', lw=0.8)
        axes.set_ylabel(f'{run.model.joint_names[j]} [Nm]')
    axes.set_xlabel('time [s]')
    count = len(run.events)
    figure.suptitle(f'{run.model.name}: residual and thresholds, {count} '
                    f'collision{"" if count == 1 else "s"}')
    return figure
