"""The bag picker: choose a recording, play, pause, jump."""

from collections.abc import Callable
import os
from pathlib import Path
from typing import Any

import viser

from armsense.errors import ArmsenseError
from armsense.recordings.bag_playback import BagPlayback, find_bags

LIVE = 'live'
SPEEDS = ('0.1', '0.25', '0.5', '1', '2', '5')


class BagPanel:
    """Fills one tab; `playback` is the bag that is shown instead of the live arm."""

    def __init__(self, gui: viser.GuiApi, folder: Path,
                 allowed: Callable[[viser.GuiEvent], bool]) -> None:
        """Offer the bags of a folder.

        allowed: Whether the page that pressed something may change what all pages show.
        """
        self.playback: BagPlayback | None = None
        self.restarted = False          # the history must begin anew
        self._folder = folder
        self._wanted: float | None = None      # [s] to jump to
        self._chosen: str | None = None
        self._shown = LIVE
        self._allowed = allowed
        # Any: mypy does not see that viser's inputs can be set.
        self._bag: Any = gui.add_dropdown('bag', (LIVE,), initial_value=LIVE)
        self._play: Any = gui.add_checkbox('play', True)
        self._speed = gui.add_dropdown('speed', SPEEDS, initial_value='1')
        self._place: Any = gui.add_slider('time [s]', 0.0, 1.0, 0.1, 0.0, visible=False)
        self._again = gui.add_button('Look for bags again', icon=viser.Icon.REFRESH)
        self._note = gui.add_markdown('')
        self._bag.on_update(self._on_bag)
        self._place.on_update(self._on_place)
        self._again.on_click(lambda _: self.list_bags())
        self.list_bags()

    def list_bags(self) -> None:
        """Offer the bags that are there now."""
        names = [str(path.relative_to(self._folder)) for path in find_bags(self._folder)]
        self._bag.options = (LIVE, *names)
        self._note.content = f'{len(names)} bags below `{self._folder}`'

    def open(self, path: Path, at: float | None = None) -> None:
        """Show a bag, paused `at` [s] after its begin; None: play it from the begin."""
        self.playback = BagPlayback(path)
        self.restarted = True
        self._wanted = at
        if at is not None:
            self._play.value = False
        self._place.max = max(self.playback.seconds, 0.1)
        self._place.visible = True
        self._note.content = f'`{path}`: {self.playback.seconds:.1f} s'
        name = os.path.relpath(path, self._folder)
        if name not in self._bag.options:
            self._bag.options = (*self._bag.options, name)
        self._bag.value = name

    def step(self, seconds: float) -> float:
        """How much of the bag is due after `seconds` of wall clock [s]; does what was pressed."""
        self._do_choice()
        playback, wanted = self.playback, self._wanted
        self._wanted = None
        if playback is None:
            return 0.0
        if wanted is not None and wanted < playback.position:
            playback.rewind()
            self.restarted = True
        if wanted is not None:
            return min(max(wanted - playback.position, 0.0), playback.seconds)
        if not self._play.value or playback.finished:
            return 0.0
        speed = self._speed.value      # of any page, honest or not
        return seconds * float(speed if speed in SPEEDS else '1')

    def show_place(self) -> None:
        """Move the slider along."""
        if self.playback is not None and self._wanted is None:
            self._place.value = round(self.playback.position, 1)

    def _do_choice(self) -> None:
        name, self._chosen = self._chosen, None
        if name is None or name not in self._bag.options:   # the second: by no honest page
            return
        if name == LIVE:
            self.playback, self.restarted = None, True
            self._place.visible = False
            return
        try:
            self.open(self._folder / name)
        except ArmsenseError as error:
            self._note.content = f'**{error}**'

    def _on_bag(self, event: viser.GuiEvent) -> None:
        if event.client is None:
            return
        if self._allowed(event):
            self._chosen = self._shown = self._bag.value
        else:
            self._bag.value = self._shown

    def _on_place(self, event: viser.GuiEvent) -> None:
        if event.client is not None and self._allowed(event):
            self._wanted = float(self._place.value)
