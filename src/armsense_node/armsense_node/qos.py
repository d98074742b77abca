"""The three qualities of service of armsense; every node takes them from here."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy


def stream_qos() -> QoSProfile:
    """A stream at control rate: best effort, only the newest message counts."""
    return QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


def event_qos(depth: int = 16) -> QoSProfile:
    """Events that must all arrive, such as a collision: reliable, in order."""
    return QoSProfile(depth=depth, reliability=ReliabilityPolicy.RELIABLE)


def latched_qos(depth: int = 1) -> QoSProfile:
    """A state that late joiners must see too, such as the driver's mode: reliable, kept.

    Who listens to every change, not to the newest state alone, asks for more depth.
    """
    return QoSProfile(depth=depth, reliability=ReliabilityPolicy.RELIABLE,
                      durability=DurabilityPolicy.TRANSIENT_LOCAL)
