"""Random histories of a whole arm: goals, touches, payloads, faults, stops, restarts, clocks.

    ./armsense bench life [--histories 2000] [--json]
    ./armsense bench life --replay FILE.json

Plant, emulated boards, driver, controller and observer in one process, for arms on boards and on
an effort interface. What must hold in every history is written down in `bench/life/invariants.py`;
a history that breaks it is shrunk and printed as a script. Old defects are put back to see
that they are found.
"""

from __future__ import annotations

import argparse
from pathlib import Path
import tempfile

from bench.life.history import ARMS, History, live
from bench.life.planted import PLANTED
from bench.life.report import find_planted, live_all, Plan, shrink_failures
from bench.one_thread import one_thread
from bench.report import emit

FOLDER = Path(tempfile.gettempdir(), 'armsense_life')


def main() -> int:
    parser = argparse.ArgumentParser(prog='armsense bench life', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--histories', type=int, default=100)
    parser.add_argument('--rules', type=int, default=8, help='of each history')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--arm', action='append', choices=ARMS, help='default: all')
    parser.add_argument('--processes', type=int, help='default: one per core')
    parser.add_argument('--planted', type=int, default=200,
                        help='histories to look for a planted defect in; 0: plant none')
    parser.add_argument('--failures', type=Path, default=FOLDER, help='folder for shrunk ones')
    parser.add_argument('--replay', type=Path, help='a shrunk history, as it was written')
    parser.add_argument('--json', action='store_true')
    options = parser.parse_args()
    if options.replay:
        outcome = live(History.from_json(options.replay.read_text()), talk=True)
        print(outcome.violation or 'nothing is violated')
        return 1 if outcome.violation else 0
    arms = tuple(options.arm or ARMS)
    summary = live_all(Plan(options.histories, options.rules, options.seed, arms),
                       options.processes)
    notes = shrink_failures(summary, options.failures)
    found = {}
    if options.planted:
        found = {name: find_planted(name, Plan(options.planted, options.rules, options.seed))
                 for name in PLANTED}
    result = {'histories': summary.histories, 'steps': summary.cycles,
              'violations': len(summary.failures), 'arms': list(arms),
              'rules': dict(sorted(summary.rules.items())),
              'invariants': dict(sorted(summary.checks.items())),
              'planted_found': sum(hit is not None for hit in found.values())}
    rows = [('histories', summary.histories), ('cycles', summary.cycles),
            ('violations', len(summary.failures))]
    rows += [(f'  rule {name}', count) for name, count in result['rules'].items()]
    rows += [(f'  invariant {name}', count) for name, count in result['invariants'].items()]
    rows += [(f'planted: {name}', f'found in history {hit[2]}' if hit else 'NOT FOUND')
             for name, hit in found.items()]
    emit('random histories', ('what', 'value'), rows, result, options.json, notes)
    return 1 if summary.failures or len(found) > result['planted_found'] else 0


if __name__ == '__main__':
    one_thread('bench.bench_life')
    raise SystemExit(main())
