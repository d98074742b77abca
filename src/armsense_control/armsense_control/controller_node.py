"""The node behind both controllers: states in, commands out, goals in between.

One `motor_states` message makes one step of `MotionController` and one `motor_commands` message
with the same seq. Collisions are drained before each step, so a reaction begins in the cycle that
hears of it. Services, parameters and the action live on the executor's thread; goals are planned
in a third one, so that `hold` and `cancel` never wait for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from geometry_msgs.msg import InertiaStamped, WrenchStamped
import numpy as np
from std_srvs.srv import Trigger

from armsense.control.config import ControllerConfig
from armsense.control.motion_controller import MotionController
from armsense.errors import ArmsenseError, UnknownName
from armsense.model import Arm
from armsense.model.model_file import ModelFile
from armsense.reaction.options import Phase
from armsense.schema import quantity
from armsense.types import Press
from armsense.watch.collision_monitor import DetectionConfig, release_level
from armsense_control.arm_stream import ArmStream, no_torque
from armsense_control.controller_parameters import ControllerParameters
from armsense_control.goal_action import Planning, Served
from armsense_control.task_action import TaskAction
from armsense_control.trajectory_action import TrajectoryAction
from armsense_msgs.msg import ReactionState
from armsense_msgs.srv import SetPayload, SetString
from armsense_node.health import Health, Level
from armsense_node.lifecycle import LoopNode
from armsense_node.loop import latched_qos, ReactiveLoop
from armsense_node.parameters import declare
from armsense_node.payload import payload_message, TOPIC
from armsense_node.press import press_message
from armsense_node.press import TOPIC as PRESS
from armsense_node.services import served


@dataclass(frozen=True, kw_only=True)
class Settings(ControllerParameters):
    """Parameters."""

    detection: str = quantity('', text='yaml file of the collision observer; empty: '
                              'config/detection.yaml')
    law: str = quantity('', text='law at the start; empty: that of the gains file')
    reaction: str = quantity('', text='reaction to collisions; empty: that of the gains file')


class ControllerNode(LoopNode):
    """Lifecycle shell around `MotionController`."""

    def __init__(self, name: str, laws: Sequence[str]) -> None:
        """Make a node that offers some of the laws."""
        super().__init__(name)
        self._offered = tuple(laws)
        self._settings = declare(self, Settings)
        self._planning = Planning(self, self._not_yet, lambda: self._arm.time)
        if self._settings.autostart:
            self.autostart()

    def configure(self) -> None:
        settings = self._settings
        model = settings.load()
        config = ControllerConfig.of(model, settings.controllers or None)
        law = settings.law or self._default_law(config)
        self._check_law(law)
        thresholds = (ModelFile.read(settings.model, model.name).thresholds
                      if settings.model else None)
        self.controller = MotionController(model, config, law, release_level(
            model, DetectionConfig.of(model, settings.detection or None), thresholds))
        if settings.reaction:
            self.controller.reaction.choose(settings.reaction)
        self._instant = (0, 0.0)
        self._published_phase: tuple[Phase, str, str] | None = None
        self._make_topics(model)

    def destroy_node(self) -> None:
        self._planning.close()
        super().destroy_node()

    def _not_yet(self) -> bool:
        """No goal can begin, but perhaps in a moment: who hears of an enable may be faster."""
        return self.controller.lets_go or self.controller.reference is None

    def make_loop(self) -> ReactiveLoop:
        self.get_logger().info(f'{self.controller.law_name}, reaction '
                               f'{self.controller.reaction.strategy}')
        return ReactiveLoop(self._arm.states, self._step)

    def _make_topics(self, model: Arm) -> None:
        self._arm = ArmStream(self, model, self._settings)
        self.answers = self._arm.commands
        self._tool_frame = model.tool_frame
        self._payload = self.create_publisher(InertiaStamped, TOPIC, latched_qos())
        self._payload.publish(payload_message(self._tool_frame, 0.0))   # nothing, after a restart
        self._press = self.create_publisher(WrenchStamped, PRESS, latched_qos())
        self._published_press: Press | None = None
        self._reaction_state = self.create_publisher(ReactionState, '~/reaction_state',
                                                     latched_qos())
        served_by = Served(self, self.controller, lambda: self._instant, self._planning)
        self.action = TrajectoryAction(served_by, model.joint_names)
        self.task_action = TaskAction(served_by, model)
        self.create_service(Trigger, '~/home', self._home)
        controller = self.controller
        self.create_service(Trigger, '~/hold', served(lambda _: controller.hold()))
        self.create_service(Trigger, '~/resume', served(lambda _: controller.resume()))
        self.create_service(Trigger, '~/clear_fault', served(lambda _: controller.clear_fault()))
        self.create_service(SetString, '~/switch', served(self._switch))
        self.create_service(SetString, '~/set_reaction', served(self._set_reaction))
        self.create_service(SetPayload, '~/set_payload', served(self._set_payload))

    # -- the loop ----------------------------------------------------------------------------

    def _step(self, message: Any) -> None:
        state, residual, collision, dt, lasting = self._arm.take(message)
        if message.enabled:
            command = self.controller.step(state, residual, collision, dt, lasting)
        else:
            self.controller.rest()
            command = no_torque(state)
        self._instant = (message.stamp_ns, self.controller.time)   # one assignment: two threads
        self._arm.publish(command, message)
        self._publish_phase()
        if (press := self.controller.press) is not self._published_press:
            self._published_press = press
            self._press.publish(press_message(press))

    def _publish_phase(self) -> None:
        controller = self.controller
        now = (controller.phase, controller.law_name, controller.reaction.strategy)
        if now == self._published_phase:
            return
        self._published_phase = now
        message = ReactionState(controller=now[1], strategy=now[2], state=now[0].value,
                                explanation=controller.explanation)
        message.stamp.sec, message.stamp.nanosec = divmod(self._instant[0], 10**9)
        self._reaction_state.publish(message)
        if controller.phase is not Phase.TRACKING:
            self.get_logger().info(f'{controller.phase.value}: {controller.explanation}')

    def health(self) -> list[Health]:
        controller = self.controller
        level = Level.ERROR if controller.phase is Phase.SAFE else Level.OK
        what = f'{controller.phase.value}: {controller.explanation}'.rstrip(': ')
        return [Health('control', what, level, {
            'law': controller.law_name, 'reaction': controller.reaction.strategy}),
            self._watched()]

    def _watched(self) -> Health:
        """Whether somebody watches for collisions."""
        if not self._arm.inbox.heard:
            return Health('collisions', 'no collision observer runs')
        if self._arm.inbox.silent:
            return Health('collisions', 'not noticed any more: the collision observer is silent; '
                          'start it again', Level.ERROR)
        if self.controller.lasting:
            return Health('collisions', self.controller.lasting, Level.WARN)
        return Health('collisions', 'watched')

    # -- services ----------------------------------------------------------------------------

    def _default_law(self, config: ControllerConfig) -> str:
        if config.law in self._offered:
            return config.law
        known = [law for law in self._offered if law in config.laws]
        if not known:
            raise UnknownName('law of this node in the gains file', config.law, self._offered)
        return known[0]

    def _check_law(self, law: str) -> None:
        if law not in self._offered:
            raise UnknownName(f'law of {self.get_name()}', law, self._offered)

    async def _home(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            ordered = self.controller.overtakings
            await self._planning.submit(lambda: self.controller.home(ordered))
            response.success, response.message = True, 'accepted'
        except ArmsenseError as error:
            response.success, response.message = False, str(error)
        return response

    def _switch(self, request: SetString.Request) -> str:
        self._check_law(request.data)
        self.controller.switch(request.data)
        return f'{request.data} takes over'

    def _set_reaction(self, request: SetString.Request) -> str:
        self.controller.reaction.choose(request.data)
        return str(request.data)

    def _set_payload(self, request: SetPayload.Request) -> str:
        xx, xy, yy, xz, yz, zz = request.inertia
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        center = request.center.x, request.center.y, request.center.z
        self.controller.set_payload(request.mass, center, tensor)
        self._payload.publish(payload_message(self._tool_frame, request.mass, center, tensor))
        return f'{request.mass:g} kg'
