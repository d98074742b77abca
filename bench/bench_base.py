"""Load cells under the base: parameter correction, detection, and fusion with the joints.

    python -m bench.bench_base [--parts tables zeego laas4 fusion] [--json]

tables: the static tests of thesis 003, tables 3.2 and 4.2.
zeego: its arm, with true parameters that differ from the guess of table 4.1 as much as the thesis
found (28 % of the moment), over cells that swing by 125 Nm.
laas4: pushes on the hand, told by the cells alone; the joints' torques are not used.
fusion: contacts on a seven-joint arm.
"""

from __future__ import annotations

import argparse
from typing import Any

from bench.base_fusion import measure_fusion
from bench.base_laas4 import draw_laas4, measure_laas4
from bench.papers.static_loads import static_tables
from bench.papers.zeego import measure_zeego
from bench.report import emit

PARTS = ('tables', 'zeego', 'laas4', 'fusion')


def rows(result: dict[str, Any]) -> list[tuple[str, Any, str]]:
    table: list[tuple[str, Any, str]] = [
        (f"table {row['table']}: {row['force']:g} N, {row['axis']} off by",
         abs(row['observed'] - row['predicted']), f"{row['published']:g}")
        for row in result.get('static_tables', ())]
    if 'zeego_error_percent' in result:
        error = result['zeego_error_percent']
        table += [('zeego: error of the guessed model [%]', error['before'], '28'),
                  ('zeego: after batch estimation [%]', error['after'], '8'),
                  ('zeego: after recursive estimation [%]', error['after_recursive'], '8'),
                  ('zeego: time shift found [s]', result['zeego_time_shift_s'], '1.54'),
                  ('zeego: smallest force found at 2 m [N]', result['zeego_min_force_n_at_2m'],
                   'not below 50'),
                  ('zeego: 50 N found at 2 m [%]', result['zeego_50n_percent'], '-')]
    if 'laas4' in result:
        part = result['laas4']
        table += [(f'laas4: {key}', value, '-') for key, value in part.items()
                  if key != 'delay_ms']
        table += [(f'laas4: delay at {force} [ms]',
                   ', '.join(f'{k} {v:g}' for k, v in (delays or {}).items()), '-')
                  for force, delays in part['delay_ms'].items()]
    for name in ('fusion',) if 'fusion' in result else ():
        part = result[name]
        table += [('fusion: success [%]', 100 * part['success'], '99.96'),
                  ('fusion: median error [mm]', 1e3 * part['median_error_m'], '-'),
                  ('fusion: rate [Hz]', part['rate_hz'], '2200 (C++)')]
        table += [('fusion, two contacts: worse error, median [mm]',
                   1e3 * part['double']['median_error_m'], '-')]
        table += [(f'fusion, {kind}: success [%]', 100 * part[kind]['success'], '-')
                  for kind in ('joint_only', 'base_only')]
        table += [(f'fusion, {kind}: median error [mm]', 1e3 * part[kind]['median_error_m'], '-')
                  for kind in ('joint_only', 'base_only')]
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--parts', nargs='+', default=list(PARTS), choices=(*PARTS, 'none'))
    parser.add_argument('--contacts', type=int, default=2000, help='of the fusion part')
    parser.add_argument('--pushes', type=int, default=20, help='per force of the laas4 part')
    parser.add_argument('--free-minutes', type=float, default=1.5, help='of the laas4 part')
    parser.add_argument('--figure', help='of the sensitivity of laas4, a picture to write')
    parser.add_argument('--json', action='store_true')
    arguments = parser.parse_args()
    result: dict[str, Any] = {}
    if 'tables' in arguments.parts:
        result['static_tables'] = [row._asdict() for row in static_tables()]
    if 'zeego' in arguments.parts:
        result |= measure_zeego()
    if arguments.figure:
        draw_laas4(arguments.figure)
    if 'laas4' in arguments.parts:
        result['laas4'] = measure_laas4(arguments.pushes, arguments.free_minutes)
    if 'fusion' in arguments.parts:
        result['fusion'] = measure_fusion(arguments.contacts)
    emit('Load cells under the base', ('figure', 'here', 'published'), rows(result), result,
         arguments.json,
         ('All simulated and seeded. Success of a contact: within 5 cm. Rate by processor time.',))


if __name__ == '__main__':
    main()
