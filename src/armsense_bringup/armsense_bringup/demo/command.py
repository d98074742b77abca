"""`./armsense demo`: a simulated arm on emulated boards hits, is hit, feels it, and reacts.

Real nodes, real DDS; the motors and the world are simulated. The motion is driven twice, with and
without reaction. Ends with a table, a figure and a bag under out/demo/. Exit code 0: it worked.
With --web a page in the browser shows it live, and ends in a simulated arm to push with the mouse.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
import contextlib
import json
import os
from pathlib import Path
import shutil
import sys
import time

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from armsense.cli.command import os_error
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense_bringup.demo.figure import draw, draw_film, draw_strip
from armsense_bringup.demo.report import read_run, Run, why_not_named
from armsense_bringup.demo.run import Demo, playground, run, web_monitor
from armsense_bringup.workspace.own_domain import keep_apart

RUNS = {'resume': 'with reaction', 'ignore': 'without reaction'}   # reaction: what it is called


def main() -> int:
    options = _parse()
    console = Console(stderr=True)
    root = Path(os.environ['ARMSENSE_ROOT'])
    folder = Path(options.out or root / 'out' / 'demo' / options.arm)
    try:
        keep_apart()
        with _watched(options, root, folder, console):
            worked = _run(options, root, folder, console)
            if options.web:
                _stay(options, root, console)
            return 0 if worked else 1
    except (ArmsenseError, OSError) as error:
        text = os_error(error) if isinstance(error, OSError) else str(error)
        console.print(f'[red]the demo failed:[/red] {escape(text)}', soft_wrap=True)
        return 1
    except KeyboardInterrupt:
        console.print('the demo was interrupted')
        return 130


def _run(options: argparse.Namespace, root: Path, folder: Path, console: Console) -> bool:
    """Both runs, figure and table; whether all went as it should."""
    begin = time.monotonic()
    demo = Demo.of(options.arm)
    runs = _both_runs(options, demo, root, folder, console)
    draw(*runs, demo.joints, folder / 'demo.png')
    _draw_pictures(demo, runs[0], folder, console, options.film)
    summary = _summary(*runs, time.monotonic() - begin)
    console.print(_table(*runs))
    arm = Arm.load(options.arm)
    reasons = [why_not_named(touch, arm, runs[0].threshold[0]) for touch in runs[0].touches]
    if any(reasons):
        console.print(f'{next(filter(None, reasons))}.')
    console.print(f'figure {_short(folder / "demo.png")}, pictures '
                  f'{_short(folder / "strip.png")}, bag {_short(folder / "resume" / "bag")}; '
                  f'{summary["seconds"]:.0f} s. A simulation is no safety certificate.')
    if options.json:
        print(json.dumps(summary))
    return bool(summary['detected'] and summary['resumed'] and not summary['false_alarms'])


@contextlib.contextmanager
def _watched(options: argparse.Namespace, root: Path, folder: Path,
             console: Console) -> Iterator[None]:
    """With the page, if it is wanted."""
    if not options.web:
        yield
        return
    with web_monitor(options.arm, root / 'launch' / 'arm.launch.xml', folder,
                     options.web_port) as (url, token):
        console.print(f'watch it at [bold]{url}[/bold], token {token}')
        yield


def _stay(options: argparse.Namespace, root: Path, console: Console) -> None:
    """Keep the page, with an arm to play with."""
    with contextlib.suppress(KeyboardInterrupt), playground(
            options.arm, root / 'launch' / 'arm.launch.xml') as supervisor:
        console.print('now it is yours: drag a link of the arm with the mouse, and see what it '
                      'feels; the tab Bags replays the demo; Ctrl-C ends it')
        begin = time.monotonic()
        while options.web_seconds is None or time.monotonic() < begin + options.web_seconds:
            time.sleep(0.2)
            if supervisor.failed:
                raise ArmsenseError(supervisor.failure)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='armsense demo', description=__doc__)
    parser.add_argument('--arm', default='laas4', choices=('laas4', 'biorob', 'tudor'))
    parser.add_argument('--realtime', action='store_true',
                        help='wall clock instead of lock-step, under SCHED_FIFO where allowed; '
                        'wants two idle cores')
    parser.add_argument('--out', help='folder for results (default out/demo/ARM); those of an '
                        'earlier demo in it are replaced')
    parser.add_argument('--json', action='store_true', help='one JSON object at the end')
    parser.add_argument('--film', action='store_true', help='film.gif, too: a moving picture')
    parser.add_argument('--web', action='store_true', help='with a page in the browser')
    parser.add_argument('--web-port', type=int, default=8080, help='or the next free one')
    parser.add_argument('--web-seconds', type=float, metavar='S',
                        help='how long the page stays after the runs (default: until Ctrl-C)')
    return parser.parse_args()


def _both_runs(options: argparse.Namespace, demo: Demo, root: Path, folder: Path,
               console: Console) -> tuple[Run, Run]:
    _remove_earlier(folder)
    runs = []
    for reaction, text in RUNS.items():
        with console.status(f'{options.arm}: {text} ...'):
            runs.append(read_run(*run(
                demo, reaction, root / 'launch' / 'arm.launch.xml', folder / reaction,
                lockstep=not options.realtime)))
        count = len(runs[-1].touches)
        console.print(f'{options.arm}: {text}: {len(runs[-1].time)} states, '
                      f'{count} contact{"s" * (count != 1)}')
    return runs[0], runs[1]


def _remove_earlier(folder: Path) -> None:
    """What an earlier demo left, and nothing else: the folder may hold files of the user."""
    for reaction in RUNS:
        scenario = folder / reaction / 'scenario.yaml'
        if scenario.exists():
            shutil.rmtree(folder / reaction / 'bag', ignore_errors=True)
            scenario.unlink()
    for name in ('demo.png', 'strip.png', 'film.gif'):
        (folder / name).unlink(missing_ok=True)


def _draw_pictures(demo: Demo, run_: Run, folder: Path, console: Console, film: bool) -> None:
    """Pictures need a graphics library; a demo without them is still a demo."""
    if not run_.touches:
        return
    try:
        draw_strip(demo, run_, folder / 'strip.png')
        if film:
            draw_film(demo, run_, folder / 'film.gif')
    except Exception as error:
        console.print(f'no pictures on this machine (apt install libegl1): {error}')


def _summary(with_reaction: Run, without: Run, seconds: float) -> dict[str, object]:
    touches = with_reaction.touches
    detected = len(touches) >= 2 and all(t.felt is not None for t in touches)
    delay = touches[0].delay if touches else None
    return {
        'detected': detected,
        'delay_ms': None if delay is None else round(delay * 1e3, 3),
        'peak_force_n': round(touches[0].peak, 2) if touches else None,
        'peak_force_without_reaction_n': (round(max(t.peak for t in without.touches), 2)
                                          if without.touches else None),
        'resumed': with_reaction.resumed,
        'false_alarms': with_reaction.false_alarms,
        'seconds': round(seconds, 1),
    }


def _table(with_reaction: Run, without: Run) -> Table:
    table = Table(title='contacts: true and felt', title_justify='left', box=SIMPLE_HEAD,
                  caption=f'false alarms: {with_reaction.false_alarms} with reaction, '
                  f'{without.false_alarms} without', caption_justify='left')
    for column in ('run', 'time', 'hit', 'felt at', 'after', 'peak force', 'lasted'):
        table.add_column(column, justify='left' if column == 'run' else 'right', no_wrap=True)
    for name, data in (('reaction', with_reaction), ('no reaction', without)):
        for touch in data.touches:
            delay = touch.delay
            table.add_row(
                name, f'{touch.begin:.3f} s', touch.link, touch.felt_link,
                '[red]missed[/red]' if delay is None else f'{delay * 1e3:.0f} ms',
                f'{touch.peak:.1f} N', f'{(touch.end - touch.begin) * 1e3:.0f} ms')
    return table


def _short(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


if __name__ == '__main__':
    sys.exit(main())
