"""Hands on a simulated arm: pull its links with the mouse, put things in its way, load it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import viser

from armsense.model import Arm
from armsense.types import Array
from armsense_monitor.arm_history import ArmHistory, Thing
from armsense_monitor.challenge import Challenge
from armsense_monitor.view_control import ArmRemote
from armsense_monitor.view_html import GREY, page
from armsense_monitor.view_scene import LinkMesh

STIFFNESS = 200.0       # [N/m] of the hand that a mouse is
RADIUS = 0.05           # [m] of an obstacle
HEAVIEST = 0.5          # [kg] of the slider
LAST = 1e9              # place in the panel: STOP comes first
EVERY = 5               # updates between two messages of a hand that does not move


class Hold(NamedTuple):
    """A page holds a link."""

    link: str
    point: Array        # [m] in the link's frame, (3,)
    target: Array       # [m] base frame, (3,)


class Playground:
    """A folder of the main panel, and what the mouse does in the scene."""

    def __init__(self, gui: viser.GuiApi, model: Arm, history: ArmHistory, remote: ArmRemote,
                 allowed: Callable[[int | None], bool]) -> None:
        """`allowed(page)`: whether a page may disturb the arm."""
        self._model, self._history, self._remote = model, history, remote
        self._allowed = allowed
        self._holds: dict[int, Hold] = {}       # by page
        self._challenge = Challenge()
        self._count = 0
        with gui.add_folder('Playground', order=LAST):
            self._score = gui.add_html('')
            things = gui.add_button_group('obstacle', ['Put', 'Take away'])
            things.on_click(lambda event: self._obstacle(event, event.target.value == 'Put'))
            self._mass = gui.add_slider('payload [kg]', 0.0, HEAVIEST, 0.05, 0.0,
                                        hint='in the hand of the simulated arm')
            load = gui.add_button_group(' ', ['Give', 'Tell the arm'])
            load.on_click(self._load)

    # -- pulling -----------------------------------------------------------------------------

    async def drag_link(self, event: Any, mesh: LinkMesh) -> None:
        """A page pulls a link; async, so that its end comes last."""
        position, number = self._history.position, event.client_id
        if event.phase == 'end':
            self.let_go(number)
            return
        if position is None or not self._may(event):
            return
        if event.phase == 'start' or number not in self._holds:
            pose = self._model.frame_pose(position, mesh.link)
            point = pose[:3, :3].T @ (np.array(event.start_position) - pose[:3, 3])
            self._holds[number] = Hold(mesh.link, point, np.array(event.end_position))
        else:
            self._holds[number] = self._holds[number]._replace(
                target=np.array(event.end_position))
        self._pull(self._holds[number])

    def let_go(self, number: int) -> None:
        """The page lets go, or was closed."""
        if self._holds.pop(number, None) is not None:
            self._remote.pull('', np.zeros(3), np.zeros(3), 0.0)

    def update(self) -> None:
        """Go on pulling; show what the arm has noticed."""
        self._count += 1
        self._challenge.update(self._history)
        if self._count % EVERY:
            return
        for hold in list(self._holds.values()):
            self._pull(hold)
        challenge = self._challenge
        self._score.content = page(
            f'<div style="color:{GREY}">Drag a link, or the obstacle, with the mouse.</div>'
            f'<div>strongest touch that it did not notice: <b>{challenge.best:.1f} N</b></div>'
            f'<div>{challenge.last}</div>')

    def _pull(self, hold: Hold) -> None:
        self._remote.pull(hold.link, hold.point, hold.target, STIFFNESS)

    # -- things ------------------------------------------------------------------------------

    async def drag_thing(self, event: Any, thing: Thing) -> None:
        """A page moves what stands around the arm; it is put down at the end."""
        if event.phase == 'end' and self._may(event):
            moved = np.array(event.end_position) - np.array(event.start_position)
            self._remote.place_obstacle(thing.position + moved, 0.5 * float(thing.sides[0]),
                                        lambda ok, text: _say(event, 'obstacle', text, ok))

    def _obstacle(self, event: Any, put: bool) -> None:
        if not self._may(event):
            return
        place = self._beside_the_hand() if put else None
        self._remote.place_obstacle(place, RADIUS,
                                    lambda ok, text: _say(event, 'obstacle', text, ok))

    def _beside_the_hand(self) -> Array:
        """Where the tool would come to if the first joint turned by half a radian [m], (3,)."""
        q = np.array(self._history.position if self._history.position is not None
                     else self._model.config.home or np.zeros(self._model.n), float)
        q[0] += 0.5
        return self._model.frame_pose(q)[:3, 3]

    def _load(self, event: Any) -> None:
        if not self._may(event):
            return
        give = event.target.value == 'Give'
        self._remote.set_payload(self._mass.value, not give,
                                 lambda ok, text: _say(event, 'payload', text, ok))

    def _may(self, event: Any) -> bool:
        if self._allowed(event.client_id):
            return True
        if getattr(event, 'phase', 'start') == 'start':
            _say(event, 'Playground', 'Read-only: enter the token first.', False)
        return False


def _say(event: Any, title: str, text: str, good: bool) -> None:
    if event.client is not None:
        event.client.add_notification(title, text or ('done' if good else 'refused'),
                                      auto_close_seconds=4.0, color='green' if good else 'red')
