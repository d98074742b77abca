"""`./armsense bench NAME [--json]`: run `bench/bench_NAME.py`.

With --json the last line on standard output is one JSON object.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path
import sys

ROOT = Path(__file__).resolve().parents[1]


def benches() -> dict[str, str]:
    """Name -> first line of its docstring."""
    found = {}
    for path in sorted((ROOT / 'bench').glob('bench_*.py')):
        lines = path.read_text().split('"""')
        found[path.stem.removeprefix('bench_')] = lines[1].strip().splitlines()[0]
    return found


def main() -> int:
    known = benches()
    if len(sys.argv) < 2 or sys.argv[1] in ('-h', '--help'):
        print(__doc__)
        for name, text in known.items():
            print(f'  {name:<14} {text}')
        return 0
    name = sys.argv[1]
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f'; did you mean {near[0]!r}?' if near else ''
        print(f'armsense: unknown bench {name!r}{hint or "."} Known: {", ".join(known)}',
              file=sys.stderr)
        return 2
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, '-m', f'bench.bench_{name}', *sys.argv[2:]])


if __name__ == '__main__':
    sys.exit(main())
