"""The whole arm in one process as Gazebo has it: joint states in, efforts out. No ROS, no clock.

Parts and order of a cycle are those of the nodes behind `ros2_control_bridge`: a command answers
a state and acts in the next one.
"""

from __future__ import annotations

from typing import Any

from armsense.boards.command_guard import guard_limits
from armsense.boards.effort_bridge import EffortBridge
from armsense.boards.mode import Mode
from armsense.control.motion_controller import MotionController
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.sim.closed_loop import ClosedLoop, Cycle
from armsense.sim.dart_plant import DartPlant
from armsense.sim.mujoco_plant import MujocoPlant
from armsense.types import Array, Collision
from armsense.watch.collision_monitor import CollisionMonitor
from armsense.watch.state_estimator import StateEstimator


class EffortLoop(ClosedLoop):
    """One simulated arm behind an effort interface, with everything that drives and watches it."""

    plant: Any       # of MuJoCo or DART
    driver: Any      # an `EffortBridge`

    def __init__(self, model: Arm, plant: DartPlant | MujocoPlant, *,
                 controller: MotionController | None = None,
                 monitor: CollisionMonitor | None = None, dt: float | None = None) -> None:
        """Put an arm together and enable it where it stands.

        Args:
            model: What bridge, controller and observer believe.
            plant: Arm that is simulated.
            controller: None: the arm's default controller.
            monitor: Collision monitor; None: none runs.
            dt: [s] between joint states; None: as the arm file has it.
        """
        self.model, self.config, self.plant = model, model.config, plant
        self.dt = 1.0 / model.config.rate if dt is None else dt
        self.driver = EffortBridge(model, guard_limits(model), trust_efforts=False)
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
        """One period."""
        driver, state = self.driver, self.plant.readings
        reading = driver.read(driver.names, state.motor_position, state.motor_velocity,
                              driver.sent)
        efforts = driver.efforts(reading)
        enabled = driver.mode == Mode.ENABLED
        arm, command = self._control(reading, enabled)
        result = self._watch(reading, enabled)
        self.plant.step(efforts, self.dt)
        self.time += self.dt
        return Cycle(self.time, reading, arm, result, command)

    def _enable(self) -> None:
        """The arm stands still on its support until its motors are on."""
        state = self.plant.readings
        reading = self.driver.read(self.driver.names, state.motor_position, state.motor_velocity,
                                   self.driver.sent)
        answer = self.driver.enable()
        if not answer.success:
            raise ArmsenseError(f'the simulated arm did not start: {answer.message}')
        for _ in range(10):
            reading = self.driver.read(self.driver.names, state.motor_position,
                                       state.motor_velocity, self.driver.sent)
            self.driver.efforts(reading)
            self._control(reading, self.driver.mode == Mode.ENABLED)
