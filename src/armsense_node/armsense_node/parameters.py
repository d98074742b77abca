"""ROS parameters declared once, with description, range and choices, and read as attributes."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, NamedTuple

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node

from armsense.errors import UnknownName


class Parameter(NamedTuple):
    """One parameter of a node."""

    name: str
    default: Any
    text: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()

    def descriptor(self) -> ParameterDescriptor:
        text = self.text + (f' ({", ".join(self.choices)})' if self.choices else '')
        descriptor = ParameterDescriptor(description=text)
        if self.low is not None and self.high is not None:
            if isinstance(self.default, int):
                descriptor.integer_range = [IntegerRange(
                    from_value=int(self.low), to_value=int(self.high), step=0)]
            else:
                descriptor.floating_point_range = [FloatingPointRange(
                    from_value=float(self.low), to_value=float(self.high), step=0.0)]
        return descriptor


def declare(node: Node, parameters: Iterable[Parameter]) -> Any:
    """Declare all and return their values as attributes.

    Raises:
        UnknownName: A value is not among the choices.
    """
    values = SimpleNamespace()
    for parameter in parameters:
        node.declare_parameter(parameter.name, parameter.default, parameter.descriptor())
        value = node.get_parameter(parameter.name).value
        if parameter.choices and value not in parameter.choices:
            raise UnknownName(f'value of parameter {parameter.name!r}', value, parameter.choices)
        setattr(values, parameter.name, value)
    return values
