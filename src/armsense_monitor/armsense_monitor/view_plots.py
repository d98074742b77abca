"""Time plots of the page, and its list of events."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import viser
from viser import uplot

from armsense.types import Array
from armsense_monitor import view_html
from armsense_monitor.arm_history import ArmHistory, Event, thin, Window

POINTS = 240                 # of a line: about the pixels of a phone
COLORS = ('#1c7ed6', '#f08c00', '#2b8a3e', '#9c36b5', '#e8590c', '#c2255c', '#0c8599')
LIMIT = '#e03131'
INK, GRID = '#868e96', '#adb5bd40'
NEWEST = 'newest'
SHOWN_EVENTS = 8


class ResidualPlot:
    """One joint: its residual between the thresholds."""

    def __init__(self, gui: viser.GuiApi, joint: str, number: int, seconds: float) -> None:
        empty = np.zeros(2)
        self._seconds = seconds
        self._plot = _add_plot(
            gui, (np.array([-seconds, 0.0]), empty, empty, empty),
            (_line('residual', COLORS[number % len(COLORS)]), _limit(), _limit()),
            title=f'{joint} [Nm]', legend=uplot.Legend(show=False), height=120)

    def update(self, end: float, residual: Window, threshold: Window, joint: int) -> None:
        """Draw the last seconds up to `end` [s]."""
        both = Window(residual.time - end, np.column_stack(
            [residual.values[:, joint], threshold.values[:, joint]]))
        if len(both.time) < 2:
            return
        both = thin(both, POINTS)
        upper = both.values[:, 1]
        self._plot.data = (both.time, np.array(both.values[:, 0]), np.array(upper), -upper)


class ForensicPlot:
    """All joints around an event: residual over threshold, and angles."""

    def __init__(self, gui: viser.GuiApi, joints: Sequence[str]) -> None:
        x, nothing = np.array([-0.5, 0.5]), np.zeros(2)
        lines = tuple(_line(joint, COLORS[k % len(COLORS)]) for k, joint in enumerate(joints))
        self._ratio = _add_plot(
            gui, (x, *(nothing for _ in joints), nothing + 1.0, nothing - 1.0),
            (*lines, _limit(), _limit()), title='residual / threshold, s after the event',
            legend=uplot.Legend(show=True, live=False), height=230, visible=False)
        self._angle = _add_plot(
            gui, (x, *(nothing for _ in joints)), lines, height=150, visible=False,
            title='joint angles, less those at the event [rad]', legend=uplot.Legend(show=False))

    def show(self, time: float, residual: Window, threshold: Window, position: Window) -> None:
        """Draw an event that happened at `time` [s]."""
        self._ratio.visible = self._angle.visible = True
        if len(residual.time) > 1:
            share = residual.values / np.maximum(threshold.values, 1e-9)
            ratio = thin(Window(residual.time - time, share), 2 * POINTS)
            one = np.ones(len(ratio.time))
            self._ratio.data = (ratio.time, *_columns(ratio.values), one, -one)
        if len(position.time) > 1:
            at = int(np.searchsorted(position.time, time).clip(0, len(position.time) - 1))
            moved = position.values - position.values[at]
            self._angle.data = (position.time - time, *_columns(moved))


class EventPanel:
    """The list of events, and what happened around the chosen one; fills one tab."""

    def __init__(self, gui: viser.GuiApi, history: ArmHistory) -> None:
        self._table = gui.add_html('')
        self._choice = gui.add_dropdown('look at', (NEWEST,), initial_value=NEWEST)
        self._plot = ForensicPlot(gui, history.joints)
        self._listed: tuple[tuple[int, float], ...] | None = None
        self._drawn: tuple[object, ...] = ()

    def update(self, history: ArmHistory) -> None:
        """List what is new; draw the chosen event until its half second is over."""
        listed = tuple((event.number, event.time) for event in history.events)
        if listed != self._listed:
            self._listed = listed
            self._choice.options = (NEWEST, *(_name(e) for e in reversed(history.events)))
        self._table.content = view_html.event_table(history, history.events[-SHOWN_EVENTS:])
        event = self._chosen(history)
        if event is not None:
            self._draw(history, event)

    def _chosen(self, history: ArmHistory) -> Event | None:
        for event in history.events:
            if _name(event) == self._choice.value:
                return event
        return history.events[-1] if history.events else None

    def _draw(self, history: ArmHistory, event: Event) -> None:
        forensic = history.forensic(event)
        drawn = (event, forensic.complete)
        if forensic.complete and drawn == self._drawn:
            return
        self._drawn = drawn
        self._plot.show(event.time, forensic.residual, forensic.threshold, forensic.position)


def _name(event: Event) -> str:
    return f'{event.number}: {event.time:.3f} s, {event.link}'


def _line(label: str, color: str) -> uplot.Series:
    return uplot.Series(label=label, stroke=color, width=1.5,
                        points=uplot.Series_Points(show=False))


def _limit() -> uplot.Series:
    return uplot.Series(label='threshold', stroke=LIMIT, width=1.0, dash=(4.0, 3.0),
                        points=uplot.Series_Points(show=False))


def _columns(values: Array) -> list[Array]:
    return [np.ascontiguousarray(column) for column in values.T]


def _add_plot(gui: viser.GuiApi, data: tuple[Array, ...], lines: Sequence[uplot.Series],
              **look: Any) -> viser.GuiUplotHandle:
    ink: Any = {'stroke': INK, 'grid': {'stroke': GRID}, 'ticks': {'stroke': GRID}}
    return gui.add_uplot(data, (uplot.Series(label='s'), *lines),
                         axes=(uplot.Axis(**ink), uplot.Axis(**ink, size=44)),
                         scales={'x': uplot.Scale(time=False)}, padding=(4, 12, 0, 0), **look)
