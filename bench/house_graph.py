"""Which module of the product uses which, read from the source: nothing is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path
import re

Graph = dict[str, set[str]]   # module -> modules that it uses
# The floors of the library; a room may use those on lower floors and its neighbours.
FLOORS = (
    ('errors', 'types', 'schema', 'share', 'parallel', 'extras'),
    ('geometry', 'model'),
    ('drive', 'velocity', 'trajectory', 'task'),
    ('observer', 'detector'),
    ('watch', 'control', 'reaction'),
    ('identify', 'excite', 'base', 'boards'),
    ('recordings', 'sim'),
    ('jobs',),
    ('report',),
    ('api',),
    ('cli',),
)


class Source:
    """Every Python module below `src/`, tests left out."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = {_module_name(path): path for path in _product_files(root)}
        self.trees = {name: ast.parse(path.read_text()) for name, path in self.files.items()}

    def is_package(self, name: str) -> bool:
        return name in self.files and self.files[name].name == '__init__.py'

    def uses(self) -> Graph:
        """A name taken from a package counts for the module that defines it, not the package."""
        return {name: {target for target in self._imports(name, tree) if target != name}
                for name, tree in self.trees.items()}

    def _imports(self, module: str, tree: ast.Module) -> Iterable[str]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names if alias.name in self.files)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    target = self._defining(node.module, alias.name)
                    if target is not None:
                        yield target
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from self._started(node.value)

    def _started(self, text: str) -> Iterable[str]:
        """A module that is run or loaded by its name."""
        return [text] if text in self.files else []

    def _defining(self, package: str, name: str) -> str | None:
        """Module in which `from package import name` ends; None: not ours."""
        if f'{package}.{name}' in self.files:
            return f'{package}.{name}'
        if package not in self.files:
            return None
        if self.is_package(package):
            for node in self.trees[package].body:
                if isinstance(node, ast.ImportFrom) and node.module and any(
                        (alias.asname or alias.name) == name for alias in node.names):
                    return self._defining(node.module, name)
        return package

    def roots(self) -> set[str]:
        """Modules that a user starts: nodes, commands, and what the library offers at its root."""
        text = (self.root / 'pyproject.toml').read_text()       # the command of the wheel
        text += ''.join(path.read_text() for path in self.root.glob('src/*/setup.py'))
        text += ''.join(path.read_text() for path in self.root.glob('src/*/CMakeLists.txt'))
        found = set(re.findall(r'(armsense[\w.]*)(?::main|\b)', text)) & set(self.files)
        command_line = next(name for name in self.files if name.endswith('.command_line'))
        words = {node.value for node in ast.walk(self.trees[command_line])
                 if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        found |= words & set(self.files)
        return found | {command_line} | {name for name in self.files if name.endswith('_node')}


def reachable(graph: Graph, roots: Iterable[str]) -> set[str]:
    seen, waiting = set(), list(roots)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += graph.get(name, ())
    return seen


def rooms(graph: Graph, library: str) -> Graph:
    """The same between the rooms of the library: its top-level modules and packages."""
    found: Graph = {}
    for name, targets in graph.items():
        room = _room(name, library)
        if room:
            used = {_room(target, library) for target in targets} - {'', room}
            found.setdefault(room, set()).update(used)
    return found


def _room(module: str, library: str) -> str:
    return module.split('.')[1] if module.startswith(f'{library}.') else ''


def cycles(graph: Graph) -> list[list[str]]:
    """Groups of rooms that need each other."""
    reach = {name: reachable(graph, graph[name]) for name in graph}
    groups = {tuple(sorted(b for b in reach[a] if a in reach.get(b, ()))) for a in graph
              if a in reach[a]}
    return [list(group) for group in sorted(groups)]


def _product_files(root: Path) -> list[Path]:
    return sorted(path for path in root.glob('src/**/*.py')
                  if 'test' not in path.relative_to(root).parts and path.name != 'setup.py')


def _module_name(path: Path) -> str:
    """Dotted name; the package's folder lies one below the ROS package's."""
    parts = path.with_suffix('').parts
    parts = parts[parts.index('src') + 2:]
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)
