"""A controller that fails."""

from typing import Any

from armsense_control.dynamic_controller_node import DynamicController

STEP = 600   # at which it happens: the motors are on since long


class Raising(DynamicController):
    def _step(self, message: Any) -> None:
        if message.seq > STEP and message.enabled:
            raise ZeroDivisionError('the sum of all fears')
        super()._step(message)
