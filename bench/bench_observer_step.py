"""Cost of one observer step against the bare Pinocchio calls it needs.

    python bench/bench_observer_step.py [--arm laas4] [--json]

The bare calls are crba, computeCoriolisMatrix and computeGeneralizedGravity (rnea for the direct
residual) on one state. Each number is the best of several repetitions, measured in turn so that
a busy machine hits all alike.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
import json
import time

import numpy as np
import pinocchio as pin

from armsense.model import Arm
from armsense.observer import make_observer, ObserverOptions, OBSERVERS

PERIOD = 1e-3  # [s]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--arm', default='laas4')
    parser.add_argument('--steps', type=int, default=200, help='per repetition')
    parser.add_argument('--repeat', type=int, default=400)
    parser.add_argument('--json', action='store_true')
    arguments = parser.parse_args()
    result = measure(Arm.load(arguments.arm), arguments.steps, arguments.repeat)
    if arguments.json:
        print(json.dumps(result))
        return
    print(f'{arguments.arm}: bare calls {result["bare_us"]:.1f} us, '
          f'rnea {result["rnea_us"]:.1f} us')
    for name, ratio in result['step_ratio'].items():
        print(f'{name:24s} {result["step_us"][name]:6.1f} us  {ratio:5.2f} x')


def measure(model: Arm, steps: int, repeat: int) -> dict[str, object]:
    """Microseconds per step and ratios to the bare calls."""
    rng = np.random.default_rng(0)
    q = rng.uniform(-1.0, 1.0, (steps, model.n))
    dq = rng.uniform(-2.0, 2.0, (steps, model.n))
    tau = rng.uniform(-5.0, 5.0, (steps, model.n))
    # Stamps of a real loop jitter, so that nothing that depends on dt can be cached.
    dt = (PERIOD * rng.uniform(0.99, 1.01, steps)).tolist()
    runs: dict[str, Callable[[], None]] = {
        'bare': _bare(model, q, dq), 'rnea': _rnea(model, q, dq)}
    for name in OBSERVERS:
        runs[name] = _observer(model, name, 'trapezoid', q, dq, tau, dt)
    runs['first_order_simpson'] = _observer(model, 'first_order', 'simpson', q, dq, tau, dt)
    best = dict.fromkeys(runs, np.inf)
    for _ in range(repeat):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], (time.perf_counter() - start) / steps * 1e6)
    bare, rnea = best.pop('bare'), best.pop('rnea')
    ratio = {name: us / (rnea if name == 'direct' else bare) for name, us in best.items()}
    # The direct residual is judged against the same three calls too: one scale for all.
    ratio['direct_against_momentum_calls'] = best['direct'] / bare
    best['direct_against_momentum_calls'] = best['direct']
    return {'bare_us': bare, 'rnea_us': rnea, 'step_us': best, 'step_ratio': ratio}


def _bare(model: Arm, q: np.ndarray, dq: np.ndarray) -> Callable[[], None]:
    inner, data = model._model, model._data

    def run() -> None:
        crba, coriolis = pin.crba, pin.computeCoriolisMatrix
        gravity = pin.computeGeneralizedGravity
        for a, b in zip(q, dq, strict=True):
            crba(inner, data, a)
            coriolis(inner, data, a, b)
            gravity(inner, data, a)
    return run


def _rnea(model: Arm, q: np.ndarray, dq: np.ndarray) -> Callable[[], None]:
    inner, data = model._model, model._data

    def run() -> None:
        rnea = pin.rnea
        for a, b in zip(q, dq, strict=True):
            rnea(inner, data, a, b, b)
    return run


def _observer(
    model: Arm, name: str, quadrature: str,
    q: np.ndarray, dq: np.ndarray, tau: np.ndarray, dt: list[float],
) -> Callable[[], None]:
    observer = make_observer(name, model, options=ObserverOptions(quadrature=quadrature))

    def run() -> None:
        step = observer.step
        for a, b, c, d in zip(q, dq, tau, dt, strict=True):
            step(a, b, c, d)
    return run


if __name__ == '__main__':
    main()
