"""How long must one record for thresholds that keep their rate of false alarms?

    python -m bench.bench_calibration [--trials 40] [--shape -0.2] [--json]

Peaks of known tails are drawn, thresholds are fitted to them, and the rate that these truly give
is compared with the rate asked for: the share of recordings within a factor of two.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from armsense.detector.extreme_value import fit_tail
from bench.report import emit

JOINTS = 4
PEAKS = 100.0                       # [1/h] over the level, of each joint
HOURS = 0.5, 2.0, 6.0
RATES = 10.0, 1.0, 0.1              # [1/h] of all joints together
CONFIDENCE = 0.5                    # best estimate
FACTOR = 2.0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--trials', type=int, default=40)
    parser.add_argument('--shape', type=float, default=-0.2,
                        help='of the tails; below zero: bounded, zero: exponential')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--json', action='store_true')
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    shares = [[float(np.mean([_within(rate, hours, options.shape, rng)
                              for _ in range(options.trials)])) for rate in RATES]
              for hours in HOURS]
    rows = [(f'{hours:g} h', *(f'{100.0 * share:.0f} %' for share in row))
            for hours, row in zip(HOURS, shares, strict=True)]
    emit(f'recordings whose thresholds keep the rate within a factor of {FACTOR:g}',
         ('recording', *(f'{rate:g} per hour' for rate in RATES)), rows,
         {'hours': list(HOURS), 'requested_per_hour': list(RATES), 'share_within': shares},
         options.json)


def _within(rate: float, hours: float, shape: float, rng: np.random.Generator) -> bool:
    """Whether one recording gives thresholds that keep the rate."""
    total = 0.0
    for _ in range(JOINTS):
        chance = rng.uniform(size=max(int(rng.poisson(PEAKS * hours)), 2))
        excess = -np.log(chance) if shape == 0.0 else (chance**-shape - 1.0) / shape
        level = max(fit_tail(excess, 0.0, hours).level_for(rate / JOINTS, CONFIDENCE), 0.0)
        total += PEAKS * _exceeded(level, shape)
    return bool(rate / FACTOR <= total <= FACTOR * rate)


def _exceeded(level: float, shape: float) -> float:
    """Probability of a peak above a level."""
    if shape == 0.0:
        return math.exp(-level)
    return float(max(1.0 + shape * level, 0.0) ** (-1.0 / shape))


if __name__ == '__main__':
    main()
