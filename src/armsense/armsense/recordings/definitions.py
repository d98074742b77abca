"""Message types by name, from the definitions of ROS and our own: no generated class is needed."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys import get_types_from_msg, get_typestore, Stores
from rosbags.typesys.store import Typestore

from armsense.errors import ArmsenseError
from armsense.recordings.cdr import CODES, Field, HEADER, MessageType, STAMP
from armsense.share import message_definitions

JOINT_STATE = 'sensor_msgs/msg/JointState'
MOTOR_STATES = 'armsense_msgs/msg/MotorStates'
RESIDUAL = 'armsense_msgs/msg/Residual'
COLLISION = 'armsense_msgs/msg/Collision'
IMU = 'sensor_msgs/msg/Imu'
PAYLOAD = 'geometry_msgs/msg/InertiaStamped'
_SEPARATOR = '=' * 80


@functools.cache
def our_types() -> Typestore:
    """Types of ROS and of armsense_msgs; the latter in a bag may be of another version."""
    store = get_typestore(Stores.ROS2_JAZZY)
    for name, text in message_definitions().items():
        store.register(get_types_from_msg(text, name))
    return store


def message_type(name: str, store: Typestore | None = None) -> MessageType:
    """Fields of a type such as `sensor_msgs/msg/JointState`.

    Raises:
        ArmsenseError: One of them is neither number nor text nor a list of these.
    """
    return MessageType(name.rpartition('/')[2], tuple(_fields(store or our_types(), name)))


def _fields(store: Typestore, kind: str) -> list[Field]:
    fields: list[Field] = []
    detail: Any
    for name, (node, detail) in store.get_msgdef(kind).fields:
        if node == Nodetype.NAME:
            fields += STAMP if detail == 'std_msgs/msg/Header' else _fields(store, detail)
            continue
        item, items = (detail, -1) if node == Nodetype.BASE else (detail[0][1], detail[1])
        if node == Nodetype.SEQUENCE:
            items = 0       # what the definition gives is the most that there may be
        if item[0] not in CODES:
            raise ArmsenseError(f'{kind}: its field {name} is neither of numbers nor of texts')
        fields.append(Field(name, CODES[item[0]], items))
    return fields


def schema_text(name: str) -> str:
    """Definition of a type with everything it contains, as MCAP's `ros2msg` wants it."""
    own, separator, parts = our_types().generate_msgdef(name, ros_version=2)[0].partition(
        _SEPARATOR)
    return message_definitions().get(name, own) + separator + parts   # ours has its comments


def blank(name: str) -> Any:
    """A message of zeros and empty texts, with the attributes of a generated class."""
    values: dict[str, Any] = {}
    detail: Any
    for field, (node, detail) in our_types().get_msgdef(name).fields:
        if node == Nodetype.NAME:
            values[field] = blank(detail)
        elif node == Nodetype.BASE:
            values[field] = '' if detail[0] == 'string' else 0
        else:
            values[field] = np.zeros(detail[1], CODES[detail[0][1][0]])
    return our_types().types[name](**values)


def serialize(message: Any) -> bytes:
    """The bytes of a message made by `blank`."""
    return bytes(our_types().serialize_cdr(message, message.__msgtype__))


def deserialize(store: Typestore, name: str, data: bytes) -> Any:
    """Any message as an object; what follows its last field is padding of the sender."""
    kind = store.get_msgdef(name)
    little = data[:2] == b'\x00\x01'
    decode = kind.deserialize_cdr_le if little else kind.deserialize_cdr_be
    return decode(data[HEADER:], 0, kind.cls, store)[0]
