"""Figures of a report as SVG text, small enough to stand in the page itself."""

from collections.abc import Sequence
import io
from typing import Any

from markupsafe import Markup
import matplotlib
from matplotlib.figure import Figure
import numpy as np

from armsense.excite.preview import COLORS
from armsense.identify.model import IdentifiedModel
from armsense.report.evidence import Evidence, friction_curve
from armsense.types import Array

INK, GREY, BLUE, RED = '#1c2733', '#9aa5b1', '#0072b2', '#d55e00'
TOLD = {'alone': BLUE, 'combined': '#74b4dc'}   # by what is known of a parameter
POINTS = 900            # per curve
LAGS = 60               # of the correlation figure
STYLE: Any = {'svg.fonttype': 'none', 'font.size': 9, 'axes.spines.top': False,
              'axes.spines.right': False, 'axes.edgecolor': '#66727f', 'axes.labelcolor': INK,
              'xtick.color': '#66727f', 'ytick.color': '#66727f', 'axes.grid': True,
              'grid.alpha': 0.25, 'axes.axisbelow': True, 'legend.frameon': False}


def torque_figure(model: IdentifiedModel, evidence: Evidence, joint: int) -> Markup:
    """Measured and predicted torque of a joint, the error below on the same scale."""
    prediction = evidence.shown
    t = prediction.band_times(model.cutoff) - prediction.t[0]
    measured, predicted = (part[:, joint] for part in prediction.band(model.cutoff))
    step = max(1, len(t) // POINTS)
    t, measured, predicted = t[::step], measured[::step], predicted[::step]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 3.1), layout='constrained')
        upper, lower = figure.subplots(2, sharex=True, height_ratios=(3, 1.2))
        upper.plot(t, measured, color=INK, lw=1.3, label='measured')
        upper.plot(t, predicted, color=BLUE, lw=1.0, label='predicted')
        upper.set_ylabel('torque [Nm]')
        upper.legend(loc='lower right', ncols=2, bbox_to_anchor=(1.0, 0.98), borderpad=0)
        lower.plot(t, measured - predicted, color=RED, lw=0.9)
        lower.axhline(0.0, color=GREY, lw=0.7)
        lower.set_ylabel('error [Nm]')
        lower.set_xlabel('time [s]')
        upper.set_xlim(t[0], t[-1])
        return _svg(figure, f'torque{joint}')


