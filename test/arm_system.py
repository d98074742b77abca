"""A whole arm as real processes over real DDS, and a client to talk to it from a test."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
from dataclasses import replace
from pathlib import Path
import time

from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

from armsense.errors import ArmsenseError
from armsense_bringup.launch.plan import load, ProcessSpec
from armsense_bringup.launch.supervisor import Supervisor
from armsense_msgs.msg import ContactTruth, ReactionState
from armsense_node.arm_client import ArmClient
from armsense_node.qos import event_qos, latched_qos

ROOT = Path(__file__).resolve().parents[1]
CLIENT = 'test_client'
PATIENCE = 180.0    # [s] wall clock: a busy machine runs lock-step at a tenth of real time
JOINTS = ['joint1', 'joint2', 'joint3', 'joint4']


class SystemClient(ArmClient):
    """Listens to everything that matters to a test."""

    def __init__(self, namespace: str = '', controller: str = 'dynamic_controller') -> None:
        super().__init__(CLIENT, namespace, PATIENCE)
        self.phases: list[str] = []
        self.contacts: list[ContactTruth] = []
        self.joint_state = None
        self.listen()
        subscribe = self.node.create_subscription
        subscribe(ReactionState, f'{controller}/reaction_state',
                  lambda m: self.phases.append(m.state), latched_qos(100))
        subscribe(ContactTruth, 'ground_truth', self.contacts.append, event_qos(10000))
        subscribe(JointState, 'joint_states', self._on_joint_state, 10)
        self._hand = self.node.create_publisher(WrenchStamped, 'simulator/push', event_qos())

    def _on_joint_state(self, message: JointState) -> None:
        self.joint_state = message

    def wait_mode(self, mode: int, timeout: float = PATIENCE) -> None:
        self.wait(lambda: bool(self.modes) and self.modes[-1].mode == mode, timeout,
                  f'mode {mode} (modes: {[m.mode for m in self.modes]})')

    def push(self, force: tuple[float, float, float], seconds: float = 0.2) -> None:
        """A hand at the origin of the last link [N], at least as long by the arm's clock."""
        push = WrenchStamped()
        push.header.frame_id = 'link4'
        f = push.wrench.force
        f.x, f.y, f.z = force
        self.wait(lambda: self._hand.get_subscription_count() > 0, what='the simulator')
        end = self.time + seconds
        while self.time < end:
            self._hand.publish(push)
            time.sleep(0.02)

    def send(self, waypoints, joints=JOINTS, **options):
        return super().send(waypoints, joints, **options)


def _own(process: ProcessSpec, parameters: dict[str, dict[str, float]]) -> dict[str, float]:
    """Those of the node that a process is, or of all that share it."""
    return {name: value for node, values in parameters.items() for name, value in values.items()
            if process.name in (node, 'arm')}


@contextlib.contextmanager
def arm_system(alone: bool = False, parameters: dict[str, dict[str, float]] | None = None,
               **arguments: str) -> Iterator[tuple[SystemClient, Supervisor]]:
    """Launch `arm.launch.xml`, a process for each node unless told otherwise; they end here.

    Args:
        alone: The end of one process does not stop the others.
        parameters: By node, which the launch file has no arguments for.
        **arguments: Of the launch file.
    """
    plan = load(ROOT / 'launch' / 'arm.launch.xml', {
        'process': 'many', 'client': CLIENT, 'lockstep': 'false', 'real_time_factor': '0',
        **arguments})
    plan = [replace(process, parameters={**process.parameters, **_own(process, parameters or {})})
            for process in plan]
    if alone:
        plan = [replace(process, shutdown_on_exit=False) for process in plan]
    with Supervisor(plan) as supervisor:
        client = SystemClient(arguments.get('namespace', ''),
                              arguments.get('controller', 'dynamic_controller'))
        try:
            yield client, supervisor
        except (AssertionError, ArmsenseError) as error:
            raise AssertionError(f'{error}\nlast words:\n{supervisor.last_words}') from error
        finally:
            client.close()
            supervisor.stop()
            supervisor.wait(20.0)
