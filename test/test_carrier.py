"""An arm on a swaying carrier, as real nodes in lock-step, with its inertial unit and without."""

from pathlib import Path
from typing import Any, NamedTuple

from arm_system import arm_system
from geometry_msgs.msg import WrenchStamped
import numpy as np
from rclpy.serialization import deserialize_message

from armsense.base.cell_layout import CellLayout
from armsense.jobs.replay import replay
from armsense.model import Arm
from armsense.recordings.bag_files import messages
from armsense.recordings.bag_tape import read_tape
from armsense_msgs.msg import BaseResidual, Collision, DriverMode, LoadCells, Residual
from armsense_node.qos import stream_qos

MODEL = Arm.load('laas4')
SWAY, END = 2.0, 6.0     # [m/s^2], [s] virtual
BEGIN = 2.2              # [s] virtual, of the sway


class Ride(NamedTuple):
    """What was heard of one run."""

    bag: Path
    collisions: list[Collision]
    told: list[WrenchStamped]     # to the carrier

    def stream(self, topic: str, kind: Any) -> dict[int, Any]:
        """Messages of the sway by their stamp [ns]."""
        found = {}
        for message in messages(self.bag, []):
            if message.topic == topic and BEGIN * 1e9 < message.stamp < END * 1e9:
                found[message.stamp] = deserialize_message(message.data, kind)
        return found

    def residual(self, topic: str, kind: Any, name: str) -> np.ndarray:
        """Highest of each joint or axis [Nm, N]."""
        found = [m for m in self.stream(topic, kind).values() if m.valid]
        assert len(found) > 3000
        return np.abs([getattr(m, name) for m in found]).max(axis=0)


def ridden(bag: Path, imu: str) -> Ride:
    """Let the arm hold still on the swaying carrier."""
    told: list[WrenchStamped] = []
    with arm_system(lockstep='true', record='true', bag=str(bag), base='true', seed='3',
                    sway=str(SWAY), imu=imu, reaction='ignore') as (client, supervisor):
        client.node.create_subscription(WrenchStamped, 'base/predicted_wrench', told.append,
                                        stream_qos())
        client.wait_mode(DriverMode.ENABLED)
        client.wait(lambda: client.time > END + 0.1, what='the end of the ride')
        collisions = list(client.collisions)
    assert supervisor.exit_code == 0, supervisor.last_words
    return Ride(bag, collisions, told)


def felt_by_the_cells(ride: Ride) -> dict[int, np.ndarray]:
    """Fz, Mx, My [N, Nm] by stamp."""
    layout = CellLayout.of_config(MODEL.config.load_cells)
    return {stamp: layout.wrench(np.array(m.force))
            for stamp, m in ride.stream('/load_cells', LoadCells).items()}


def test_the_inertial_unit_tells_sway_from_contact(tmp_path):
    """Thresholds of the joints are 0.22 to 0.95 Nm, those of the base 0.47 N and 0.16 Nm."""
    knowing, ignorant = (ridden(tmp_path / imu, imu) for imu in ('true', 'false'))
    assert not knowing.collisions
    assert {c.source for c in ignorant.collisions} == {'joints', 'base'}

    with_imu, without = (ride.residual('/residual', Residual, 'filtered')
                         for ride in (knowing, ignorant))
    assert with_imu.max() < 0.4
    assert without.max() > 4.0 * with_imu.max()

    with_imu, without = (ride.residual('/base/residual', BaseResidual, 'residual')[2:5]
                         for ride in (knowing, ignorant))
    assert (with_imu < (0.2, 0.08, 0.12)).all()
    assert (without > 10.0 * with_imu).all()

    # Observers only look on: the arm moved the same way.
    first, second = (read_tape(ride.bag, 4).tape for ride in (knowing, ignorant))
    count = round(END * MODEL.config.rate)
    np.testing.assert_array_equal(first.position[:count], second.position[:count])

    check_what_the_carrier_was_told(knowing)
    check_replay(knowing.bag)


def check_what_the_carrier_was_told(ride: Ride) -> None:
    """The cells feel it: what is off is noise, a few per cent of the swing."""
    cells, told, felt = felt_by_the_cells(ride), [], []
    for message in ride.told:
        stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        if stamp in cells:
            force, torque = message.wrench.force, message.wrench.torque
            told.append((force.z, torque.x, torque.y))
            felt.append(cells[stamp])
    assert len(told) > 1000
    swing = np.ptp(felt, axis=0)
    assert (swing > (5.0, 1.5, 2.5)).all()
    assert (np.std(np.subtract(told, felt), axis=0) < 0.07 * swing).all()


def check_replay(bag: Path) -> None:
    """The recorded unit is used, bit for bit; without it the replay finds false collisions."""
    run = replay(MODEL, read_tape(bag, 4))
    assert run.identical
    assert not run.events
    standing = replay(MODEL, read_tape(bag, 4, imu=None))
    assert standing.identical is False
    assert standing.events
