"""Hours of a whole arm as real nodes over DDS, with random goals, pushes and board faults.

    ./armsense bench soak_nodes [--hours 8] [--json]

Simulator, driver, controller, observer, base reaction, identification server and web monitor in
lock-step, at a tenth of laas4's rate: what counts is how often each node is called. A person is
played, too, who sends goals and starts the arm again after a fault. Afterwards: every push felt
by the joints and by the base (or explained: in that moment it said itself that a contact lasts, or
that its residual is not valid), no unsafe frame, no node died, none has grown. Ctrl-C ends it
early, with what was seen so far.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
import contextlib
from dataclasses import dataclass, field
from pathlib import Path
import tempfile
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
from rich.console import Console
from rich.progress import Progress
import yaml

from armsense.boards.emulator.faults import FAULTS
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.trajectory import Limits, point_to_point
from armsense_bringup.launch.plan import load
from armsense_bringup.launch.supervisor import Supervisor
from armsense_bringup.workspace.own_domain import keep_apart
from armsense_msgs.msg import BaseResidual, ContactTruth, DriverMode, Residual
from armsense_node.arm_client import ArmClient
from armsense_node.health import parts_of
from armsense_node.qos import event_qos, stream_qos
from bench.bench_soak import growth, resident
from bench.report import emit
from bench.slow_arm import changed, RATE, ROOT, slow_arm, soft_gains

PUSH = 12.0                # [N] sideways at the hand
PUSHED = 0.2               # [s]
BETWEEN = 4.0, 8.0         # [s] two pushes
REACH = 0.5                # [rad] of the goals about home: joint 1 feels every push
FAULTY = 60.0              # [s] mean time between two faults
FIRST = 10.0               # [s] by then the arm is enabled
FELT = 0.2                 # [s] for an event
SILENT = 0.1               # [s] without states: whatever happens then nobody can feel
AFTER = 1.0                # [s] in which a push or a fault may be noticed once more
RESTART = ('simulator/power_cycle',
           'motor_board/clear_fault', 'motor_board/clear_fault',    # and: it is at home
           'motor_board/enable')
STUCK = 120.0              # [s] wall clock in which virtual time must go on
LOOK = 60.0                # [s] between two looks at the memory
SOURCES = 'joints', 'base'
Memory = dict[str, list[tuple[float, float]]]      # of each node: [h], [MB]


@dataclass
class Diary:
    """What happened, in virtual time [s]."""

    pushes: list[float] = field(default_factory=list)
    faults: list[tuple[float, float]] = field(default_factory=list)    # begin, end
    switched: list[tuple[float, bool]] = field(default_factory=list)   # watched: on or off
    events: list[tuple[float, str]] = field(default_factory=list)      # and who noticed it
    # What each source says of itself from a time on: 'contact lasts', 'not valid'; empty: watches.
    words: dict[str, list[tuple[float, str]]] = field(default_factory=dict)

    def note(self, before: float, now: float, enabled: bool) -> None:
        """A state, and the time of the one before [s]: nobody watches motors off, or silence."""
        on = bool(self.switched) and self.switched[-1][1]
        if on and now - before > SILENT:
            self.switched.append((before, False))
            on = False
        if enabled != on:
            self.switched.append((now, enabled))

    def watched(self) -> list[float]:
        """Pushes on an arm that was on for a while before, and until they had to be felt."""
        return [push for push in self.pushes if self._on(push - AFTER, push + FELT)]

    def say(self, source: str, time: float, word: str) -> None:
        """What a source says of itself at a time [s]."""
        said = self.words.setdefault(source, [])
        if not said or said[-1][1] != word:
            said.append((time, word))

    def word(self, source: str, time: float) -> str:
        """What it said last before a time [s]."""
        return next((word for at, word in reversed(self.words.get(source, [])) if at <= time), '')

    def unfelt(self, source: str) -> list[float]:
        felt = [event for event, who in self.events if who == source]
        return [push for push in self.watched()
                if not any(push <= event <= push + FELT for event in felt)]

    def lost(self, source: str) -> list[float]:
        """Unfelt, and the source said that it watches."""
        return [push for push in self.unfelt(source) if not self.word(source, push)]

    def false_alarms(self, source: str) -> list[float]:
        causes = [*((push, push) for push in self.pushes), *self.faults]
        return [event for event, who in self.events if who == source
                and not any(begin <= event <= end + AFTER for begin, end in causes)]

    def _on(self, begin: float, end: float) -> bool:
        on = False
        for at, state in self.switched:
            if at > end:
                break
            if at > begin:                 # a change in between
                return False
            on = state
        return on


class Person(ArmClient):
    """Sends goals, brings the arm home after a fault, and keeps the diary."""

    def __init__(self, supervisor: Supervisor, hours: float, seed: int) -> None:
        self.diary = Diary()
        self.position = np.zeros(4)
        self.unsafe: dict[str, int] = {}                 # frames, by board
        self.goals = self.starts = 0
        self._touching = False
        self._moved = time.monotonic()
        self._rng = np.random.default_rng(seed)
        self._model = Arm.load('laas4')
        self._limits = Limits.of(self._model)
        self._supervisor = supervisor
        super().__init__('person', patience=3600.0 * (hours + 1.0),
                         failure=lambda: supervisor.failure)
        self.listen()
        subscribe = self.node.create_subscription
        subscribe(ContactTruth, 'ground_truth', self._on_truth, event_qos(1000))
        subscribe(DiagnosticArray, 'diagnostics', self._on_diagnostics, 100)
        subscribe(Residual, 'residual', lambda m: self._on_residual('joints', m), stream_qos())
        subscribe(BaseResidual, 'base/residual', lambda m: self._on_residual('base', m),
                  stream_qos())

    def live(self, until: float) -> None:
        """Go somewhere after somewhere until then [s], whatever happens."""
        while self.time < until:
            if self.mode is not None and self.mode.mode == DriverMode.ENABLED:
                self._go()
            else:
                self._start_again()

    def _go(self) -> None:
        goal = np.array(self._model.config.home) + self._rng.uniform(-REACH, REACH, 4)
        way = point_to_point(self.position, goal, self._limits, self._model, 0.3)
        handle = self.send([(way.duration, goal)], self._model.joint_names)
        if not handle.accepted:              # a reaction goes on
            return self._rest(0.1)
        self.goals += 1
        ending = self.ending(handle)
        self._wait(ending.done, 'the end of a motion')
        self._rest(0.2)

    def _start_again(self) -> None:
        self.starts += 1
        for name in RESTART:
            self.call(name)
            self._rest(0.1)
        begin = self.time
        self._wait(lambda: self.modes[-1].mode == DriverMode.ENABLED or self.time > begin + 5.0,
                   'enabling')

    def _rest(self, seconds: float) -> None:
        end = self.time + seconds
        self._wait(lambda: self.time >= end, 'time')

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        def come() -> bool:
            now = self.time                  # takes the states that have come
            if time.monotonic() > self._moved + STUCK:
                raise ArmsenseError(f'time stands still at {now:.2f} s, waiting for {what}; '
                                    f'{self.mode}\n{self._supervisor.last_words}')
            return condition()
        self.wait(come, what=what)

    def _take_state(self, state: Any) -> None:
        before = 1e-9 * self._newest.stamp_ns if self._newest is not None else 0.0
        super()._take_state(state)
        self.position = np.array(state.position)
        self._moved = time.monotonic()
        self.diary.note(before, 1e-9 * state.stamp_ns, state.enabled)

    def _on_residual(self, source: str, message: Any) -> None:
        word = '' if message.valid else 'not valid'
        if message.lasts_for > 0.0:
            word = 'contact lasts'
        self.diary.say(source, _seconds(message), word)

    def _on_truth(self, message: ContactTruth) -> None:
        if message.link and not self._touching:
            self.diary.pushes.append(_seconds(message))
        self._touching = bool(message.link)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for node, part in parts_of(message):
            if node == 'simulator' and 'unsafe frames' in part.values:
                self.unsafe[part.part] = int(part.values['unsafe frames'])


def _seconds(message: Any) -> float:
    return float(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec)


def scenario(hours: float, seed: int) -> list[dict[str, Any]]:
    """Pushes and faults at random times."""
    rng = np.random.default_rng([seed, 1])
    count = int(3600.0 * hours / BETWEEN[0]) + 1
    kinds = sorted(kind for kind, fault in FAULTS.items()
                   if 'spi' in fault.buses and kind != 'swapped_boards')
    pushes = [{'time': float(t), 'push': {
        'link': 'link4', 'point': [0.1, 0.0, 0.0], 'duration': PUSHED,
        'force': [0.0, PUSH * float(rng.choice((-1.0, 1.0))), 0.0]}}
        for t in FIRST + np.cumsum(rng.uniform(*BETWEEN, count))]
    faults = [{'time': float(t), 'fault': {
        'name': str(rng.choice(kinds)), 'board': int(rng.integers(2)),
        'duration': float(rng.uniform(0.01, 0.5))}}
        for t in FIRST + np.cumsum(rng.exponential(FAULTY, count))]
    return [event for event in pushes + faults if event['time'] < 3600.0 * hours]


def live(folder: Path, hours: float, seed: int) -> tuple[dict[str, Any], list[str]]:
    """One arm for so long [h of virtual time]: figures, and what should not have happened."""
    events = scenario(hours, seed)
    (folder / 'scenario.yaml').write_text(yaml.safe_dump({'events': events}))
    plan = load(ROOT / 'launch' / 'arm.launch.xml', {
        'lockstep': 'true', 'real_time_factor': '0', 'base': 'true', 'identification': 'true',
        'monitor': 'web', 'web_port': '0', 'reaction': 'stop',
        'scenario': str(folder / 'scenario.yaml')})
    arm, gains = str(slow_arm(folder)), str(soft_gains(folder))
    own = {'dynamic_controller': {'controllers': gains},
           'motor_board': {'joint_states_rate': 0.1 * RATE}}      # every tenth state, as at 1 kHz
    plan = [changed(spec, arm=arm, **own.get(spec.name, {})) for spec in plan]
    memory: Memory = {spec.name: [] for spec in plan}
    begin = time.monotonic()
    with Supervisor(plan) as supervisor:
        person = Person(supervisor, hours, seed)
        try:
            with contextlib.suppress(KeyboardInterrupt):
                _watch(person, supervisor, memory, 3600.0 * hours)
        finally:
            person.close()
    diary = person.diary
    diary.faults = [(event['time'], event['time'] + event['fault']['duration'])
                    for event in events if 'fault' in event and event['time'] < person.time]
    diary.events = [(_seconds(event), event.source) for event in person.collisions]
    lost = {source: diary.lost(source) for source in SOURCES}
    alarms = {source: diary.false_alarms(source) for source in SOURCES}
    explained = {source: [push for push in diary.unfelt(source) if diary.word(source, push)]
                 for source in SOURCES}
    notes = [f'{what} {source} at {moment:.2f} s {diary.word(source, moment)}' for what, found in (
        ('a push was lost by the', lost), ('a push was not felt and this explained by the',
                                           explained), ('a false alarm of the', alarms))
        for source, moments in found.items() for moment in moments]
    return {
        'hours': person.time / 3600.0, 'goals': person.goals, 'starts': person.starts,
        'faults': len(diary.faults),
        'pushes': len(diary.watched()),
        **{f'lost_by_{source}': len(moments) for source, moments in lost.items()},
        **{f'explained_by_{source}': len(moments) for source, moments in explained.items()},
        **{f'false_alarms_of_{source}': len(moments) for source, moments in alarms.items()},
        'unsafe_frames': sum(person.unsafe.values()), 'failed_nodes': len(supervisor.failed),
        'memory_growth_mb_per_hour': {name: growth(seen) for name, seen in memory.items()},
        'realtime_factor': person.time / (time.monotonic() - begin)}, notes


def _watch(person: Person, supervisor: Supervisor, memory: Memory, end: float) -> None:
    """Live until then [s of virtual time] and look at each node's memory."""
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task('soak', total=end)
        person.wait_enabled()
        while person.time < end:
            person.live(min(person.time + LOOK, end))
            for name, seen in memory.items():
                seen.append((person.time / 3600.0, resident(supervisor.pid(name))))
            bar.update(task, completed=person.time)


def main() -> int:
    parser = argparse.ArgumentParser(prog='armsense bench soak_nodes', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--hours', type=float, default=0.1, help='of virtual time')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--json', action='store_true', help='JSON object as the last line')
    options = parser.parse_args()
    keep_apart()
    with tempfile.TemporaryDirectory() as folder:
        result, notes = live(Path(folder), options.hours, options.seed)
    grown = result['memory_growth_mb_per_hour']
    emit(f'laas4 at {RATE:g} Hz: soak of all nodes', ('what', 'value'),
         [*((name, value) for name, value in result.items() if value is not grown),
          *((f'{name} [MB/h]', value) for name, value in grown.items())], result, options.json,
         notes)
    bad = ('lost_by_joints', 'lost_by_base', 'unsafe_frames', 'failed_nodes')
    return 1 if any(result[name] for name in bad) else 0


if __name__ == '__main__':
    raise SystemExit(main())
