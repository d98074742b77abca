"""What a campaign should reach, whether it does, and if not by how much and why."""

from __future__ import annotations

import math
from typing import Any

from armsense.model.arm_config import ArmConfig
from armsense.watch.collision_monitor import DetectionConfig

MEDIAN, P99 = 5.0, 12.0     # [ms] from the first touch of a hard impact
ELASTIC = 1.3               # factor on these for springs and blades
LINK = 0.99


def judge(report: dict[str, Any], arm: ArmConfig, config: DetectionConfig,
          rate: float) -> list[dict[str, Any]]:
    """One entry per goal: what, wanted, got, met, and why where it is not met.

    Args:
        report: Figures of one observer.
        arm: The arm.
        config: Of its observer.
        rate: False alarms per hour that the thresholds are made for.
    """
    elastic = any(joint.drive != 'rigid' for joint in arm.joints.values())
    factor = ELASTIC if elastic else 1.0
    memory = _memory(arm, config)
    delay, hours = report['delay_ms'], report['free_hours']
    return [
        _most('missed', 0, report['missed'], '; '.join(report['missed_cases'][:3])),
        _most('false alarms', 0, report['false_alarms'] + report['early_alarms'],
              f'thresholds are made for {rate:g} per hour, of which {rate * hours:.2g} are '
              f'expected in {hours:g} h'),
        _most('median delay of hard impacts [ms]', factor * MEDIAN, delay['median'], memory),
        _most('p99 delay of hard impacts [ms]', factor * P99, delay['p99'], memory),
        _least('link right where it can be told', LINK, report['link_accuracy'],
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


def _most(what: str, wanted: float, got: float | None, why: str) -> dict[str, Any]:
    return _entry(what, f'<= {wanted:g}', got, got is not None and got <= wanted, why)


def _least(what: str, wanted: float, got: float | None, why: str) -> dict[str, Any]:
    return _entry(what, f'>= {wanted:g}', got, got is not None and got >= wanted, why)


def _entry(what: str, wanted: str, got: float | None, met: bool, why: str) -> dict[str, Any]:
    if got is None:
        why = 'nothing to judge by'
    return {'goal': what, 'wanted': wanted, 'got': got, 'met': met, 'why': '' if met else why}
