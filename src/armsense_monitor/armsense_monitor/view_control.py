"""Buttons of one page. They are made for each page alone, and do nothing without the token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import time
from typing import Protocol

import viser

from armsense.reaction.options import STRATEGIES
from armsense_monitor.access import Access
from armsense_monitor.view_handles import put

Done = Callable[[bool, str], None]   # success, message


class Remote(Protocol):
    """What the buttons ask of the arm; answers come later."""

    jogging: bool

    def trigger(self, what: str, done: Done) -> None: ...

    def set_reaction(self, strategy: str, done: Done) -> None: ...

    def jog(self, joint: int, step: float, done: Done) -> None: ...


BUTTONS = (('Enable', 'enable'), ('Disable', 'disable'), ('Clear fault', 'clear_fault'),
           ('Hold', 'hold'), ('Home', 'home'), ('Resume', 'resume'))


class ControlPanel:
    """Token, buttons and jogging of one page."""

    def __init__(self, client: viser.ClientHandle, access: Access, remote: Remote,
                 joints: Sequence[str]) -> None:
        self._client = client
        self._access = access
        self._remote = remote
        gui = client.gui
        with gui.add_folder('Control'):
            self._state = gui.add_markdown('')
            self._token = gui.add_text('token', '', hint='printed where the monitor was started')
            self._unlock = gui.add_button('Unlock', icon=viser.Icon.LOCK_OPEN)
            self._unlock.on_click(lambda _: self._enter())
            stop = gui.add_button('STOP', color='red', icon=viser.Icon.HAND_STOP)
            stop.on_click(lambda _: self._trigger('emergency_stop', 'STOP'))
            for first in range(0, len(BUTTONS), 3):
                row = BUTTONS[first:first + 3]
                group = gui.add_button_group(' ', [label for label, _ in row])
                group.on_click(lambda event: self._trigger(
                    dict(BUTTONS)[event.target.value], event.target.value))
            self._reaction = gui.add_dropdown('reaction', STRATEGIES, initial_value='retract')
            self._reaction.on_update(self._choose_reaction)
            if remote.jogging:
                self._add_jogging(gui, joints)
        self._show_state()

    def _add_jogging(self, gui: viser.GuiApi, joints: Sequence[str]) -> None:
        self._joint = gui.add_dropdown('jog', tuple(joints))
        self._step = gui.add_slider('step [rad]', 0.01, 0.5, 0.01, 0.1)
        arrows = gui.add_button_group(' ', ['−', '+'])
        arrows.on_click(lambda event: self._jog(
            joints.index(self._joint.value),
            self._step.value * (1.0 if event.target.value == '+' else -1.0)))

    def show_reaction(self, strategy: str) -> None:
        """The reaction that the controller has now."""
        if strategy in STRATEGIES:
            put(self._reaction, strategy)

    def _enter(self) -> None:
        refused = self._access.enter(self._client.client_id, self._token.value, time.monotonic())
        if refused:
            self._say('Token', refused, False)
        put(self._token, '')
        self._show_state()

    def _show_state(self) -> None:
        allowed = self._access.allows(self._client.client_id)
        self._token.visible = self._unlock.visible = not allowed
        self._state.content = ('**In control.** What you press, the arm does.' if allowed else
                               'Read-only. Enter the token to control the arm.')

    def _trigger(self, what: str, label: str) -> None:
        if self._may(label):
            self._remote.trigger(what, lambda ok, text: self._say(label, text, ok))

    def _choose_reaction(self, event: viser.GuiEvent) -> None:
        if event.client is not None and self._may('reaction'):   # None: `show_reaction` set it
            self._remote.set_reaction(
                self._reaction.value, lambda ok, text: self._say('reaction', text, ok))

    def _jog(self, joint: int, step: float) -> None:
        if self._may('jog'):
            self._remote.jog(joint, step, lambda ok, text: self._say('jog', text, ok))

    def _may(self, label: str) -> bool:
        if self._access.allows(self._client.client_id):
            return True
        self._say(label, 'Read-only: enter the token first.', False)
        return False

    def _say(self, title: str, text: str, good: bool) -> None:
        self._client.add_notification(title, text or ('done' if good else 'refused'),
                                      auto_close_seconds=4.0, color='green' if good else 'red')
