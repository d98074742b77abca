"""Small pieces of HTML for the page; every text from outside is escaped."""

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from armsense.types import Array
from armsense_monitor.arm_history import ArmHistory, Event, Health, Mode, Reaction
from armsense_monitor.arm_history import SILENT as SILENT_ARM

GREEN, AMBER, RED, GREY = '#2f9e44', '#e67700', '#e03131', '#868e96'
_MODE_COLORS = {'enabled': GREEN, 'disabled': GREY, 'starting': AMBER, 'damping': RED}
_STATE_COLORS = {'tracking': GREEN, 'safe': RED}
_LEVELS = ((GREEN, 'ok'), (AMBER, 'warning'), (RED, 'error'), (GREY, 'stale'))
STALE = 3
SILENT = 5.0     # [s] without a line that comes every second: its node is gone


def page(body: str) -> str:
    """A block in the panel's own font."""
    return f'<div style="padding:0 .6em;font-size:.82em;line-height:1.45">{body}</div>'


def pill(text: str, color: str) -> str:
    return (f'<span style="background:{color};color:white;border-radius:.7em;padding:.1em .7em;'
            f'font-weight:600;margin-right:.4em">{escape(text)}</span>')


def status(history: ArmHistory, source: str, silence: float = 0.0) -> str:
    """Driver, controller, observer and clock in a few lines.

    After a silence [s] nothing of it is true any more, and all of it is grey.
    """
    time = '' if history.since_begin is None else f'{history.since_begin:.1f} s since the start'
    head = f'<div><b>{escape(source)}</b> <span style="float:right">{time}</span></div>'
    state = f'{_mode(history.mode)}{_reaction(history.reaction)}{_lasting(*history.lasting)}'
    if silence <= SILENT_ARM:
        return page(head + state)
    return page(head + pill(_no_data(silence), RED) + faded(state))


def faded(body: str) -> str:
    """What was true, and may not be any more."""
    return f'<div style="filter:grayscale(1);opacity:.45">{body}</div>'


def _no_data(silence: float) -> str:
    if silence == float('inf'):
        return 'no data yet'
    return f'no data for {silence:.0f} s'


def _lasting(joints: Sequence[str], seconds: float) -> str:
    if not joints:
        return ''
    return (f'<div>{pill("contact lasts", AMBER)}at {escape(", ".join(joints))} for '
            f'{seconds:.0f} s: goals are refused until it ends</div>')


def rates(history: ArmHistory, now: float) -> str:
    """How often driver and observer speak."""
    parts = [f'{who} {rate:.0f} Hz' if (rate := history.rate(who, now))
             else f'<span style="color:{RED}">{who} silent</span>'
             for who in ('driver', 'observer')]
    return page(f'<div style="color:{GREY}">{" · ".join(parts)}</div>')


def _mode(mode: Mode | None) -> str:
    if mode is None:
        return f'<div>driver {pill("not heard of", GREY)}</div>'
    text = f'<b>{escape(mode.fault)}</b>: {escape(mode.explanation)}' if mode.fault else ''
    return f'<div>driver {pill(mode.name, _MODE_COLORS.get(mode.name, GREY))}</div>{text}'


def _reaction(reaction: Reaction | None) -> str:
    if reaction is None:
        return f'<div>controller {pill("not heard of", GREY)}</div>'
    return (f'<div>controller {pill(reaction.state, _STATE_COLORS.get(reaction.state, AMBER))}'
            f'{escape(reaction.controller)}, reaction <b>{escape(reaction.strategy)}</b></div>'
            f'<div style="color:{GREY}">{escape(reaction.explanation)}</div>')


def residual_bars(joints: Sequence[str], ratio: Array, valid: bool) -> str:
    """How near each joint is to its threshold."""
    if not valid:
        return page(f'<span style="color:{GREY}">no residual: the observer warms up, or is '
                    'not running</span>')
    rows = ''.join(_bar(joint, value, 1.0, f'{100 * value:.0f} %', value > 1.0)
                   for joint, value in zip(joints, ratio, strict=True))
    return page(f'<div style="color:{GREY}">residual, in percent of its threshold</div>{rows}')


def cell_bars(force: Array, valid: NDArray[np.bool_], capacity: float) -> str:
    """Forces on the load cells."""
    rows = ''.join(
        _bar(f'cell {k + 1}', abs(value), capacity, f'{value:.1f} N' if ok else 'no signal',
             not ok)
        for k, (value, ok) in enumerate(zip(force, valid, strict=True)))
    return page(f'<div style="color:{GREY}">load cells</div>{rows}')


def _bar(name: str, value: float, full: float, text: str, bad: bool) -> str:
    share = min(100.0 * value / full, 100.0)
    color = RED if bad else AMBER if share > 70.0 else GREEN
    return (f'<div style="display:flex;gap:.6em;align-items:center">'
            f'<span style="width:4em">{escape(name)}</span>'
            f'<span style="flex:1;background:#8882;border-radius:3px;height:.8em">'
            f'<span style="display:block;width:{share:.0f}%;background:{color};height:100%;'
            f'border-radius:3px"></span></span>'
            f'<span style="width:4.6em;text-align:right">{escape(text)}</span></div>')


def event_table(history: ArmHistory, events: Sequence[Event]) -> str:
    """The events, newest first."""
    if not events:
        return page(f'<span style="color:{GREY}">no collision yet</span>')
    head = ''.join(f'<th style="text-align:{side};padding-right:.7em">{name}</th>'
                   for name, side in (('#', 'left'), ('time', 'right'), ('link', 'left'),
                                      ('joint', 'left'), ('residual', 'right'),
                                      ('force', 'right')))
    return page(f'<table style="width:100%;border-collapse:collapse"><tr>{head}</tr>'
                f'{"".join(_event_row(history, e) for e in reversed(events))}</table>')


def _event_row(history: ArmHistory, event: Event) -> str:
    contact = history.contacts.get(event.number)
    force = '-' if contact is None or contact.force is None else (
        f'{float(np.linalg.norm(contact.force)):.1f} N')
    unit = 'Nm' if event.source != 'base' else ''
    begin = history.begin or 0.0
    cells = ((str(event.number), 'left'), (f'{event.time - begin:.3f} s', 'right'),
             (event.link, 'left'),
             (event.joint if event.source == 'joints' else f'{event.source} {event.joint}',
              'left'),
             (f'{event.residual:+.2f} {unit}', 'right'), (force, 'right'))
    return '<tr>' + ''.join(f'<td style="text-align:{side};padding-right:.7em">{escape(text)}</td>'
                            for text, side in cells) + '</tr>'


def health(lines: dict[str, Health]) -> str:
    """Diagnostics in plain words."""
    if not lines:
        return page(f'<span style="color:{GREY}">no diagnostics yet</span>')
    newest = max(line.heard for line in lines.values())
    rows = []
    for name, line in sorted(lines.items()):
        level, message = line.level, line.message
        if newest - line.heard > SILENT:
            level, message = STALE, f'silent for {newest - line.heard:.0f} s; before: {message}'
        color, word = _LEVELS[min(level, STALE)]
        rows.append(f'<div>{pill(word, color)}<b>{escape(name)}</b><br>{escape(message)}</div>')
    return page(''.join(rows))
