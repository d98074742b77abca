"""`dynamic_controller`: laws that know the arm's dynamics."""

from __future__ import annotations

import sys

from armsense.control.laws import DYNAMIC_LAWS
from armsense_control.controller_node import ControllerNode
from armsense_node.loop import run_node


class DynamicController(ControllerNode):
    def __init__(self) -> None:
        super().__init__('dynamic_controller', DYNAMIC_LAWS)


def main() -> int:
    return run_node(DynamicController)


if __name__ == '__main__':
    sys.exit(main())
