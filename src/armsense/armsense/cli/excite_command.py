"""`./armsense excite design`: an optimal, safe motion for identification, with a preview figure.

    excite design --arm laas4 --out excite.yaml --figure excite.png

Ctrl-C ends the search early and keeps the best motion found so far.
"""

import argparse
from collections.abc import Callable, Iterator
import contextlib
from pathlib import Path
import signal
import sys
import threading
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from armsense import schema
from armsense.cli.command import answer
from armsense.excite import (
    BaseCylinder,
    Constraints,
    CRITERIA,
    Design,
    design_excitation,
    DesignOptions,
    KINDS,
    SearchStep,
)
from armsense.excite.preview import preview_figure
from armsense.jobs.files import check_target, explain_write_errors
from armsense.model import Arm


def main(arguments: list[str] | None = None) -> int:
    """Design, write the file and the figure, tell what came out."""
    options = parser().parse_args(arguments)
    return answer('armsense', lambda: design(options, Console(stderr=True, highlight=False)),
                  options.json, 'interrupted before a motion was found')


def parser() -> argparse.ArgumentParser:
    defaults = DesignOptions()
    out = argparse.ArgumentParser(prog='armsense excite design', description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    out.add_argument('--arm', default='laas4', help='name or yaml file of the arm')
    out.add_argument('--model', type=Path, help='identified model.yaml to design with')
    out.add_argument('--out', type=Path, default=Path('excite.yaml'))
    out.add_argument('--figure', type=Path, help='preview; default: OUT with .png')
    out.add_argument('--no-figure', action='store_true')
    out.add_argument('--kind', choices=KINDS, default=defaults.kind)
    out.add_argument('--criterion', choices=list(CRITERIA), default=defaults.criterion)
    out.add_argument('--period', type=float, help='[s]; default: 10, APRBS 40')
    out.add_argument('--harmonics', type=int, default=defaults.harmonics)
    out.add_argument('--seed', type=int, default=defaults.seed)
    out.add_argument('--time-limit', type=float, default=defaults.time_limit,
                     help='[s]; 0: until converged')
    out.add_argument('--starts', type=int, default=defaults.starts)
    out.add_argument('--use', type=float, default=0.9, help='fraction of every limit')
    out.add_argument('--floor', type=_height, default=0.0, help='[m] above the base, or none')
    out.add_argument('--self-distance', type=float, default=0.02, help='[m] between links')
    out.add_argument('--base-radius', type=float,
                     help='[m] of a cylinder about axis 1 that tool and outer links avoid')
    out.add_argument('--band-limit', type=float, help='[Hz]')
    out.add_argument('--start', type=float, nargs='+', help='[rad] pose at both ends; '
                     'default: home')
    out.add_argument('--json', action='store_true', help='result as JSON on standard output')
    return out


def design(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    check_target(options.out, 'excite.yaml')
    figure = None if options.no_figure else options.figure or options.out.with_suffix('.png')
    if figure is not None:
        check_target(figure, 'excite.png')
    model = Arm.load(options.arm, options.model)
    with Bar(TextColumn('designing'), BarColumn(), TextColumn('{task.description}'),
             TimeElapsedColumn(), console=console) as bar:
        task = bar.add_task('', total=1.0)

        def show(progress: SearchStep) -> None:
            bar.update(task, completed=progress.fraction,
                       description=f'start {progress.start + 1}, objective '
                       f'{progress.objective:.4g}')

        start = None if options.start is None else np.array(options.start)
        with _control_c() as cancelled:
            result = design_excitation(
                model, _design_options(options), _constraints(options, model), start=start,
                progress=show, cancelled=cancelled)
        bar.update(task, completed=1.0)
    result.excitation.write(options.out)
    if figure is not None:
        with explain_write_errors(figure.absolute().parent):
            preview_figure(result.excitation, model, figure)
    return _tell(result, options.out, console)


@contextlib.contextmanager
def _control_c() -> Iterator[Callable[[], bool]]:
    """Ctrl-C as a question: an exception inside a solver's callback could get lost."""
    pressed = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: pressed.set())
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)


def _design_options(options: argparse.Namespace) -> DesignOptions:
    values = {name: getattr(options, name)
              for name in ('kind', 'criterion', 'period', 'harmonics', 'seed', 'time_limit',
                           'starts')}
    return schema.load(DesignOptions, values, 'options')   # checks the ranges


def _constraints(options: argparse.Namespace, model: Arm) -> Constraints:
    radius = options.base_radius
    return Constraints.of(model, options.use, floor=options.floor,
                          self_distance=options.self_distance, band_limit=options.band_limit,
                          base_cylinder=None if radius is None else BaseCylinder(radius))


def _tell(result: Design, out: Path, console: Console) -> dict[str, Any]:
    excitation, quality = result.excitation, result.excitation.quality
    cut = ', cut short' if result.interrupted else ''
    console.print(f'{excitation.arm}: {excitation.kind} of {excitation.period:g} s in '
                  f'{excitation.seconds:.1f} s ({result.iterations} steps{cut})')
    console.print(f'{quality.criterion} {quality.value:.5g}, condition number '
                  f'{quality.condition_number:.4g} ({quality.scaled_condition_number:.3g} with '
                  f'columns of unit length), {quality.parameters} base parameters')
    console.print(f'written: {out}')
    return {'file': str(out), 'criterion': quality.criterion, 'criterion_value': quality.value,
            'condition_number': quality.condition_number, 'parameters': quality.parameters,
            'seconds': excitation.seconds, 'interrupted': result.interrupted,
            'seed': excitation.seed}


def _height(text: str) -> float | None:
    return None if text == 'none' else float(text)


if __name__ == '__main__':
    sys.exit(main())
