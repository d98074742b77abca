"""`simulator`: a MuJoCo arm behind emulated boards; the driver cannot tell it from the real one.

Lock-step: the plant advances one period whenever the driver has exchanged a frame with every
board; in the driver's process (`arm`) that exchange moves it on. Realtime: it advances with the
wall clock, whether or not anybody talks to the boards, so that a dead driver is met by the boards'
watchdog.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import sys
import time

from rclpy.node import Node
from std_srvs.srv import Trigger

from armsense.boards.board_links import Wiring
from armsense.boards.emulator.rack import ArmRack
from armsense.boards.emulator.servers import BoardServer, CanServer, SpiServer
from armsense.boards.transport.seqpacket import SERVED_HERE, socket_folder, socket_paths
from armsense.model import Arm
from armsense.schema import quantity, same_as
from armsense.sim.carrier import Carrier
from armsense.sim.mujoco_plant import make_plant
from armsense.sim.scenario import Scenario, Stage
from armsense.sim.sensors import StrainGauges
from armsense_msgs.msg import ContactTruth
from armsense_node.health import HealthTopic
from armsense_node.lockstep import lockstep_qos
from armsense_node.loop import event_qos, Loop, run_node, stream_qos
from armsense_node.parameters import ArmParameters, declare, LockstepParameters
from armsense_sim.push_topic import PullTopic, PushTopic
from armsense_sim.sensor_topics import ImuTopic, LoadCellTopic
from armsense_sim.simulator_health import SimulatorHealth
from armsense_sim.stage_topics import ObstacleTopic, StageServices

LAST_WORDS = 1.0   # [s]
HALFWAY = 3e-4     # [s] after the end of a period for a driver to ask the boards that are left
CATCH_UP = 0.05    # [s] by which lock-step at the pace of the clock may be late and catch up
LATE = 4           # periods by which encoders turn on evenly while a step is late


@dataclass(frozen=True, kw_only=True)
class Settings(LockstepParameters, ArmParameters):
    """Parameters."""

    bus: str = same_as(Wiring, 'bus')
    sockets: str = same_as(Wiring, 'sockets')
    seed: int = quantity(1, low=0, high=2**31 - 1, text='of every random number')
    alignment: float = quantity(0.2, unit='s', low=0.001, high=10,
                                text='how long a motor aligns at the first enable')
    mismatch: float = quantity(
        0.0, low=0, high=0.5, text='relative error of masses and friction against the arm file')
    load_cells: bool = quantity(False, text='publish load_cells, for arms that stand on them')
    sway: float = quantity(0.0, unit='m/s^2', low=0, high=20, text='peak acceleration, along each '
                           'axis, of a carrier that sways')
    tilt: tuple[float, float] = quantity((0.0, 0.0), unit='rad',
                                         text='constant roll and pitch of the base')
    imu: bool = quantity(False, text='publish imu, of a unit at the origin of the base')
    scenario: str = quantity('', text='yaml file of events; empty: nothing happens')
    real_time_factor: float = quantity(
        0.0, low=0, high=100, text='lock-step: virtual over real time, at most; 0: as fast as it '
        'goes')


class SimulatorNode(Node):
    """Plant, boards and sockets, with services to disturb them."""

    loop: _SimulatorLoop

    def __init__(self) -> None:
        super().__init__('simulator')
        settings = declare(self, Settings)
        model = Arm.load(settings.arm)
        config = model.config
        self._dt = 1.0 / config.rate
        self._home = config.home or [0.0] * config.n
        self._plant = make_plant(config, seed=settings.seed, mismatch=settings.mismatch)
        self._carrier = Carrier(config.gravity, sway=settings.sway, tilt=settings.tilt,
                                seed=settings.seed)
        self._plant.set_gravity(self._carrier.gravity(0.0))
        self._plant.reset(self._home)
        self._gauges = StrainGauges(config, settings.seed)
        lower, upper = model.position_limits
        self._boards = ArmRack(config, settings.bus, seed=settings.seed,
                               alignment=settings.alignment,
                               limits=(lower.tolist(), upper.tolist()))
        paths = socket_paths(settings.sockets or socket_folder(self.get_namespace()),
                             len(self._boards.rack.boards))
        server = CanServer if settings.bus == 'can' else SpiServer
        self._server = server(self._boards.rack, paths)
        if settings.lockstep:     # for a driver of this process; others never look there
            SERVED_HERE.update(dict.fromkeys(paths, lambda: self.loop.serve_in_process()))
        self._stage = Stage(Scenario.read(settings.scenario) if settings.scenario
                            else Scenario(), self._plant, self._boards.rack)
        qos = lockstep_qos() if settings.lockstep else stream_qos()
        self._cells = (LoadCellTopic(self, config, settings.seed, qos)
                       if settings.load_cells else None)
        self._imu = ImuTopic(self, settings.seed, qos) if settings.imu else None
        self._lockstep = settings.lockstep
        self._pushes, self._pulls = PushTopic(self), PullTopic(self)
        self._around = StageServices(self, self._stage, self._boards.rack)
        self._obstacles = ObstacleTopic(self)
        self._power_lost = False
        self._seq = 0
        self._touching = False
        self._supported = True
        self._errors = [board.error for board in self._boards.rack.boards]
        self._truth = self.create_publisher(ContactTruth, 'ground_truth', event_qos(1000))
        self.create_service(Trigger, '~/power_cycle', self._power_cycle)
        health = SimulatorHealth(self._boards.rack.boards, self._dt, settings.lockstep)
        HealthTopic(self, lambda: health.look(self.loop.statistics.ticks))
        pace = settings.real_time_factor
        self.loop = _SimulatorLoop(self._begin, self._end, self._server, self._dt,
                                   settings.lockstep, self._dt / pace if pace else 0.0)
        # Joint encoders stay as they are: a spring between two times would show a torque.
        if not settings.lockstep and not any(j.joint_encoder for j in config.joints.values()):
            self._boards.rack.lead = self.loop.lead
        self.get_logger().info(f'{config.arm} on {len(paths)} emulated {settings.bus} boards')

    def close(self) -> None:
        self._server.close()
        for number, board in enumerate(self._boards.rack.boards):
            if board.unsafe.total:
                self.get_logger().error(f'board {number}: {board.unsafe.total} unsafe frames, the '
                                        f'last: {board.unsafe.last}')

    def _begin(self) -> None:
        """A period: the boards are ready to be asked."""
        self._seq += 1
        now = self._seq * self._dt
        self._around.act()
        if self._power_lost:
            self._start_again()
        self._pushes.act_on(self._plant)
        self._pulls.act_on(self._plant)
        self._stage.advance(now)
        self._obstacles.tell(self._plant.obstacles)
        self._ride(now)
        position, velocity, joint_position, strain = self._plant.readings
        self._torque = self._boards.step(self._dt, position, velocity, joint_position,
                                         self._gauges.read(strain))
        self._report_trips(now)

    def _end(self) -> None:
        """The boards have been asked: the plant moves."""
        now = self._seq * self._dt
        # Like a real arm without brakes it lies on its stand until the motors carry it. Motors
        # that are only on do not: a CAN board is ready up to a second before it says so.
        self._supported = self._supported and not self._boards.carrying
        if not self._supported:
            self._plant.step(self._torque, self._dt)
            self._publish_truth(now)
        if self._cells is not None:
            self._cells.step(self._plant, self._seq, now)

    def _start_again(self) -> None:
        """As a person does it: the arm on its stand at home, where the encoders' zero is."""
        self._power_lost = False
        self._plant.reset(self._home)
        self._supported = True
        for board in range(len(self._boards.rack.boards)):
            self._boards.rack.power_cycle(board)

    def _ride(self, now: float) -> None:
        """Let the carrier move; it stands as long as the arm lies on its stand."""
        if not self._carrier.moves and self._imu is None:
            return
        gravity = self._carrier.gravity(self._plant.data.time)
        self._plant.set_gravity(gravity)
        if self._imu is not None:
            self._imu.publish(gravity, round(now * 1e9) if self._lockstep else time.time_ns())

    def _report_trips(self, now: float) -> None:
        for number, board in enumerate(self._boards.rack.boards):
            if board.error != self._errors[number]:
                self._errors[number] = board.error
                if board.error:
                    self.get_logger().warning(
                        f'board {number} tripped at {now:.3f} s: {board.error.name.lower()}, '
                        f'{board.silence * 1e3:.0f} ms after the last command')

    def _publish_truth(self, now: float) -> None:
        """Every step of a contact, and the first one after it."""
        contacts = self._plant.contact
        if not contacts and not self._touching:
            return
        self._touching = bool(contacts)
        message = ContactTruth(seq=self._seq)
        message.header.frame_id = 'base_link'
        stamp = now if self._lockstep else time.time()   # on the clock of the states
        message.header.stamp.sec = int(stamp)
        message.header.stamp.nanosec = int((stamp - int(stamp)) * 1e9)
        if contacts:
            strongest = max(contacts, key=lambda c: float(c.force @ c.force))
            message.link = strongest.link
            message.force.x, message.force.y, message.force.z = map(float, strongest.force)
            message.point.x, message.point.y, message.point.z = map(float, strongest.point)
        self._truth.publish(message)

    # -- services ----------------------------------------------------------------------------

    def _power_cycle(self, request: Trigger.Request,
                     response: Trigger.Response) -> Trigger.Response:
        self._power_lost = True
        response.success = True
        response.message = ('with the next step: all boards, the arm back on its stand at home; '
                            'then clear the fault twice and enable')
        return response


