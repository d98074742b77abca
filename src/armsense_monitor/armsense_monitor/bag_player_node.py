"""`bag_player`: a recorded run as topics, for machines without rosbag2.

What the nodes of now would say anew, residuals or how they are, is published below `recorded/`,
so that both can be compared.
In lock-step the next state waits until the observer has answered the last one: nothing is lost,
and the residuals are those of the recorded run.
"""

from dataclasses import dataclass
import importlib
from pathlib import Path
import struct
import sys
import time
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool

from armsense.recordings.bag_files import RawMessage
from armsense.recordings.bag_playback import BagPlayback
from armsense.recordings.record import RecordDecoder
from armsense.schema import quantity
from armsense_msgs.msg import MotorStates, Residual
from armsense_node.health import Health, HealthTopic
from armsense_node.lockstep import Answerer, lockstep_qos, LockstepLoop
from armsense_node.loop import event_qos, latched_qos, run_node, stream_qos, StreamSubscription
from armsense_node.parameters import declare

COMPUTED = ('residual', 'collision', 'contact', 'base/residual', 'base/wrench', 'diagnostics')
STREAMS = ('motor_states', 'load_cells')
LATCHED = ('mode', 'reaction_state', 'robot_description', 'payload')   # last word of the topic
NO_STAMP = ('std_msgs/msg/String', 'tf2_msgs/msg/TFMessage')
CLOCK_EVERY = 10       # states
NAP = 0.02             # [s] how soon a pause or an end is noticed
GAP = 1_000_000        # [ns] between two rounds of a loop


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Parameters."""

    bag: str = quantity('', text='rosbag2 folder, .mcap or .db3')
    rate: float = quantity(1.0, low=0, high=1000, text='times real time; 0: as fast as it goes')
    loop: bool = quantity(False, text='begin again at the end')
    paused: bool = quantity(False, text='wait for ~/pause false before the first message')
    lockstep: bool = quantity(True, text='wait for the residual of every state')


class BagPlayerNode(Node):
    """Publishes the bytes of the bag as they are, only their stamps move with every round."""

    def __init__(self) -> None:
        super().__init__('bag_player')
        self._settings = declare(self, Settings)
        self._bag = BagPlayback(Path(self._settings.bag))
        self._publishers_of = self._make_publishers()
        self._clock_topic = self.create_publisher(Clock, '/clock', 1)
        self._decoder = RecordDecoder(MotorStates)
        self._paused = self._settings.paused
        self._shift = 0                     # [ns] of this round
        self._states = 0
        self._due = time.monotonic()        # [s] of the next message
        self._last: int | None = None       # [ns] stamp of the message before
        self.create_service(SetBool, '~/pause', self._pause)
        HealthTopic(self, self.health)
        self.loop = self._make_loop()
        self.get_logger().info(f'{self._bag.path}: {self._bag.seconds:.1f} s')

    def _make_loop(self) -> LockstepLoop:
        answerers = []
        if self._settings.lockstep:
            residuals = StreamSubscription(self, Residual, 'residual', None, qos=lockstep_qos())
            answerers.append(Answerer('residual', residuals, lambda _: None))
        return LockstepLoop(self._step, answerers, self._heard)

    def _heard(self) -> bool:
        states = self._publishers_of.get('motor_states')
        return not self._settings.lockstep or (
            states is not None and states.get_subscription_count() > 0)

    def _make_publishers(self) -> dict[str, Any]:
        made = {}
        for topic, kind in self._bag.types.items():
            package, _, name = kind.split('/')
            try:
                message_type = getattr(importlib.import_module(f'{package}.msg'), name)
            except (ImportError, AttributeError):
                self.get_logger().warning(f'{topic}: {kind} is not installed; left out')
                continue
            made[topic] = self.create_publisher(
                message_type, f'recorded/{topic}' if topic in COMPUTED else topic,
                self._qos(topic))
        return made

    def _qos(self, topic: str) -> QoSProfile:
        if topic in STREAMS:
            return lockstep_qos() if self._settings.lockstep else stream_qos()
        return latched_qos() if topic.rsplit('/', 1)[-1] in LATCHED else event_qos(1000)

    # -- the loop ----------------------------------------------------------------------------

    def _step(self, tick: int) -> int | None:
        """Publish up to the next state; its number."""
        for message in self._bag:
            self._wait(message.stamp)
            if self.loop.stopped:
                return None
            data = self._moved(message)
            if message.topic in self._publishers_of:
                self._publishers_of[message.topic].publish(data)
            if message.topic == 'motor_states':
                self._tell_time(message.stamp + self._shift)
                state = self._decoder.decode(data)
                return None if state is None else int(state.seq)
        self._end()
        return None

    def _wait(self, stamp: int) -> None:
        """Until a message is due at the chosen rate, and nobody has paused."""
        rate, last, self._last = self._settings.rate, self._last, stamp
        if rate > 0.0 and last is not None:
            self._due += max(stamp - last, 0) * 1e-9 / rate
        while not self.loop.stopped:
            left = self._due - time.monotonic()
            if self._paused:
                time.sleep(NAP)
                self._due += NAP
            elif rate == 0.0 or left <= 0.0:
                return
            else:
                time.sleep(min(left, NAP))

    def _moved(self, message: RawMessage) -> bytes:
        if not self._shift or message.type in NO_STAMP:
            return message.data
        seconds, nanoseconds = struct.unpack_from('<iI', message.data, 4)
        stamp = struct.pack('<iI', *divmod(seconds * 10**9 + nanoseconds + self._shift, 10**9))
        return message.data[:4] + stamp + message.data[12:]

    def _tell_time(self, stamp: int) -> None:
        self._states += 1
        if self._states % CLOCK_EVERY == 1:
            message = Clock()
            message.clock.sec, message.clock.nanosec = divmod(stamp, 10**9)
            self._clock_topic.publish(message)

    def _end(self) -> None:
        if self._settings.loop:
            self._shift += self._bag.end - self._bag.begin + GAP
            self._last = None
            self._bag.rewind()
        else:
            self.get_logger().info('the bag is over')
            self.loop.stop()

    def health(self) -> list[Health]:
        seconds = 0.0 if self._last is None else (self._last - self._bag.begin) * 1e-9
        return [Health('bag', f'{"paused at" if self._paused else "plays"} {seconds:.1f} of '
                       f'{self._bag.seconds:.1f} s', values={'states': self._states})]

    def _pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._paused = request.data
        response.success, response.message = True, 'paused' if request.data else 'playing'
        return response


def main() -> int:
    return run_node(BagPlayerNode)


if __name__ == '__main__':
    sys.exit(main())
