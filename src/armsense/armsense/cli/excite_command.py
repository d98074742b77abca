"""`./armsense excite design`: an optimal, safe motion for identification, with a preview figure.

    excite design --arm laas4 --out excite.yaml --figure excite.png

Ctrl-C ends the search early and keeps the best motion found so far.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
import contextlib
import json
from pathlib import Path
import signal
import sys
import threading

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from armsense import schema
from armsense.errors import ArmsenseError
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
from armsense.jobs.files import check_target, refusals_told
from armsense.model import Arm

Handler = Callable[[argparse.Namespace], int]


def main(arguments: list[str] | None = None) -> int:
    """Run one subcommand; returns the exit code."""
    options = make_parser().parse_args(arguments)
    handler: Handler = options.handler
    try:
        return handler(options)
    except ArmsenseError as error:
        print(f'armsense: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('armsense: interrupted before a motion was found', file=sys.stderr)
        return 130


def make_parser() -> argparse.ArgumentParser:
    """Subcommands of `excite`."""
    parser = argparse.ArgumentParser(prog='armsense excite',
                                     description='Motions that excite all parameters of an arm.')
    commands = parser.add_subparsers(required=True, metavar='COMMAND')
    add_design(commands)
    return parser


def add_design(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The `design` subcommand."""
    defaults = DesignOptions()
    parser = commands.add_parser('design', help='design an optimal motion and write it to a file')
    parser.set_defaults(handler=design)
    parser.add_argument('--arm', default='laas4', help='name or yaml file of the arm')
    parser.add_argument('--model', type=Path, help='identified model.yaml to design with')
    parser.add_argument('--out', type=Path, default=Path('excite.yaml'))
    parser.add_argument('--figure', type=Path, help='preview; default: OUT with .png')
    parser.add_argument('--no-figure', action='store_true')
    parser.add_argument('--kind', choices=KINDS, default=defaults.kind)
    parser.add_argument('--criterion', choices=list(CRITERIA), default=defaults.criterion)
    parser.add_argument('--period', type=float, help='[s]; default: 10, APRBS 40')
    parser.add_argument('--harmonics', type=int, default=defaults.harmonics)
    parser.add_argument('--seed', type=int, default=defaults.seed)
    parser.add_argument('--time-limit', type=float, default=defaults.time_limit,
                        help='[s]; 0: until converged')
    parser.add_argument('--starts', type=int, default=defaults.starts)
    parser.add_argument('--use', type=float, default=0.9, help='fraction of every limit')
    parser.add_argument('--floor', type=_height, default=0.0, help='[m] above the base, or none')
    parser.add_argument('--self-distance', type=float, default=0.02, help='[m] between links')
    parser.add_argument('--base-radius', type=float,
                        help='[m] of a cylinder about axis 1 that tool and outer links avoid')
    parser.add_argument('--band-limit', type=float, help='[Hz]')
    parser.add_argument('--start', type=float, nargs='+', help='[rad] pose at both ends; '
                        'default: home')
    parser.add_argument('--json', action='store_true', help='result as JSON on standard output')


def design(options: argparse.Namespace) -> int:
    """Design, write the file and the figure, tell what came out."""
    check_target(options.out, 'excite.yaml')
    figure = None if options.no_figure else options.figure or options.out.with_suffix('.png')
    if figure is not None:
        check_target(figure, 'excite.png')
    model = Arm.load(options.arm, options.model)
    console = Console(stderr=True, highlight=False)
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
        with refusals_told(figure.absolute().parent):
            preview_figure(result.excitation, model, figure)
    _tell(result, options, console)
    return 0


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


def _tell(result: Design, options: argparse.Namespace, console: Console) -> None:
    excitation, quality = result.excitation, result.excitation.quality
    cut = ', cut short' if result.interrupted else ''
    console.print(f'{excitation.arm}: {excitation.kind} of {excitation.period:g} s in '
                  f'{excitation.seconds:.1f} s ({result.iterations} steps{cut})')
    console.print(f'{quality.criterion} {quality.value:.5g}, condition number '
                  f'{quality.condition_number:.4g} ({quality.scaled_condition_number:.3g} with '
                  f'columns of unit length), {quality.parameters} base parameters')
    console.print(f'written: {options.out}')
    if options.json:
        print(json.dumps({
            'file': str(options.out), 'criterion': quality.criterion,
            'criterion_value': quality.value, 'condition_number': quality.condition_number,
            'parameters': quality.parameters, 'seconds': excitation.seconds,
            'interrupted': result.interrupted, 'seed': excitation.seed}))


def _height(text: str) -> float | None:
    return None if text == 'none' else float(text)


if __name__ == '__main__':
    sys.exit(main())
