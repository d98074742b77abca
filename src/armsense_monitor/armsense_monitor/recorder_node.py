"""`recorder`: the topics of an arm into a bag, where rosbag2 is not installed or too slow to ask.

Messages are kept as they came over the wire; nothing is decoded. The stamp in a message's header
is its time in the bag, so that a lock-step run has its virtual time there. Diagnostics come from
the wall clock; they get the time of the message before them, so that a bag has one clock only.
The robot description is put in, too: a viewer can draw the arm from the bag alone.
"""

from dataclasses import dataclass
from datetime import datetime
import shutil
import struct
import sys
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import String

from armsense.model import Arm
from armsense.recordings.bag_writer import BagWriter, Delivery
from armsense.schema import quantity
from armsense_msgs.msg import (
    BaseResidual,
    Collision,
    ContactTruth,
    DriverMode,
    LoadCells,
    MotorCommands,
    MotorStates,
    ReactionState,
    Residual,
)
from armsense_node.health import Health, HealthTopic, Level
from armsense_node.health import TOPIC as DIAGNOSTICS
from armsense_node.lockstep import lockstep_qos
from armsense_node.loop import DirectSubscription, event_qos, latched_qos, Loop, run_node, WaitSet
from armsense_node.parameters import declare, LockstepParameters
from armsense_node.payload import TOPIC as PAYLOAD

STREAMS: dict[str, Any] = {
    'motor_states': MotorStates, 'motor_commands': MotorCommands, 'residual': Residual,
    'load_cells': LoadCells, 'base/residual': BaseResidual, 'imu': Imu,
}
EVENTS: dict[str, Any] = {
    'joint_states': JointState, 'collision': Collision, 'contact': Collision,
    'ground_truth': ContactTruth, DIAGNOSTICS: DiagnosticArray,
}
DESCRIPTION = 'robot_description'
OTHER_CLOCK = (DIAGNOSTICS, PAYLOAD)   # their own stamps say nothing of the arm's time
LATCHED: dict[str, Any] = {
    'motor_board/mode': DriverMode, 'dynamic_controller/reaction_state': ReactionState,
    'joint_space_controller/reaction_state': ReactionState, PAYLOAD: InertiaStamped,
}
TOPICS = {**STREAMS, **EVENTS, **LATCHED, DESCRIPTION: String}
DEPTH = 2000   # messages that wait
DISK = 1.0     # [GB] left; less is worth a warning
_STAMP = struct.Struct('<iI')


@dataclass(frozen=True, kw_only=True)
class Settings(LockstepParameters):
    """Parameters."""

    bag: str = quantity('', text='folder to make; empty: out/bags/ and the time')
    arm: str = quantity(
        '', text='arm by name or path of its yaml file, for its description; empty: none')


class RawSubscription(DirectSubscription):
    """Gives the bytes of the messages."""

    _raw = True


class RecorderNode(Node):
    """Writes whatever arrives."""

    def __init__(self) -> None:
        super().__init__('recorder')
        settings = declare(self, Settings)
        folder = settings.bag or datetime.now().strftime('out/bags/%Y-%m-%d_%H-%M-%S')
        self._bag = BagWriter(folder)
        self._sources = []
        for topic, kind in {**STREAMS, **EVENTS, **LATCHED}.items():
            source = RawSubscription(self, kind, topic, _qos(topic, settings.lockstep))
            self._bag.add_topic(self.resolve_topic_name(topic), type_name(kind),
                                delivery(topic, settings.lockstep))
            self._sources.append((topic, source))
        self._names = {topic: self.resolve_topic_name(topic) for topic in TOPICS}
        self._stamp: int | None = None     # [ns] of the newest message
        self._early: list[tuple[str, bytes]] = []   # what belongs to the first stamp
        if settings.arm:
            self._bag.add_topic(self._names[DESCRIPTION], type_name(String), 'latched')
            self._early.append((DESCRIPTION, serialize_message(
                String(data=Arm.load(settings.arm).urdf))))
        HealthTopic(self, self.health)
        self.loop = _RecorderLoop(self._drain, WaitSet([s for _, s in self._sources]))
        self.get_logger().info(f'recording into {folder}')

    def _drain(self) -> None:
        for topic, source in self._sources:
            for data in source.drain():
                if topic not in OTHER_CLOCK:
                    seconds, nanoseconds = _STAMP.unpack_from(data, 4)
                    self._stamp = max(0, seconds) * 10**9 + nanoseconds
                if self._stamp is not None:
                    for name, early in (*self._early, (topic, data)):
                        self._bag.write(self._names[name], early, self._stamp)
                    self._early.clear()
                elif topic == PAYLOAD:
                    self._early.append((topic, data))

    def health(self) -> list[Health]:
        total = sum(self._bag.counts.values())
        left = shutil.disk_usage(self._bag.folder).free * 1e-9       # [GB]
        values = {'messages': total, 'disk left [GB]': left}
        if left < DISK:
            return [Health('bag', f'only {left:.1f} GB left on the disk of {self._bag.folder}',
                           Level.WARN, values)]
        if not total:
            return [Health('bag', f'{self._bag.folder} is empty: no topic of an arm arrives',
                           Level.WARN, values)]
        return [Health('bag', f'{total} messages in {self._bag.folder}', values=values)]

    def close(self) -> None:
        self._drain()
        self._bag.close()
        total = sum(self._bag.counts.values())
        self.get_logger().info(f'{total} messages in {self._bag.folder}')


def type_name(kind: Any) -> str:
    """As a bag has it, e.g. `std_msgs/msg/String`."""
    return f'{kind.__module__.split(".")[0]}/msg/{kind.__name__}'


def delivery(topic: str, lockstep: bool) -> Delivery:
    """What its publishers offer: in lock-step no message of a stream may be lost."""
    if topic in LATCHED:
        return 'latched'
    return 'stream' if topic in STREAMS and not lockstep else 'event'


def _qos(topic: str, lockstep: bool) -> QoSProfile:
    """Never asks for more than the publisher offers: nothing would arrive at all."""
    if topic in LATCHED:
        return latched_qos()
    if topic in STREAMS and lockstep:
        return lockstep_qos()
    if lockstep:                     # all of it comes from our own nodes, which offer that
        return event_qos(DEPTH)
    return QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT)


class _RecorderLoop(Loop):
    def __init__(self, drain: Any, wait_set: WaitSet) -> None:
        super().__init__()
        self._drain = drain
        self._wait_set = wait_set

    def _cycle(self) -> None:
        while not self._stopped:
            self._wait_set.wait(0.05)
            self._turn()

    def _turn(self) -> None:
        self._drain()
        self.statistics.ticks += 1


def main() -> int:
    return run_node(RecorderNode)


if __name__ == '__main__':
    sys.exit(main())
