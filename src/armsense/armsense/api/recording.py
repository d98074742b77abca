"""Recordings of anybody as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armsense.identify.robot_file import columns_of, SourceConfig
from armsense.identify.signals.recording import Recording as Signals
from armsense.model import Arm
from armsense.recordings.reader import Origin, read_recording
from armsense.schema import check_known
from armsense.types import Array

Columns = str | Sequence[str]   # a range such as 'q1-q6', or names


@dataclass(frozen=True, repr=False)
class Recording(Signals):
    """Times [s], (N,), joint angles [rad] and torques [Nm], (N, n), of one motion.

    Example:
        >>> rec = armsense.Recording.from_arrays(t, q, tau)
        >>> rec
        <Recording recording: 4000 samples of 4 joints, 20.0 s at 200 Hz>
    """

    notes: tuple[str, ...] = ()   # what was cut, skipped or converted in reading

    @classmethod
    def from_arrays(cls, t: ArrayLike, q: ArrayLike, effort: ArrayLike,
                    dq: ArrayLike | None = None, *, robot: Arm | None = None,
                    name: str = 'recording') -> Recording:
        """Of arrays: times [s], angles [rad], efforts, velocities [rad/s].

        Efforts are torques [Nm], or what `robot` reports, such as currents.

        Example:
            >>> rec = armsense.Recording.from_arrays(t, q, current, robot=armsense.load('ur10e'))
        """
        tau = np.asarray(effort, float) if robot is None else robot.effort_torque(effort)
        return cls(np.asarray(t, float), np.asarray(q, float), tau,
                   None if dq is None else np.asarray(dq, float), name)

    @classmethod
    def from_csv(cls, path: str | Path, robot: Arm, *, position: Columns = '',
                 effort: Columns = '', velocity: Columns = '', time: str = '',
                 units: Mapping[str, str] | None = None,
                 rate: float | None = None) -> Recording:
        """Of a table: text, npz, Parquet or MATLAB.

        Columns are headings or numbers, single ones or a range (`'q1-q6'`, `'1-6'`). Units are
        those of the file where they are not SI: `{'position': 'deg', 'time': 'ms'}`. A file
        without times needs its rate [Hz]. Where nothing is told, usual headings are looked for.

        Example:
            >>> rec = armsense.Recording.from_csv('run.csv', robot, time='t', position='q1-q6',
            ...                                   effort='i1-i6')
        """
        told = {'time': time, 'position': position, 'velocity': velocity, 'effort': effort}
        columns = {key: _named(value) for key, value in told.items() if value}
        return cls._read(path, robot, SourceConfig(topic=None, columns=columns,
                                                   units=dict(units or {}), rate=rate))

    @classmethod
    def from_bag(cls, path: str | Path, robot: Arm, topic: str | None = None) -> Recording:
        """Of a bag of ROS 1 or 2 with joint states or motor states; no ROS is needed.

        The topic tells which, where there are several.

        Example:
            >>> rec = armsense.Recording.from_bag('run.mcap', armsense.load('panda'))
        """
        return cls._read(path, robot, SourceConfig(topic=topic))

    @classmethod
    def from_dataframe(cls, frame: Any, robot: Arm | None = None, *, position: Columns,
                       effort: Columns, velocity: Columns = '', time: str = '') -> Recording:
        """Of a pandas data frame; without a column of times its index counts [s].

        Example:
            >>> rec = armsense.Recording.from_dataframe(frame, robot, time='t',
            ...                                         position='q1-q6', effort='i1-i6')
        """
        def columns(names: Columns) -> Array:
            for name in (wanted := _named(names)):
                check_known('column', name, list(frame.columns))
            return np.stack([np.asarray(frame[name], float) for name in wanted], axis=1)
        t = columns(time)[:, 0] if time else np.asarray(frame.index, float)
        return cls.from_arrays(t, columns(position), columns(effort),
                               columns(velocity) if velocity else None, robot=robot)

    @classmethod
    def _read(cls, path: str | Path, robot: Arm, source: SourceConfig) -> Recording:
        found, notes = read_recording(Path(path), Origin(robot, source))
        return cls(found.t, found.q, found.tau, found.dq, found.name, notes)

    def to_dataframe(self) -> Any:
        """A pandas data frame: t, q1 ..., tau1 ..., and dq1 ... where velocities were measured."""
        import pandas
        parts = {'q': self.q, 'tau': self.tau, 'dq': self.dq}
        return pandas.DataFrame({'t': self.t, **{
            f'{name}{k + 1}': rows[:, k] for name, rows in parts.items() if rows is not None
            for k in range(self.n)}})

    def shifted(self, origin: float = 0.0) -> Recording:
        """The same, its times counted so that it begins at `origin` [s]."""
        return replace(self, t=self.t - self.t[0] + origin)

    def __iter__(self) -> Iterator[tuple[float, Array, Array]]:
        """Time, angles and torques of each sample."""
        return zip(self.t.tolist(), self.q, self.tau, strict=True)

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        return (f'<Recording {self.name}: {len(self.t)} samples of {self.n} joints, '
                f'{self.t[-1] - self.t[0]:.1f} s at {self.rate:.4g} Hz>')


def _named(names: Columns) -> tuple[str, ...]:
    several = (names,) if isinstance(names, str) else names
    return tuple(name for item in several for name in columns_of(str(item)))
