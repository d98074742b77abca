"""From single tasks to the figures of a campaign, and whether they reach its goals."""

from collections.abc import Iterable
import math
from typing import Any

import numpy as np
import scipy.stats

from armsense.model.arm_config import ArmConfig
from armsense.sim.campaign.tasks import SCALES
from armsense.watch.collision_monitor import DetectionConfig

Record = dict[str, Any]
LEVER = 0.1            # [m] torque per force that some joint must get, else nothing can be felt
QUANTILES = np.linspace(0.0, 1.0, 41)   # of the delays, for figures
BOUND = 0.95           # one-sided confidence of bounds
# Goals: delay [ms] from the first touch of a hard impact, factor on it for springs and blades, and
# share of the links that are named right.
MEDIAN, P99, ELASTIC, LINK = 5.0, 12.0, 1.3, 0.99


def summarise(arm: str, observer: str, records: Iterable[Record]) -> dict[str, Any]:
    """Figures of one observer, in the order of the output contract."""
    records = list(records)
    touches = [r for r in records if 'truth' in r]
    free = [r for r in records if 'seconds' in r]
    felt = [(r['truth'], r['observers'][observer]) for r in touches]
    must = [(t, o) for t, o in felt if t['peak'] >= t['limit'] and t['lever'] >= LEVER]
    missed = sum(o['delay'] is None for _, o in must)
    hidden = [t for t, _ in felt if t['lever'] < LEVER]
    hours = sum(r['seconds'] for r in free) / 3600.0
    alarms = sum(r['observers'][observer]['alarms'] for r in free)
    delays = [1e3 * o['delay'] for t, o in must if o['delay'] is not None and t['hard']]
    clear = [(t, o) for t, o in felt if o['link'] is not None and o['link_observable']]
    wrong = [(t, o) for t, o in clear if o['link'] != t['link']]
    settled = [o['settled_link'] == t['link'] for t, o in clear if 'settled_link' in o]
    return {
        'arm': arm, 'collisions': len(touches), 'missed': missed,
        'unobservable': len(hidden), 'free_hours': round(hours, 4), 'false_alarms': alarms,
        'delay_ms': _delays(delays), 'min_force_n': _smallest_force(felt),
        'link_accuracy': round(1.0 - len(wrong) / len(clear), 4) if clear else None,
        'settled_link_accuracy': round(float(np.mean(settled)), 4) if settled else None,
        'force_error_n': _median(felt, 'force_error'),
        'point_error_m': _median(felt, 'point_error'),
        'must_be_felt': len(must), 'weak': len(felt) - len(must) - len(hidden),
        'hard_impacts': len(delays), 'early_alarms': sum(o['early'] for _, o in felt),
        'delay_quantiles_ms': np.quantile(delays, QUANTILES).round(3).tolist() if delays else [],
        'link_observable': len(clear), 'speed_mps': _range([t['speed'] for t, _ in felt]),
        'false_alarms_per_hour_bound': _rate_bound(alarms, hours),
        'missed_cases': [_describe(t) + _load(o) for t, o in must if o['delay'] is None],
        'wrong_link_cases': [f'{_describe(t)}: {o["link"]} named' for t, o in wrong],
        'unobservable_cases': [_describe(t) for t in hidden],
        'roc': _roc(must, free, hours, observer)}


def _delays(delays: list[float]) -> dict[str, float | None]:
    if not delays:
        return {'median': None, 'p99': None}
    return {'median': round(float(np.median(delays)), 3),
            'p99': round(float(np.quantile(delays, 0.99)), 3)}


def _smallest_force(felt: list[tuple[Record, Record]]) -> float | None:
    """Force above which everything that a joint can feel was felt [N]."""
    feelable = [(t['peak'], o['delay'] is not None) for t, o in felt if t['lever'] >= LEVER]
    unfelt = [peak for peak, found in feelable if not found]
    above = [peak for peak, found in feelable if found and peak > max(unfelt, default=0.0)]
    return round(min(above), 3) if above else None


def _range(values: list[float]) -> list[float]:
    """Least, median and largest."""
    return [round(float(x), 3) for x in np.quantile(values or [0.0], (0.0, 0.5, 1.0))]


def _load(found: Record) -> str:
    """How far a contact that was missed came."""
    return (f', {max(found["load"]):.1f} times a threshold at its peak; the residual reached '
            f'{found["height"]:.2f} of one')


