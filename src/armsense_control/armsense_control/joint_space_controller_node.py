"""`joint_space_controller`: laws that treat every joint on its own, executed on the boards."""

from __future__ import annotations

import sys

from armsense.control.laws import JOINT_SPACE_LAWS
from armsense_control.controller_node import ControllerNode
from armsense_node.loop import run_node


class JointSpaceController(ControllerNode):
    def __init__(self) -> None:
        super().__init__('joint_space_controller', JOINT_SPACE_LAWS)


def main() -> int:
    return run_node(JointSpaceController)


if __name__ == '__main__':
    sys.exit(main())