def forest_figure(rows: Sequence[dict[str, Any]], unit: str, name: str,
                  width: float = 5.4) -> Markup:
    """Estimates with 95 % intervals, the CAD value as an open circle, kept ones in grey."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, 0.75 + 0.19 * len(rows)), layout='constrained')
        axes = figure.subplots()
        for place, row in enumerate(rows):
            color = TOLD.get(row.get('state', 'alone'), GREY)
            axes.plot([row['low'], row['high']], [place, place], color=color, lw=2.2, alpha=0.55,
                      solid_capstyle='butt')
            if color != GREY:
                axes.plot(row['value'], place, 'o', color=color, ms=4)
            if 'nominal' in row:
                axes.plot(row['nominal'], place, 'o', mfc='none', mec=INK, ms=6, mew=0.9)
        axes.set_yticks(range(len(rows)), [_label(row) for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        _limit(axes, rows)
        axes.grid(axis='y', visible=False)
        axes.set_xlabel(f'[{unit}]')
        return _svg(figure, name)


def _label(row: dict[str, Any]) -> str:
    return str(row.get('name') or row['axis'])


def _limit(axes: Any, rows: Sequence[dict[str, Any]]) -> None:
    """Wide intervals of parameters that nobody measured must not squeeze the others."""
    told = [row for row in rows if row.get('state', 'alone') in TOLD] or list(rows)
    ends = [row[key] for row in told for key in ('low', 'high')]
    ends += [row.get('nominal', row['value']) for row in rows]
    low, high = min(ends), max(ends)
    margin = 0.06 * max(high - low, 1e-9)
    axes.set_xlim(low - margin, high + margin)


def friction_figure(model: IdentifiedModel, evidence: Evidence, joint: int) -> Markup:
    """Friction over velocity: what the torques hold beside the rigid body, and the curve."""
    speed, torque = evidence.motion.dq[:, joint], evidence.friction[:, joint]
    step = max(1, len(speed) // 700)
    top = float(np.abs(speed).max())
    half = np.geomspace(1e-3 * top, top, 120)
    grid = np.concatenate([-half[::-1], half])
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(3.1, 2.3), layout='constrained')
        axes = figure.subplots()
        axes.scatter(speed[::step], torque[::step], s=3, color=GREY, alpha=0.45, linewidths=0,
                     rasterized=True)
        curve = friction_curve(model, joint, grid)
        axes.plot(grid, curve, color=BLUE, lw=1.8)
        reach = max(1.5 * float(np.abs(curve).max()), float(np.quantile(np.abs(torque), 0.98)))
        axes.set_ylim(-1.1 * reach, 1.1 * reach)
        axes.set_xlabel('velocity [rad/s]')
        axes.set_ylabel('friction [Nm]')
        return _svg(figure, f'friction{joint}')


def trajectory_figure(model: IdentifiedModel, evidence: Evidence) -> Markup:
    """Positions and velocities of the training motion."""
    moving = evidence.motion
    step = max(1, len(moving.t) // POINTS)
    t = moving.t[::step] - moving.t[0]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.8), layout='constrained')
        upper, lower = figure.subplots(2, sharex=True)
        for axes, values, label in ((upper, moving.q, 'position [rad]'),
                                    (lower, moving.dq, 'velocity [rad/s]')):
            for k, name in enumerate(model.model.joint_names):
                axes.plot(t, values[::step, k], color=COLORS[k % len(COLORS)], lw=1.1, label=name)
            axes.set_ylabel(label)
        upper.set_xlim(t[0], t[-1])
        upper.legend(loc='lower right', ncols=model.model.n, bbox_to_anchor=(1.0, 0.98),
                     borderpad=0, handlelength=1.2, columnspacing=1.2)
        lower.set_xlabel('time [s]')
        return _svg(figure, 'trajectory')


def singular_figure(evidence: Evidence) -> Markup:
    """Singular values of the base regressor."""
    values = evidence.base.singular_values / evidence.base.singular_values[0]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(3.6, 2.6), layout='constrained')
        axes = figure.subplots()
        axes.semilogy(np.arange(1, len(values) + 1), values, 'o-', color=BLUE, ms=3.5, lw=0.8)
        axes.set_xlabel('number')
        axes.set_ylabel('singular value / largest')
        return _svg(figure, 'singular')


def whiteness_figure(model: IdentifiedModel, evidence: Evidence) -> Markup:
    """Correlation of the errors with themselves, joint by joint."""
    step = max(1, int(evidence.rate / (5.0 * model.cutoff)))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.0), layout='constrained')
        axes = figure.subplots()
        for k, name in enumerate(model.model.joint_names):
            correlation = _correlation(evidence.residual[::step, k])
            lag = np.arange(len(correlation)) * step
            axes.plot(1e3 * lag / evidence.rate, correlation, color=COLORS[k % len(COLORS)],
                      lw=1.2, label=name)
        band = 1.96 / np.sqrt(len(evidence.residual[::step]))
        axes.axhspan(-band, band, color=GREY, alpha=0.3, lw=0)
        axes.set_xlim(0.0, 1e3 * LAGS * step / evidence.rate)
        axes.set_xlabel('lag [ms]')
        axes.set_ylabel('correlation')
        axes.legend(fontsize=8)
        return _svg(figure, 'whiteness')


def _correlation(error: Array) -> Array:
    """With itself, up to LAGS samples later or as many as there are."""
    x = error - error.mean()
    power = max(float(x @ x), 1e-300)
    lags = range(min(LAGS + 1, len(x)))
    return np.array([x[lag:] @ x[:len(x) - lag] for lag in lags]) / power


def _svg(figure: Figure, name: str) -> Markup:
    """The SVG element alone; `name` keeps the identifiers of several figures apart."""
    out = io.StringIO()
    with matplotlib.rc_context({'svg.hashsalt': name, 'svg.fonttype': 'none'}):
        figure.savefig(out, format='svg', dpi=120, metadata={'Date': None, 'Creator': None})
    text = out.getvalue()
    text = text[text.index('<svg'):]
    # One page holds many figures: their groups must not share identifiers.
    return Markup(text.replace('id="', f'id="{name}-').replace(
        'href="#', f'href="#{name}-').replace('url(#', f'url(#{name}-'))
