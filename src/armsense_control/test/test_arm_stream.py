"""Time steps of controllers: the driver's monotonic clock, whatever becomes of the wall clock."""

from types import SimpleNamespace

import numpy as np
import pytest

from armsense.control.motion_controller import MotionController
from armsense.model import Arm
from armsense.reaction.options import Phase
from armsense.sim.closed_loop import ClosedLoop
from armsense_control import arm_stream
from armsense_control.arm_stream import ArmStream

LEAPS = [-3600.0, -0.005, 0.2, 86400.0]     # [s]
P = 1_000_000                               # [ns]


class Topic:
    """Stands in for a subscription or a publisher."""

    def __init__(self, *_, **__):
        pass

    def take_latest(self):
        return None

    def drain(self):
        return iter(())


@pytest.fixture
def stream(monkeypatch):
    for name in ('StreamSubscription', 'DirectSubscription', 'StreamPublisher'):
        monkeypatch.setattr(arm_stream, name, Topic)
    return ArmStream(None, Arm.load('laas4'), SimpleNamespace(lockstep=False))


def states(leap, recorded_by_an_older_version=False):
    """10 states; before the sixth the wall clock is set."""
    for k in range(1, 11):
        wall = 1_700_000_000 * 10**9 + k * P + (round(leap * 1e9) if k > 5 else 0)
        yield SimpleNamespace(
            seq=k, stamp_ns=wall, time_ns=0 if recorded_by_an_older_version else 77 * P + k * P,
            position=[0.0, 0.6, 0.0, -0.6], torque=[0.0] * 4, joint_position=[], strain=[])


@pytest.mark.parametrize('leap', LEAPS)
def test_setting_the_wall_clock_changes_no_time_step(stream, leap):
    steps = [stream.take(state).dt for state in states(leap)]
    assert steps == pytest.approx([0.001] * 10, abs=1e-12)


def test_states_of_an_older_version_are_timed_by_their_stamps(stream):
    steps = [stream.take(state).dt for state in states(0.2, True)]
    assert steps == pytest.approx([0.001] * 5 + [0.201] + [0.001] * 4, abs=1e-9)


@pytest.mark.parametrize('leap', LEAPS)
def test_an_arm_holds_while_the_wall_clock_is_set(stream, leap):
    """Time steps of the stream, wrong by a leap, would bring the controller to its safe state."""
    model = Arm.load('laas4')
    controller = MotionController(model)
    loop = ClosedLoop(model, controller=controller, seed=1, home=np.array([0.0, 0.3, 0.0, -0.3]))
    loop.run(0.2)
    driver, answer = loop.driver, controller.step
    set_at, before = driver.seq + 100, loop.plant.pose()[2, 3]

    def step(state, residual, collision, dt, lasting):
        reading = driver.reading
        wall = driver.time_ns + (round(leap * 1e9) if driver.seq > set_at else 0)
        message = SimpleNamespace(
            seq=driver.seq, time_ns=driver.time_ns, stamp_ns=1_700_000_000 * 10**9 + wall,
            position=reading.position, torque=reading.torque, joint_position=[], strain=[])
        return answer(state, residual, collision, stream.take(message).dt, lasting)
    controller.step = step
    loop.run(0.4)
    assert controller.phase is Phase.TRACKING
    assert abs(loop.plant.pose()[2, 3] - before) < 0.005     # [m]; in the safe state it sinks
