"""Hours of a whole arm in lock-step with random goals, pushes and board faults.

    ./armsense bench soak [--hours 8] [--json]

Plant, emulated boards, driver, controller and observer in one process. Afterwards: no unsafe
frame, every push felt (or explained: the arm itself said in that moment that a contact lasts, or
that nobody watches), no memory lost.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
import resource
import time

import numpy as np
from rich.console import Console
from rich.progress import Progress

from armsense.boards.emulator.faults import FAULTS, Injection
from armsense.boards.mode import Mode
from armsense.control.goal import GoalRefused
from armsense.detector import lasting_text
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.sim.campaign.free_motion import Poses
from armsense.sim.closed_loop import ClosedLoop
from armsense.trajectory import Limits, point_to_point
from armsense.watch.collision_monitor import CollisionMonitor
from bench.report import emit

PUSH = 12.0          # [N] at the hand, in the direction in which its joints feel it best
FELT = 0.1           # [s] for the observer
FAULTY = 0.3         # share of the rounds that end with a fault


class Soak:
    """One arm that lives through many rounds."""

    def __init__(self, arm: str, seed: int) -> None:
        self.model = Arm.load(arm)
        self._rng = np.random.default_rng(seed)
        self._poses = Poses(self.model)
        self._limits = Limits.of(self.model)
        self._kinds = sorted(kind for kind, fault in FAULTS.items()
                             if 'spi' in fault.buses and kind != 'swapped_boards')
        self._threshold = CollisionMonitor(self.model).detector.threshold     # [Nm] at rest
        self.goals = self.pushes = self.faults = self.alarms = 0
        self.lost: list[str] = []      # collisions, in words
        self.explained: list[str] = []      # likewise: the arm had said why it might not feel them
        self.lived = 0.0               # [s] simulated, of all arms
        self._unsafe = 0               # of the arms before this one
        self._new_arm()

    @property
    def unsafe(self) -> int:
        """Frames that no board should have got."""
        return self._unsafe + self.arm.rack.rack.unsafe_frames

    def _new_arm(self) -> None:
        """After a fault the arm is started anew, as its user would."""
        self.arm = ClosedLoop(self.model, monitor=CollisionMonitor(self.model),
                              seed=int(self._rng.integers(1, 2**31)))
        self.arm.controller.reaction.choose('stop')
        self._run(0.3)

    def round(self) -> None:
        self._go()
        self._push()
        if self._rng.uniform() < FAULTY:
            self._break()

    def _run(self, seconds: float) -> int:
        """Detections in some time."""
        count = 0
        for _ in range(round(seconds / self.arm.dt)):
            self._result = result = self.arm.step().result
            count += result is not None and result.detection is not None
            self.lived += self.arm.dt
        return count

    def _go(self) -> None:
        here = self.arm.controller.reference.q
        for _ in range(20):
            try:
                motion = point_to_point(here, self._poses.near(here, self._rng), self._limits,
                                        self.model, 0.3)
                self.arm.controller.follow(motion)
                break
            except (ArmsenseError, GoalRefused):    # breaks a limit: draw again
                continue
        else:
            return
        self.goals += 1
        self.alarms += self._run(motion.duration + 0.5)

    def _push(self) -> None:
        q = self.arm.plant.state.joint_position
        felt_by = self.model.jacobian(q)[:3] / self._threshold       # (3, n)
        size = np.linalg.norm(felt_by, axis=0)
        force = PUSH * felt_by[:, size.argmax()] / size.max()
        link = self.model.link_names[-1]
        place = np.linalg.inv(self.model.frame_pose(q, link)) @ self.model.frame_pose(q)
        word = self._word()
        self.arm.plant.apply_force(link, place[:3, 3], force, 0.2)
        self.pushes += 1
        if not self._run(FELT):
            told = self.explained if word else self.lost
            told.append(f'not felt after {self.lived:.1f} s: {np.round(force, 2)} N at '
                        f'{np.round(q, 3)} rad {word}')
        self._run(1.0)
        self.arm.controller.hold()
        self._run(0.5)

    def _word(self) -> str:
        """What the arm itself says of why it might not feel a push; empty: it watches."""
        if self.arm.driver.mode != Mode.ENABLED:
            return f'the driver is {self.arm.driver.mode.name}'
        result = self._result
        if result is None or not result.valid:
            return 'the residual is not valid'
        return lasting_text(self.model.joint_names, result.lasting, result.lasts_for)

    def _break(self) -> None:
        fault = Injection(str(self._rng.choice(self._kinds)), int(self._rng.integers(2)),
                          self.arm.time, float(self._rng.uniform(0.01, 0.5)))
        self.arm.rack.rack.inject(fault)
        self._run(0.7)
        self.faults += 1
        if self.arm.driver.mode != Mode.ENABLED:
            self._unsafe = self.unsafe
            self._new_arm()


def resident(process: int | str = 'self') -> float:
    """Memory of a process [MB]."""
    pages = int(Path(f'/proc/{process}/statm').read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def growth(memory: list[tuple[float, float]]) -> float:
    """Slope [MB/h] of memory [h], [MB] after its first quarter, in which it settles."""
    if len(memory) < 3:
        return math.nan
    settled = np.array(memory[len(memory) // 4:])
    return float(np.polyfit(settled[:, 0], settled[:, 1], 1)[0])


def main() -> int:
    parser = argparse.ArgumentParser(prog='armsense bench soak', description=__doc__)
    parser.add_argument('--arm', default='laas4')
    parser.add_argument('--hours', type=float, default=0.05, help='simulated')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--json', action='store_true')
    options = parser.parse_args()
    soak = Soak(options.arm, options.seed)
    memory = []                                   # after each round: [h], [MB]
    begin = time.perf_counter()
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task('soak', total=3600.0 * options.hours)
        while soak.lived < 3600.0 * options.hours:
            soak.round()
            memory.append((soak.lived / 3600.0, resident()))
            bar.update(task, completed=soak.lived)
    result = {'hours': soak.lived / 3600.0, 'goals': soak.goals, 'pushes': soak.pushes,
              'lost_collisions': len(soak.lost),
              'explained_collisions': len(soak.explained), 'false_alarms': soak.alarms,
              'faults': soak.faults, 'unsafe_frames': soak.unsafe,
              'memory_growth_mb_per_hour': growth(memory),
              'realtime_factor': soak.lived / (time.perf_counter() - begin)}
    emit(f'{options.arm}: soak', ('what', 'value'), list(result.items()), result, options.json,
         [*soak.lost, *soak.explained])
    return 1 if result['lost_collisions'] or soak.unsafe else 0


if __name__ == '__main__':
    raise SystemExit(main())
