"""Control from a page: who may, what its buttons are, and what they do to the arm.

Who has entered the token that was printed at the start may do more than look. The buttons are
made for each page alone, and do nothing without it.
"""

from collections.abc import Callable, Sequence
import secrets
import time
from typing import Any

from geometry_msgs.msg import Point
import numpy as np
from numpy.typing import ArrayLike
from rclpy.node import Node
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory
import viser

from armsense.reaction.options import STRATEGIES
from armsense.types import Array
from armsense_monitor.arm_history import ArmHistory
from armsense_msgs.msg import Pull
from armsense_msgs.srv import PlaceObstacle, SetPayload, SetString
from armsense_node.arm_client import ArmClient, trajectory_message
from armsense_node.qos import event_qos

WAIT = 1.0             # [s] after a wrong token nobody may try again: guessing takes for ever
JOG_SPEED = 0.3        # [rad/s]
SHORTEST = 0.4         # [s] of a jog
DRIVER = ('enable', 'disable', 'clear_fault', 'emergency_stop')
CONTROLLER = ('hold', 'home', 'resume')
BUTTONS = (('Enable', 'enable'), ('Disable', 'disable'), ('Clear fault', 'clear_fault'),
           ('Hold', 'hold'), ('Home', 'home'), ('Resume', 'resume'))

Done = Callable[[bool, str], None]   # success, message


class Access:
    """Pages that may control the arm."""

    def __init__(self, token: str = '') -> None:
        """Begin with none; an empty token: a random one."""
        self.token = token or secrets.token_hex(6)
        self._allowed: set[int] = set()
        self._closed_until = 0.0

    def allows(self, page: int) -> bool:
        return page in self._allowed

    def enter(self, page: int, token: str, now: float) -> str:
        """Try what was typed in a page, at a monotonic time [s]; why it is refused, or nothing."""
        if now < self._closed_until:
            return 'too fast: wait a second'
        if not secrets.compare_digest(token.strip().encode(), self.token.encode()):
            self._closed_until = now + WAIT
            return 'wrong token: it is printed where the monitor was started'
        self._allowed.add(page)
        return ''

    def leave(self, page: int) -> None:
        """The page was closed."""
        self._allowed.discard(page)


class ArmRemote:
    """Asks the driver and the controller; nothing here blocks."""

    def __init__(self, node: Node, history: ArmHistory, driver: str, controller: str,
                 limits: tuple[ArrayLike, ArrayLike], jogging: bool, simulator: str = '') -> None:
        """Make the clients of two nodes, by their names.

        Limits are the lowest and highest joint angles [rad], each (n,); jogging: joints may be
        moved by hand, in simulation. `simulator` is the node that lets people touch the arm.
        """
        self.jogging, self.simulator = jogging, simulator
        self._history = history
        self._limits = np.array(limits[0]), np.array(limits[1])
        self._arm = ArmClient(node=node)
        names = {**dict.fromkeys(DRIVER, driver), **dict.fromkeys(CONTROLLER, controller)}
        self._services = {name: f'{owner}/{name}' for name, owner in names.items()}
        for service in self._services.values():     # the graph shall show what may be called
            self._arm.service(Trigger, service)
        self._reaction = f'{controller}/set_reaction'
        self._arm.service(SetString, self._reaction)
        self._trajectory = node.create_publisher(JointTrajectory, 'joint_trajectory', 1)
        self._payload = f'{controller}/set_payload'
        self._arm.service(SetPayload, self._payload)
        if simulator:
            self._hand = node.create_publisher(Pull, f'{simulator}/pull', event_qos())
            self._arm.service(PlaceObstacle, f'{simulator}/place_obstacle')
            self._arm.service(SetPayload, f'{simulator}/set_payload')

    def trigger(self, what: str, done: Done) -> None:
        """Call one of the services of `DRIVER` and `CONTROLLER`."""
        self._arm.call_soon(self._services[what], done)

    def set_reaction(self, strategy: str, done: Done) -> None:
        self._arm.call_soon(self._reaction, done, strategy)

    def jog(self, joint: int, step: float, done: Done) -> None:
        """Move one joint by a step [rad] from where it is."""
        position = self._history.position
        if not self.jogging or position is None:
            done(False, 'jogging is for a simulated arm that is running')
            return
        target = position.copy()
        target[joint] += step
        low, high = self._limits
        if not low[joint] <= target[joint] <= high[joint]:
            done(False, f'{self._history.joints[joint]} would go to {target[joint]:.2f} rad; its '
                        f'limits are {low[joint]:.2f} and {high[joint]:.2f}')
            return
        seconds = max(abs(step) / JOG_SPEED, SHORTEST)
        self._trajectory.publish(trajectory_message(
            self._history.joints, [(seconds, target, np.zeros(len(target)))]))
        done(True, f'{self._history.joints[joint]} to {target[joint]:.2f} rad')


    # -- hands on a simulated arm --------------------------------------------------------------

    def pull(self, link: str, point: Array, target: Array, stiffness: float) -> None:
        """Pull a point of a link's frame [m] towards a target [m], base frame; 0 N/m: let go."""
        message = Pull(link=link, stiffness=stiffness)
        message.point, message.target = _point(point), _point(target)
        self._hand.publish(message)

    def place_obstacle(self, position: Array | None, radius: float, done: Done) -> None:
        """A ball [m], base frame; None: take it away."""
        request = PlaceObstacle.Request(present=position is not None, radius=radius)
        if position is not None:
            request.position = _point(position)
        self._arm.ask_soon(PlaceObstacle, f'{self.simulator}/place_obstacle', request, done)

    def set_payload(self, mass: float, told: bool, done: Done) -> None:
        """Put a mass [kg] into the arm's hand, or tell the controller that it is there."""
        name = self._payload if told else f'{self.simulator}/set_payload'
        self._arm.ask_soon(SetPayload, name, SetPayload.Request(mass=mass), done)


