"""Random histories of every arm: nothing is violated, and old defects would be found."""

import json
import subprocess
import sys

import pytest

from armsense.boards.mode import Mode
from bench.life.history import ARMS, History, live, Step
from bench.life.invariants import all_invariants
from bench.life.planted import PLANTED
from bench.life.report import find_planted, live_all, Plan
from bench.life.rules import RULES
from bench.life.shrink import script, Shrinker
from bench.life.world import World

pytestmark = pytest.mark.timeout(1500)    # many lives; nothing here depends on how long they take
RULES_EACH = 5
# The quickest to step.
PLANTED_ARMS = ('laas4', 'laas4/effort')


@pytest.mark.parametrize('seed', [1, 21])
@pytest.mark.parametrize('arm', ARMS)
def test_twenty_histories_break_nothing(arm, seed):
    summary = live_all(Plan(20, RULES_EACH, seed, (arm,)), processes=1)
    assert not [(history, outcome.violation) for history, outcome in summary.failures]
    assert summary.checks['felt'] > 5
    assert summary.checks['never_stuck'] == 3 * 20


@pytest.mark.parametrize('defect', PLANTED)
def test_planted_defects_are_found_shrunk_and_replayed(defect):
    found = find_planted(defect, Plan(200, RULES_EACH, arms=PLANTED_ARMS))
    assert found is not None
    history, outcome, _ = found
    patch, invariants = PLANTED[defect]
    with patch():
        shrinker = Shrinker(history, outcome, attempts=25)
        shortest = shrinker.run()
        again = live(History.from_json(shortest.to_json()))
    assert len(shortest.steps) <= 4
    assert again.violation == shrinker.outcome.violation
    assert again.violation[0] in invariants
    assert live(shortest).violation is None        # without the defect
    text = script(shortest, shrinker.outcome)
    assert all(repr(step.rule) in text for step in shortest.steps)
    compile(text, 'script', 'exec')


def test_histories_are_data_and_run_alike_twice():
    history = History.draw('laas4', 7, 4)
    assert History.from_json(history.to_json()) == history == History.draw('laas4', 7, 4)
    first, second = live(history), live(history)
    assert (first.cycles, first.checks) == (second.cycles, second.checks)


def test_every_rule_is_drawn_sooner_or_later():
    drawn = {step.rule for seed in range(2000)
             for step in History.draw('biorob', seed, RULES_EACH).steps}
    assert drawn == set(RULES)


def test_every_rule_says_what_it_means_and_every_invariant_why():
    assert all(invariant.name and invariant.bound and invariant.reason and invariant.__doc__
               for invariant in all_invariants())
    names = [invariant.name for invariant in all_invariants()]
    assert len(set(names)) == len(names)


def test_joint_states_of_an_effort_arm_come_together_after_a_pause():
    world = World('laas4/effort', 1)
    world.burst(0.01, 5, 1.0)
    before, silent = world.driver.seq, 0
    for _ in range(100):
        world.step()
        silent += world.reading is None
    assert silent == 91                  # the last of five comes 80 us later: pauses of 11 ms
    assert world.driver.seq == before + 9 * 5
    assert world.mode is Mode.ENABLED


def test_an_exception_of_the_product_is_a_violation():
    outcome = live(History('laas4', 1, [Step('law', {'number': 'none'}, 0.0)]))
    assert outcome.violation[0] == 'no_exception'


def test_json_of_the_bench(tmp_path):
    run = subprocess.run(
        [sys.executable, '-m', 'bench.bench_life', '--histories', '2', '--rules', '2',
         '--arm', 'laas4', '--processes', '1', '--planted', '0', '--failures', str(tmp_path),
         '--json'], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout.splitlines()[-1])
    assert result['histories'] == 2
    assert result['violations'] == 0
    assert result['arms'] == ['laas4']
    assert sum(result['rules'].values()) >= 4
    assert result['invariants']['never_stuck'] == 6
    assert result['planted_found'] == 0
