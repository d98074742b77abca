"""Boards, plant and driver of laas4 in one process, for tests of the driver.

The plant behind the boards is four independent inertias with viscous friction, integrated here:
enough to show that motion stops, and nothing of the code under test.
"""

from dataclasses import replace
import math

import numpy as np

from armsense.boards.arm_driver import ArmDriver, DriverSettings
from armsense.boards.command_guard import guard_limits
from armsense.boards.emulator.board import LoopbackTransport
from armsense.boards.emulator.rack import ArmRack
from armsense.boards.mode import Mode
from armsense.boards.protocol.spi import by_name
from armsense.boards.transport.link import SpiLink
from armsense.model import Arm
from armsense.types import Command

DT = 0.001


INERTIA = np.array([0.2, 0.2, 0.05, 0.05])     # [kg m^2]


FRICTION = np.array([0.3, 0.3, 0.1, 0.1])      # [Nm s/rad]


class SmallArm:
    """Boards, plant and driver of laas4, stepped together."""

    def __init__(self, faults=(), config=None, protocol=None, clock=None, **settings):
        self.model = Arm.load('laas4')
        self.config = config or self.model.config
        if protocol:
            self.config = replace(self.config, boards=replace(self.config.boards,
                                                              protocol=protocol))
        limits = guard_limits(self.model)
        if protocol == 'laas_inhouse':
            limits = replace(limits, integrates=True)
        self.rack = ArmRack(self.config, seed=3, alignment=0.05, faults=faults,
                            limits=self.model.position_limits)
        links = [SpiLink(by_name(self.config.boards.protocol), LoopbackTransport(
            self.rack.rack.port(b))) for b in range(2)]
        self.driver = ArmDriver(self.config, limits, links, DriverSettings(
            period=DT, board_timeout_ms=20, **settings), clock=clock)
        self.q = np.array(self.config.home)
        self.dq = np.zeros(4)
        self.controller = self.hold
        self.time = 0.0
        self.silent = False              # no controller
        self.stalled = False             # the host does nothing at all

    def hold(self, reading):
        n = [0.0] * 4
        return Command(list(self.config.home), n, n, [20.0] * 4, [2.0] * 4, n)

    def swing(self, reading):
        """A slow common swing: about 1 rad/s."""
        n = [0.0] * 4
        phase = 2.0 * self.time
        reference = [h + 0.4 * math.sin(phase) for h in self.config.home]
        speed = [0.8 * math.cos(phase)] * 4
        return Command(reference, speed, n, [60.0] * 4, [4.0] * 4, n)

    def step(self):
        torque = np.array(self.rack.step(DT, self.q, self.dq))
        if not self.stalled:
            reading = self.driver.cycle()
            if reading is not None and not self.silent:
                self.driver.give(self.controller(reading), self.driver.seq)
        self.dq += DT * (torque - FRICTION * self.dq) / INERTIA
        self.q += DT * self.dq
        self.time += DT

    def run(self, seconds):
        for _ in range(round(seconds / DT)):
            self.step()

    def start(self):
        self.run(0.02)
        assert self.driver.mode == Mode.DISABLED
        assert self.driver.enable().success
        self.run(0.15)
        assert self.driver.mode == Mode.ENABLED, self.driver.fault
        return self


def in_motion(faults, **options):
    """An arm that swings; the faults begin at 0.6 s."""
    arm = SmallArm([replace(f, start=0.6) for f in faults], **options).start()
    arm.controller = arm.swing
    arm.run(0.4)
    assert np.abs(arm.dq).min() > 0.2
    return arm


def power_cycle(arm):
    for board in (0, 1):
        arm.rack.rack.power_cycle(board)
    arm.run(0.02)
