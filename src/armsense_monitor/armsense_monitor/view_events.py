"""The list of events, and what happened around the chosen one."""

from __future__ import annotations

import viser

from armsense_monitor import view_html
from armsense_monitor.arm_history import ArmHistory, Event
from armsense_monitor.view_handles import show
from armsense_monitor.view_plots import ForensicPlot

NEWEST = 'newest'
SHOWN_EVENTS = 8


class EventPanel:
    """Fills one tab."""

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
        show(self._table, view_html.event_table(history, history.events[-SHOWN_EVENTS:]))
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
