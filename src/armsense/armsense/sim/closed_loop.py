"""The whole arm in one process: plant, boards, driver, controller, observer. No ROS, no clock.

The same classes that the nodes wrap, called in the order of a lock-step cycle; for campaigns,
benchmarks and calibration, where a process boundary would only cost time.
"""

from collections.abc import Callable
from typing import NamedTuple

from armsense.boards.arm_driver import ArmDriver, DriverSettings
from armsense.boards.command_guard import guard_limits
from armsense.boards.emulator.board import LoopbackTransport
from armsense.boards.emulator.rack import ArmRack
from armsense.boards.joint_map import motor_zero, Reading
from armsense.boards.mode import Mode
from armsense.boards.protocol.spi import by_name
from armsense.boards.transport.link import SpiLink
from armsense.control.motion_controller import MotionController
from armsense.detector import lasting_text
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.sim.mujoco_plant import make_plant
from armsense.sim.sensors import StrainGauges
from armsense.types import ArmState, Array, as_floats, Collision, Command
from armsense.watch.collision_monitor import CollisionMonitor, MonitorResult
from armsense.watch.state_estimator import StateEstimator

ALIGNMENT = 0.02   # [s] emulated boards are ready at once: nobody watches


class Cycle(NamedTuple):
    """What happened in one period."""

    time: float                    # [s]
    reading: Reading | None        # what the boards said
    state: ArmState | None         # what the controller saw
    result: MonitorResult | None   # what the observer said
    command: Command | None        # what the controller wanted


class ClosedLoop:
    """One simulated arm with everything that drives and watches it."""

    def __init__(self, model: Arm, *, plant_model: Arm | None = None,
                 controller: MotionController | None = None,
                 monitor: CollisionMonitor | None = None, seed: int = 1, mismatch: float = 0.0,
                 noise: bool = True, noise_seed: int | None = None,
                 home: Array | None = None) -> None:
        """Put an arm together and enable it.

        `model` is what controller and observer believe, `plant_model` what is simulated; None: the
        arm file of `model`, with a relative error of masses and friction (`mismatch`). The
        controller is by default the arm's own; without a monitor none runs. The current noise may
        have a seed of its own: one arm, another run. The arm stands at `home` [rad], (n,).
        """
        config = (plant_model or model).config
        self.model, self.config = model, config
        self.dt = 1.0 / config.rate
        self.plant = make_plant(config, seed=seed, mismatch=mismatch)
        self.plant.reset(config.home if home is None else home)
        self.rack = ArmRack(config, seed=seed if noise_seed is None else noise_seed,
                            alignment=ALIGNMENT, noise=noise)
        self._gauges = StrainGauges(config, seed)
        protocol = by_name(config.boards.protocol if config.boards else 'uomodri')
        links = [SpiLink(protocol, LoopbackTransport(self.rack.rack.port(b)))
                 for b in range(len(self.rack.rack.boards))]
        zero = self.plant.state.motor_position.tolist() if home is not None else motor_zero(
            Arm.load(config))
        self.driver = ArmDriver(config, guard_limits(model), links, DriverSettings(
            period=self.dt, board_timeout_ms=50), zero=zero)
        self.controller = controller or MotionController(model)
        self.monitor = monitor
        if monitor is not None:
            self.controller.reaction.agree_with(monitor.detector.release_level)
        self._estimator = StateEstimator(model.config)
        self.time = 0.0
        self._residual: Array | None = None
        self._collision: Collision | None = None
        self._collision_seq = 0
        self._lasting = ''
        self._enable()

    def step(self) -> Cycle:
        torque = self._step_boards()
        reading = self.driver.cycle()
        arm = result = command = None
        if reading is not None:
            enabled = self.driver.mode == Mode.ENABLED
            arm, command = self._control(reading, enabled)
            result = self._watch(reading, enabled)
        self.plant.step(torque, self.dt)
        self.time += self.dt
        return Cycle(self.time, reading, arm, result, command)

    def run(self, seconds: float, each: Callable[[Cycle], None] | None = None) -> None:
        """Many periods; `each` sees every one."""
        for _ in range(round(seconds / self.dt)):
            cycle = self.step()
            if each is not None:
                each(cycle)

    def _step_boards(self) -> list[float]:
        position, velocity, joint_position, strain = self.plant.readings
        return self.rack.step(self.dt, position, velocity, joint_position,
                              self._gauges.read(strain))

    def _control(self, reading: Reading, enabled: bool) -> tuple[ArmState, Command | None]:
        arm = self._state(reading)
        if not enabled:
            self.controller.rest()
            return arm, None
        collision, self._collision = self._collision, None
        command = self.controller.step(arm, self._residual, collision, self.dt, self._lasting)
        self.driver.give(as_floats(command), self.driver.seq, self._collision_seq)
        return arm, command

    def _state(self, reading: Reading) -> ArmState:
        return self._estimator.step(reading.position, reading.torque, reading.joint_position,
                                    reading.strain, self.dt)

    def _watch(self, reading: Reading, enabled: bool) -> MonitorResult | None:
        if self.monitor is None:
            return None
        self.monitor.press = self.controller.press
        result = self.monitor.step(reading.position, reading.torque, reading.joint_position,
                                   reading.strain, enabled, self.dt)
        self._residual = result.filtered if result.valid else None
        self._lasting = lasting_text(self.model.joint_names, result.lasting, result.lasts_for)
        if result.detection is not None:
            joint = result.detection.joint
            hit = result.isolation.joint if result.isolation else joint
            self._collision = Collision(self.model.joint_names[joint], self.model.link_names[hit])
            self._collision_seq = self.driver.seq
            self.driver.report_collision(self.driver.seq)
        return result

    def _enable(self) -> None:
        """The arm stands still on its support while the boards align."""
        for _ in range(round(10.0 * ALIGNMENT / self.dt) + 100):
            self._step_boards()
            reading = self.driver.cycle()
            if reading is not None:
                self._state(reading)
            if self.driver.mode == Mode.DISABLED:
                self.driver.enable()
            if self.driver.mode == Mode.ENABLED:
                return
        raise ArmsenseError(f'the simulated arm did not start: {self.driver.fault}')
