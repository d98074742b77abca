"""Figure of a campaign: delays, forces and the trade between misses and false alarms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure


def draw(report: dict[str, Any], path: Path) -> Path:
    """Write a PNG: ROC of every observer, and their delays."""
    figure = Figure(figsize=(10, 4), layout='constrained')
    left, right = figure.subplots(1, 2)
    for name, summary in report['observers'].items():
        roc = summary['roc']
        left.plot([p['false_alarms_per_hour'] for p in roc], [100 * p['missed'] for p in roc],
                  'o-', ms=3, lw=1, label=name)
    left.set(xlabel='false alarms per hour', ylabel='missed [%]', xscale='symlog',
             title=f'{report["arm"]}: thresholds times {roc[0]["scale"]:g} to '
             f'{roc[-1]["scale"]:g}')
    left.legend(fontsize=8)
    names = list(report['observers'])
    for key, shift, label in (('median', -0.2, 'median'), ('p99', 0.2, '99 %')):
        values = [report['observers'][name]['delay_ms'][key] or 0.0 for name in names]
        right.bar([k + shift for k in range(len(names))], values, 0.38, label=label)
    right.axhline(5.0, color='k', lw=0.7, ls=':')
    right.axhline(12.0, color='k', lw=0.7, ls=':')
    right.set_xticks(range(len(names)), names, fontsize=8)
    right.set(ylabel='delay [ms]', title='hard impacts, from the first touch')
    right.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    return path
