"""Figure of a campaign: misses against false alarms, and how long detection takes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from armsense.sim.campaign.results import MEDIAN, P99, QUANTILES

COLOURS = ('tab:blue', 'tab:orange', 'tab:green', 'tab:purple', 'tab:brown')
DASHES = ('--', '-.', ':', (0, (5, 1)), (0, (3, 1, 1, 1)))


def draw(report: dict[str, Any], path: Path) -> Path:
    """Write a PNG: ROC and delays of every observer."""
    figure = Figure(figsize=(10, 4), layout='constrained')
    left, right = figure.subplots(1, 2)
    _roc(left, report)
    _delays(right, report)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    return path


def _styles(report: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Summary of every observer and how it is drawn; the configured one last and thick."""
    names = [*report['observers']]
    names.sort(key=lambda name: name == report['observer'])
    for number, name in enumerate(names):
        configured = name == report['observer']
        yield report['observers'][name], {
            'label': f'{name} (configured)' if configured else name,
            'color': 'tab:red' if configured else COLOURS[number],
            'lw': 2.2 if configured else 1.2, 'ls': '-' if configured else DASHES[number]}


def _roc(axes: Axes, report: dict[str, Any]) -> None:
    for summary, style in _styles(report):
        roc = summary['roc']
        axes.plot([p['false_alarms_per_hour'] for p in roc],
                  [100.0 * p['missed'] for p in roc], marker='.', ms=4, **style)
        used = min(roc, key=lambda p: abs(p['scale'] - 1.0))
        axes.plot(used['false_alarms_per_hour'], 100.0 * used['missed'], 'o', ms=8,
                  color=style['color'])
    axes.set_xscale('symlog', linthresh=0.5)
    axes.set(xlabel='false alarms per hour of free motion', ylabel='missed [%]',
             title=f'{report["arm"]}: thresholds times {roc[0]["scale"]:.2g} to '
             f'{roc[-1]["scale"]:.2g}; large dot: as calibrated')
    axes.set_ylim(-0.25, max(3.0, axes.get_ylim()[1]))
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)


def _delays(axes: Axes, report: dict[str, Any]) -> None:
    longest = 1.5 * P99
    for summary, style in _styles(report):
        if summary['delay_quantiles_ms']:
            longest = max(longest, summary['delay_ms']['p99'])
            axes.step(summary['delay_quantiles_ms'], 100.0 * QUANTILES, where='post', **style)
    for goal, share in ((MEDIAN, 50.0), (P99, 99.0)):
        axes.plot(goal, share, 'k<', ms=7)
    axes.set(xlabel='delay from the first touch [ms]', ylabel='share of hard impacts felt [%]',
             title=f'{report["hard_impacts"]} hard impacts; triangles: goals of a rigid arm')
    axes.set_xlim(0.0, 1.05 * longest)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc='lower right')
