"""ROS parameters are the fields of a dataclass, which states default, range and meaning once.

A node has a dataclass `Settings`: parts of those below (the last named comes first), fields
`same_as` those of the library's options, and its own. They are read once, when the node starts, so
`ros2 param set` is refused; what changes while an arm runs has a service.
"""

from __future__ import annotations

from dataclasses import dataclass, Field, fields
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node

from armsense import schema
from armsense.model import Arm
from armsense.model.gazebo_arm import gazebo_arm
from armsense.schema import quantity, valid_values
from armsense_node.handover import QUIET_RATE
from armsense_node.loop_realtime import ANY_CPU, PRIORITY

T = TypeVar('T')


@dataclass(frozen=True, kw_only=True)
class ArmParameters:
    """Which arm."""

    arm: str = quantity('laas4', text='arm by name or path of its yaml file')


@dataclass(frozen=True, kw_only=True)
class ModelParameters(ArmParameters):
    """Which arm, as it was identified."""

    model: str = quantity('', text='identified model.yaml; empty: the arm file alone')
    physics: str = quantity('real', choices=('real', 'gazebo'),
                            text='gazebo: the arm as its engine has it, with rotors in the links')

    def load(self) -> Arm:
        arm = Arm.load(self.arm, self.model or None)
        return gazebo_arm(arm) if self.physics == 'gazebo' else arm


@dataclass(frozen=True, kw_only=True)
class LifecycleParameters:
    """Of every node with a lifecycle."""

    autostart: bool = quantity(True, text='configure and activate at once')


@dataclass(frozen=True, kw_only=True)
class LockstepParameters:
    """Of nodes that know virtual time."""

    lockstep: bool = quantity(
        False, text='virtual time: nothing is lost, every state waits for its answers')


@dataclass(frozen=True, kw_only=True)
class LoopParameters:
    """Of every node with a loop."""

    realtime: bool = quantity(
        False, text='run the loop under SCHED_FIFO with locked memory if the system allows it; '
        'false where simulation runs as fast as it can')
    cpu: int = quantity(ANY_CPU, low=-1,
                        text='with realtime: core that the loop stays on, from 0; -1: any')
    priority: int = quantity(
        PRIORITY, low=1, high=49,
        text='with realtime: of two loops on one core the one with more goes first')


@dataclass(frozen=True, kw_only=True)
class TogetherParameters:
    """Of a driver that shares its process."""

    quiet_rate: float = quantity(QUIET_RATE, unit='Hz', low=0, high=1000, text='of its streams '
                                 'and those of its process while nobody outside listens; 0: none')


def declare(node: Node, kind: type[T]) -> T:
    """Declare every field of a dataclass as a parameter; returns the values.

    Raises:
        ArmsenseError: One is out of its range or not among its choices.
    """
    values = {}
    for field in fields(kind):   # type: ignore[arg-type]
        if not node.has_parameter(field.name):
            node.declare_parameter(field.name, _plain(field.default), _descriptor(field))
        values[field.name] = _plain(node.get_parameter(field.name).value)
    return schema.load(kind, values, f'parameter {node.get_name()}')


def meaning(field: Field[Any]) -> str:
    """Unit and text of a parameter."""
    unit = field.metadata['unit']
    return f'[{unit}] {field.metadata["text"]}' if unit else str(field.metadata['text'])


def _descriptor(field: Field[Any]) -> ParameterDescriptor:
    rule, allowed = field.metadata, valid_values(field.metadata)
    descriptor = ParameterDescriptor(description=meaning(field), read_only=True)
    if rule['low'] is None or rule['high'] is None:
        descriptor.additional_constraints = allowed      # ROS has no word for it
    elif isinstance(field.default, int):
        descriptor.integer_range = [IntegerRange(
            from_value=int(rule['low']), to_value=int(rule['high']), step=0)]
    else:
        descriptor.floating_point_range = [FloatingPointRange(
            from_value=float(rule['low']), to_value=float(rule['high']), step=0.0)]
    return descriptor


def _plain(value: Any) -> Any:
    """ROS has lists, dataclasses have tuples."""
    return value if isinstance(value, str) or not hasattr(value, '__iter__') else list(value)