class _SimulatorLoop(Loop):
    """Calls `begin()`, serves the wire, calls `end()`."""

    def __init__(self, begin: Callable[[], None], end: Callable[[], None], server: BoardServer,
                 dt: float, lockstep: bool, pace: float) -> None:
        """`pace`: wall clock [s] for a step in lock-step, at least."""
        super().__init__()
        self._pace = pace
        self._begin, self._end = begin, end
        self._server = server
        self._dt = dt
        self._lockstep = lockstep
        self._deadline = 0.0
        self._asked = False      # the boards wait for the driver of this process

    def _cycle(self) -> None:
        self._deadline = time.monotonic() + self._dt
        exchange = self._wait_for_driver if self._lockstep else self._serve_until_deadline
        while not self._stopped:
            self._begin()
            if exchange():
                self._end()
            self.statistics.ticks += 1
        self._serve_last_words()

    def serve_in_process(self) -> None:
        """Lock-step, whenever the driver of this process waits for boards: answer it.

        When each has been asked, the plant moves on and they are ready again.
        """
        if not self._asked:
            self._begin_in_process()
        if self._server.wait_all(0.0):
            self._keep_pace()
            self._end()
            self.statistics.ticks += 1
            self._begin_in_process()

    def _begin_in_process(self) -> None:
        self._asked = True
        self._begin()
        self._server.flush()

    def _turn(self) -> None:
        """Nothing: see `serve_in_process`."""

    def lead(self) -> float:
        """Time since the state that the boards show [s].

        A step that takes too long must not hold the encoders up; a machine that stands still for
        longer does, like the boards' clocks.
        """
        return min(max(time.monotonic() - self._deadline + self._dt, 0.0), LATE * self._dt)

    def _serve_last_words(self) -> None:
        """A driver that stops at the same time still wants to switch its boards off."""
        deadline = time.monotonic() + LAST_WORDS
        while any(self._server.connected) and time.monotonic() < deadline:
            self._server.poll(0.01)
            self._server.flush()

    def _wait_for_driver(self) -> bool:
        self._server.flush()
        while not self._stopped:
            if self._server.wait_all(0.2):
                self._keep_pace()
                return True
        return False

    def _keep_pace(self) -> None:
        """Virtual time does not run ahead of the clock; of a pause little is caught up with."""
        if not self._pace:
            return
        left = self._deadline - time.monotonic()
        if left > 0.0:
            time.sleep(left)
        self._deadline = max(self._deadline, time.monotonic() - CATCH_UP) + self._pace

    def _serve_until_deadline(self) -> bool:
        """A driver that has asked some of the boards is not made to wait for the others."""
        self._server.flush()
        last = len(self._server.connected) - 1
        halfway = False
        left = self._deadline - time.monotonic()
        while left > (-HALFWAY if halfway else 0.0) and not self._stopped:
            for board in self._server.poll(left + HALFWAY if halfway else left):
                halfway = board != last
            left = self._deadline - time.monotonic()
        if left < -0.1:                       # the machine stood still: do not race after it
            self._deadline = time.monotonic()
        self._deadline += self._dt
        return True


def main() -> int:
    return run_node(SimulatorNode)


if __name__ == '__main__':
    sys.exit(main())