def _point(place: Array) -> Point:
    x, y, z = (float(value) for value in place)
    return Point(x=x, y=y, z=z)


class ControlPanel:
    """Token, buttons and jogging of one page."""

    def __init__(self, client: viser.ClientHandle, access: Access, remote: ArmRemote,
                 joints: Sequence[str]) -> None:
        self._client = client
        self._access = access
        self._remote = remote
        self._submitted = False
        gui = client.gui
        with gui.add_folder('Control'):
            self._state = gui.add_markdown('')
            with gui.add_form(None) as self._form:       # Enter is as good as the button
                self._token: Any = gui.add_text(   # mypy does not see that it can be set
                    'token', '', hint='printed where the monitor was started')
                unlock = gui.add_button('Unlock', icon=viser.Icon.LOCK_OPEN)
            unlock.on_click(lambda _: self._enter())
            self._form.on_submit(lambda _: self._submit(True))
            self._token.on_update(lambda _: self._submit(self._submitted))
            stop = gui.add_button('STOP', color='red', icon=viser.Icon.HAND_STOP,
                                  hint='or the space bar')
            stop.on_click(lambda _: self._trigger('emergency_stop', 'STOP'))
            gui.add_command('STOP', hotkey='space').on_trigger(
                lambda _: self._trigger('emergency_stop', 'STOP'))
        with gui.add_folder('Arm') as self._others:
            for first in range(0, len(BUTTONS), 3):
                row = BUTTONS[first:first + 3]
                group = gui.add_button_group(' ', [label for label, _ in row])
                group.on_click(lambda event: self._trigger(
                    dict(BUTTONS)[event.target.value], event.target.value))
            self._reaction: Any = gui.add_dropdown('reaction', STRATEGIES,
                                                   initial_value='retract')
            self._reaction.on_update(self._choose_reaction)
            if remote.jogging:
                self._add_jogging(gui, joints)
        self._show_state()

    def _add_jogging(self, gui: viser.GuiApi, joints: Sequence[str]) -> None:
        self._joint = gui.add_dropdown('jog', tuple(joints))
        self._step = gui.add_slider('step [rad]', 0.01, 0.5, 0.01, 0.1)
        arrows = gui.add_button_group(' ', ['−', '+'])
        arrows.on_click(lambda event: self._jog(
            joints.index(self._joint.value),
            self._step.value * (1.0 if event.target.value == '+' else -1.0)))

    def show_silence(self, silent: bool) -> None:
        """Nothing is heard of the arm: of all buttons only STOP is left."""
        self._others.visible = not silent

    def show_reaction(self, strategy: str) -> None:
        """The reaction that the controller has now."""
        if strategy in STRATEGIES:
            self._reaction.value = strategy

    def _submit(self, wanted: bool) -> None:
        """Enter was pressed; what was typed before it may come a moment later."""
        self._submitted = wanted
        if wanted and self._token.value:
            self._enter()

    def _enter(self) -> None:
        self._submitted = False
        refused = self._access.enter(self._client.client_id, self._token.value, time.monotonic())
        if refused:
            self._say('Token', refused, False)
        self._token.value = ''
        self._show_state()

    def _show_state(self) -> None:
        allowed = self._access.allows(self._client.client_id)
        self._form.visible = not allowed
        self._state.content = ('**In control.** What you press, the arm does.' if allowed else
                               'Read-only. Enter the token to control the arm.')

    def _trigger(self, what: str, label: str) -> None:
        if self._may(label):
            self._remote.trigger(what, lambda ok, text: self._say(label, text, ok))

    def _choose_reaction(self, event: viser.GuiEvent) -> None:
        if event.client is not None and self._may('reaction'):   # None: `show_reaction` set it
            self._remote.set_reaction(
                self._reaction.value, lambda ok, text: self._say('reaction', text, ok))

    def _jog(self, joint: int, step: float) -> None:
        if self._may('jog'):
            self._remote.jog(joint, step, lambda ok, text: self._say('jog', text, ok))

    def _may(self, label: str) -> bool:
        if self._access.allows(self._client.client_id):
            return True
        self._say(label, 'Read-only: enter the token first.', False)
        return False

    def _say(self, title: str, text: str, good: bool) -> None:
        self._client.add_notification(title, text or ('done' if good else 'refused'),
                                      auto_close_seconds=4.0, color='green' if good else 'red')
