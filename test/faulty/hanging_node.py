"""A controller that does not come back from a step for half a second."""

import time
from typing import Any

from armsense_control.dynamic_controller_node import DynamicController

LATER = 2000   # states after the first with motors on
HANG = 0.5     # [s], ten times the patience of the boards


class Hanging(DynamicController):
    _enabled = 0

    def _step(self, message: Any) -> None:
        self._enabled += message.enabled
        if self._enabled == LATER:
            self._enabled += 1
            end = time.monotonic() + HANG
            while time.monotonic() < end:     # busy, as a search that does not end
                pass
        super()._step(message)
