"""Figure of a campaign: misses against false alarms, and how long detection takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from armsense_sim.campaign.goals import MEDIAN, P99
from armsense_sim.campaign.results import QUANTILES


def draw(report: dict[str, Any], path: Path) -> Path:
    """Write a PNG: ROC and delays of every observer."""
    figure = Figure(figsize=(10, 4), layout='constrained')
    left, right = figure.subplots(1, 2)
    _roc(left, report)
    _delays(right, report)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    return path


def _roc(axes: Axes, report: dict[str, Any]) -> None:
    for name, summary in report['observers'].items():
        roc = summary['roc']
        line, = axes.plot([p['false_alarms_per_hour'] for p in roc],
                          [100.0 * p['missed'] for p in roc], '.-', lw=1, label=name)
        used = min(roc, key=lambda p: abs(p['scale'] - 1.0))
        axes.plot(used['false_alarms_per_hour'], 100.0 * used['missed'], 'o', ms=8,
                  color=line.get_color())
    axes.set(xlabel='false alarms per hour', ylabel='missed [%]', xscale='symlog',
             title=f'{report["arm"]}: thresholds times {roc[0]["scale"]:.2g} to '
             f'{roc[-1]["scale"]:.2g}; large: as calibrated')
    axes.set_ylim(-0.5, max(5.0, axes.get_ylim()[1]))
    axes.legend(fontsize=8)


def _delays(axes: Axes, report: dict[str, Any]) -> None:
    longest = 1.5 * P99
    for name, summary in report['observers'].items():
        if summary['delay_quantiles_ms']:
            longest = max(longest, summary['delay_ms']['p99'])
            axes.plot(summary['delay_quantiles_ms'], 100.0 * QUANTILES, lw=1.2, label=name)
    for goal in (MEDIAN, P99):
        axes.axvline(goal, color='k', lw=0.7, ls=':')
    axes.set(xlabel='delay from the first touch [ms]', ylabel='share of hard impacts [%]',
             title=f'{report["hard_impacts"]} hard impacts; dotted: goals of a rigid arm')
    axes.set_xlim(0.0, 1.05 * longest)
    axes.legend(fontsize=8)
