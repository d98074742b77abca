"""`arm`: the nodes of an arm in one process, by the one word PACKAGE/NODE,PACKAGE/NODE,...

They come in the order of the data: simulator, driver, load cells, observers, controller, recorder.
Every node keeps its name, topics, services and parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
import sys

from rclpy.node import Node
from rclpy.utilities import remove_ros_args

from armsense.errors import ArmsenseError
from armsense_node.loop import run_together


def node_class(name: str) -> Callable[[], Node]:
    """The node that the module of an executable PACKAGE/NODE defines.

    Raises:
        ArmsenseError: There is no such module, or no node of its own in it.
    """
    package, _, node = name.partition('/')
    try:
        module = import_module(f'{package}.{node}_node')
    except ImportError as error:
        raise ArmsenseError(f'{name!r} is no PACKAGE/NODE of ours: {error}') from error
    for found in vars(module).values():
        if isinstance(found, type) and issubclass(found, Node) \
                and found.__module__ == module.__name__:
            return found
    raise ArmsenseError(f'{module.__name__} defines no node')


def main() -> int:
    words = remove_ros_args(sys.argv)[1:]
    if len(words) != 1:
        sys.stderr.write('usage: arm PACKAGE/NODE,PACKAGE/NODE,... [--ros-args ...]\n')
        return 2
    try:
        factories = [node_class(name) for name in words[0].split(',')]
    except ArmsenseError as error:
        sys.stderr.write(f'{error}\n')
        return 2
    return run_together(factories)


if __name__ == '__main__':
    sys.exit(main())
