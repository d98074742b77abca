"""How large the product is, how it hangs together, and how far a state travels in it.

    ./armsense bench house [--json]
    ./armsense bench house --record FILE.npz     # before a move of code, and after it:
    ./armsense bench house --compare FILE.npz

Lines, files, classes and functions are counted in the source, without tests and benches. Import
cycles and upward imports are those between the rooms of the library; a module is unreachable if
no node and no command uses it. Both paths are counted by watching calls: the files in which
something runs between the bytes of a board and the command that answers them, and between a bag
and model.yaml. A record holds commands and residuals of all arms in lock-step and an identified
model; comparing says what is not the same bit for bit.
"""

from __future__ import annotations

import argparse
import ast
from pathlib import Path
import statistics
import sys
from typing import Any

import numpy as np

from bench.house_graph import cycles, FLOORS, Graph, reachable, rooms, Source
from bench.house_record import differences, runs
from bench.house_walk import bag_path, state_path
from bench.report import emit

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = 'armsense'
LONG_FUNCTION = 30   # lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--json', action='store_true')
    parser.add_argument('--record', type=Path, metavar='FILE', help='write fixed runs')
    parser.add_argument('--compare', type=Path, metavar='FILE', help='with fixed runs')
    arguments = parser.parse_args()
    if arguments.record:
        np.savez_compressed(arguments.record, **runs())
        return 0
    if arguments.compare:
        changed = differences(arguments.compare)
        print('\n'.join(changed) or 'the same, bit for bit')
        return 1 if changed else 0
    source = Source(ROOT)
    graph = source.uses()
    result = sizes(source) | structure(source, graph)
    src = ROOT / 'src'
    result |= {'state_path_files': len(state_path(src)), 'bag_path_files': len(bag_path(src))}
    emit('The house', ('what', 'here'), [(name, _short(value)) for name, value in result.items()],
         result, arguments.json)
    return 0


def sizes(source: Source) -> dict[str, Any]:
    lines = {name: len(path.read_text().splitlines()) for name, path in source.files.items()}
    nodes = [node for tree in source.trees.values() for node in ast.walk(tree)]
    lengths = [(node.end_lineno or node.lineno) - node.lineno + 1 for node in nodes
               if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    largest = max(lines, key=lambda name: lines[name])
    return {'product_lines': sum(lines.values()), 'files': len(lines),
            'classes': sum(isinstance(node, ast.ClassDef) for node in nodes),
            'median_file': statistics.median(lines.values()),
            'largest_file': lines[largest], 'largest_file_name': largest,
            'median_function': statistics.median(lengths), 'largest_function': max(lengths),
            'functions_over_30': sum(length > LONG_FUNCTION for length in lengths)}


def structure(source: Source, graph: Graph) -> dict[str, Any]:
    between = rooms(graph, LIBRARY)
    seen = reachable(graph, source.roots())
    unreachable = [name for name in sorted(source.files)
                   if name not in seen and not source.is_package(name)]
    return {'cycles': len(cycles(between)), 'rooms_in_cycles': cycles(between),
            'upward_imports': len(upward(between)), 'upward': upward(between),
            'unreachable': unreachable, 'root_names': root_names(source)}


def upward(between: Graph) -> list[str]:
    """`room -> room` where the second lies higher, or where one has no floor."""
    floor = {room: number for number, names in enumerate(FLOORS) for room in names}
    return sorted(f'{room} -> {used}' for room, targets in between.items() for used in targets
                  if room not in floor or used not in floor or floor[used] > floor[room])


def root_names(source: Source) -> int:
    """Names that `from armsense import ...` offers."""
    for node in source.trees[LIBRARY].body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == '__all__':
            return len(ast.literal_eval(node.value))
    return 0


def _short(value: Any) -> Any:
    return f'{len(value)}: {", ".join(map(str, value))}' if isinstance(value, list) else value


if __name__ == '__main__':
    sys.exit(main())