def _median(felt: list[tuple[Record, Record]], name: str) -> float | None:
    values = [o[name] for _, o in felt if o.get(name) is not None]
    return round(float(np.median(values)), 4) if values else None


def _rate_bound(alarms: int, hours: float) -> float | None:
    """Upper bound of the rate of a Poisson process [1/h]."""
    if hours <= 0.0:
        return None
    return round(float(scipy.stats.chi2.ppf(BOUND, 2 * alarms + 2)) / 2.0 / hours, 4)


def _roc(must: list[tuple[Record, Record]], free: list[Record], hours: float,
         observer: str) -> list[dict[str, float]]:
    """Missed share and false alarms per hour over the height of the thresholds."""
    heights = np.array([o['height'] for _, o in must])
    counts = np.array([r['observers'][observer]['at_scale'] for r in free])
    return [{'scale': float(scale),
             'missed': float(np.mean(heights <= scale)) if len(heights) else 0.0,
             'false_alarms_per_hour': float(counts[:, k].sum() / hours) if hours else 0.0}
            for k, scale in enumerate(SCALES)]


def _describe(truth: Record) -> str:
    why = f'largest joint torque per force {truth["lever"]:.3f} m'
    return (f'{truth["body"]} on {truth["link"]}, {truth["peak"]:.1f} N at '
            f'{truth["speed"]:.2f} m/s, {why}')


def pareto_front(summaries: dict[str, dict[str, Any]]) -> set[str]:
    """Observers that no other beats in misses, false alarms and delay together."""
    def cost(s: dict[str, Any]) -> tuple[float, float, float]:
        delay = s['delay_ms']['median']
        return (s['missed'], s['false_alarms'], np.inf if delay is None else delay)

    costs = {name: cost(s) for name, s in summaries.items()}
    return {name for name, mine in costs.items()
            if not any(all(a <= b for a, b in zip(other, mine, strict=True)) and other != mine
                       for other in costs.values())}


def judge(report: dict[str, Any], arm: ArmConfig, config: DetectionConfig,
          rate: float) -> list[dict[str, Any]]:
    """One entry per goal of one observer's report: wanted, got, met, and why where it is not met.

    `rate` is the number of false alarms per hour that the thresholds are made for.
    """
    factor = 1.0 if all(joint.drive == 'rigid' for joint in arm.joints.values()) else ELASTIC
    memory = _memory(arm, config)
    delay, hours = report['delay_ms'], report['free_hours']
    return [
        _goal('missed', '<=', 0, report['missed'], '; '.join(report['missed_cases'][:3])),
        _goal('false alarms', '<=', 0, report['false_alarms'] + report['early_alarms'],
              f'thresholds are made for {rate:g} per hour, of which {rate * hours:.2g} are '
              f'expected in {hours:g} h'),
        _goal('median delay of hard impacts [ms]', '<=', factor * MEDIAN, delay['median'], memory),
        _goal('p99 delay of hard impacts [ms]', '<=', factor * P99, delay['p99'], memory),
        _goal('link right where it can be told', '>=', LINK, report['link_accuracy'],
              '; '.join(report['wrong_link_cases'][:3])),
    ]


def _memory(arm: ArmConfig, config: DetectionConfig) -> str:
    """What delays a residual."""
    gains = config.gains or (config.gain,)
    window = 1e3 * config.velocity.window / arm.rate   # [ms]
    text = (f'the residual has a memory of {1e3 / max(gains):.0f} to {1e3 / min(gains):.0f} ms, '
            f'velocities one of {window:.0f} ms; shorter ones raise noise and thresholds')
    counts = [joint.joint_encoder.counts for joint in arm.joints.values()
              if joint.joint_encoder is not None]
    if counts:
        step = 2e3 * math.pi / min(counts)   # [mrad]
        text += f' (one step of the joint encoders is {step:.1f} mrad)'
    return text


def _goal(what: str, sign: str, bound: float, got: float | None, why: str) -> dict[str, Any]:
    met = got is not None and (got <= bound if sign == '<=' else got >= bound)
    if got is None:
        why = 'nothing to judge by'
    return {'goal': what, 'wanted': f'{sign} {bound:g}', 'got': got, 'met': met,
            'why': '' if met else why}
