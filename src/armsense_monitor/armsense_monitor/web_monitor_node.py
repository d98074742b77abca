"""`web_monitor`: a page that shows a running arm, or a bag, with buttons for who may press them.

It listens without asking for anything to be sent again, and draws 25 times a second however fast
the arm runs, so that it does not disturb the chain.
"""

from dataclasses import dataclass
from pathlib import Path
import sys
import time

from rclpy.node import Node

from armsense.model import Arm
from armsense.schema import quantity
from armsense_monitor.arm_history import ArmHistory
from armsense_monitor.feed import Feed, LiveFeed
from armsense_monitor.page_guard import PageGuard
from armsense_monitor.view_control import Access, ArmRemote
from armsense_monitor.web_view import WebView
from armsense_node.health import Health, HealthTopic
from armsense_node.loop import PacedLoop, run_node
from armsense_node.parameters import ArmParameters, declare

RATE = 25.0            # [Hz] of the page


@dataclass(frozen=True, kw_only=True)
class Settings(ArmParameters):
    """Parameters."""

    host: str = quantity('127.0.0.1',
                         text='address to listen at; 0.0.0.0: everybody on the network')
    port: int = quantity(8080, low=0, high=65535, text='of the page; 0: any that is free')
    hosts: str = quantity('', text='further names by which the page is reached, separated by '
                          'commas: a proxy or forwarded port')
    token: str = quantity('', text='that controls the arm; empty: a random one, which is printed')
    bag: str = quantity('', text='bag to begin with; empty: the live arm')
    at: float = quantity(-1.0, unit='s', low=-1, high=1e9,
                         text='go there in the bag and pause; negative: play it')
    bags: str = quantity('out', text='folder of the bag picker')
    driver: str = quantity('motor_board', text='node that enables and stops the motors')
    controller: str = quantity('dynamic_controller', text='node that reacts and moves')
    jogging: bool = quantity(
        False, text='joints can be moved from the page; meant for simulation')
    simulator: str = quantity('', text='node that simulates the arm: who looks at the page can '
                              'pull it with the mouse; empty: a real arm')


class WebMonitorNode(Node):
    """Subscriptions in, page out."""

    def __init__(self) -> None:
        super().__init__('web_monitor')
        settings = declare(self, Settings)
        model = Arm.load(settings.arm)
        self._history = ArmHistory(model.joint_names)
        self._feed = Feed(self._history, self.get_namespace())
        access = Access(settings.token)
        remote = ArmRemote(self, self._history, settings.driver, settings.controller,
                           model.position_limits, settings.jogging, settings.simulator)
        # A page that begins with a bag has no arm to protect: everybody may choose bags.
        self._view = WebView(model, self._history, access,
                             None if settings.bag else remote, settings.host, settings.port,
                             Path(settings.bags).resolve(),
                             PageGuard(settings.hosts.split(','), self.get_logger().warning))
        if settings.bag:
            self._view.bags.open(Path(settings.bag), settings.at if settings.at >= 0.0 else None)
        self._live = LiveFeed(self, self._feed)
        self.loop = PacedLoop(1.0 / RATE, self._step)
        self._last_tick = 0
        self._begin = self._looked = time.monotonic(), time.process_time()     # [s]
        HealthTopic(self, self.health)
        self.get_logger().info(f'page: {self._view.url}')
        if not settings.bag:
            self.get_logger().info(f'read-only; the token to control the arm: {access.token}')

    def _step(self, tick: int) -> None:
        seconds = (tick - self._last_tick) / RATE
        self._last_tick = tick
        due = self._view.bags.step(seconds)
        if self._view.bags.restarted:
            self._view.bags.restarted = False
            self._history.clear()
        playback = self._view.bags.playback
        if playback is not None:
            for message in playback.advance(due):
                self._feed.take_bytes(message.topic, message.data)
        self._live.drain(shown=playback is None)
        self._history.settle()
        self._view.update()

    def health(self) -> list[Health]:
        """Of the time since it was last asked."""
        share, self._looked = _cpu_percent(self._looked), (time.monotonic(), time.process_time())
        pages = self._view.pages
        return [Health('page', f'{pages} {"page" if pages == 1 else "pages"} open at '
                       f'{self._view.url}', values={'pages': pages, 'CPU [% of a core]': share})]

    def close(self) -> None:
        self._view.close()
        self.get_logger().info(f'the monitor took {_cpu_percent(self._begin):.1f} % of one core')


def _cpu_percent(since: tuple[float, float]) -> float:
    """Share of one core since a monotonic and a process time [s]."""
    begin, work = since
    return 100.0 * (time.process_time() - work) / max(time.monotonic() - begin, 1e-3)


def main() -> int:
    return run_node(WebMonitorNode)


if __name__ == '__main__':
    sys.exit(main())
