"""The source documents, end to end: BioRob through its boards; equations traced to code.

    python -m bench.bench_documents [--parts biorob traceability] [--periods 2] [--json]

`biorob`: thesis 000, section 4.3.2, see `bench.biorob_boards`. `stiffness_error_percent`: against
the simulated arm, by joint. `residual_before_nm`, `residual_after_nm`: peak of the residual
without contact, as a mean over 0.1 s, by joint, with the believed and the identified model.
`traceability`: numbered equations of the documents, and how many have a row in
docs/traceability.md.
"""

import argparse
from collections.abc import Callable
import sys
from typing import Any

from bench import biorob_boards
from bench.report import emit
from bench.traceability import count_rows

PARTS = ('biorob', 'traceability')


def measure(parts: list[str], periods: int, say: Callable[[str], None]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    if 'biorob' in parts:
        result['biorob'] = biorob_boards.measure(say, periods)
    if 'traceability' in parts:
        result['traceability'] = count_rows()
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--parts', nargs='+', choices=PARTS, default=PARTS)
    parser.add_argument('--periods', type=int, default=biorob_boards.PERIODS,
                        help='of the excitation of biorob')
    parser.add_argument('--json', action='store_true')
    options = parser.parse_args()
    result = measure(options.parts, options.periods,
                     lambda text: print(text, file=sys.stderr, flush=True))
    rows = [(f'{part}: {name}', str(value)) for part, values in result.items()
            for name, value in values.items()]
    emit('the source documents, end to end', ('what', 'value'), rows, result, options.json)
    return 0


if __name__ == '__main__':
    sys.exit(main())
