"""The library is a house with floors: imports go down or to a neighbour, never up or in a circle.

What each floor is for stands in CONTRIBUTING.md.
"""

import ast
from pathlib import Path

import armsense
from bench.house_graph import FLOORS

FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
ROOT = Path(armsense.__file__).parent


def imports():
    """Pairs of a room and a module that it imports."""
    for path in ROOT.rglob('*.py'):
        room = path.relative_to(ROOT).parts[0].removesuffix('.py')
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from ((room, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f'{path}: a relative import'
                yield room, node.module


def between_rooms():
    return {(room, module.split('.')[1]) for room, module in imports()
            if module.startswith('armsense.') and room != '__init__'
            and module.split('.')[1] != room}


def test_every_room_has_a_floor():
    rooms = {path.stem for path in ROOT.iterdir() if path.suffix == '.py' or path.is_dir()}
    assert rooms - {'__init__', '__pycache__', 'py'} == set(FLOOR)


def test_imports_go_down_or_to_a_neighbour():
    assert not [pair for pair in between_rooms() if FLOOR[pair[1]] > FLOOR[pair[0]]]


def test_identify_has_floors_of_its_own():
    """Its rooms; then what stands at its top; then arms with springs, which use all of it."""
    room, floors = ROOT / 'identify', ('signals', 'friction', 'estimation', '', 'elastic')
    for path in room.rglob('*.py'):
        own = path.relative_to(room).parent.name
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module.startswith('armsense.identify.'):
                used = node.module.split('.')[2]
                used = used if used in floors else ''
                assert floors.index(used) <= floors.index(own), f'{path}: {node.module}'


def test_no_rooms_need_each_other():
    pairs = between_rooms()
    below = {room: {b for a, b in pairs if a == room} for room in FLOOR}
    for _ in FLOOR:                                # as long as the longest chain
        below = {room: seen.union(*(below[b] for b in seen)) for room, seen in below.items()}
    assert not [room for room, seen in below.items() if room in seen]


def test_the_library_knows_neither_ros_nor_a_shell():
    known = {module.split('.')[0] for _, module in imports()}
    assert not {name for name in known if name == 'rclpy' or name.startswith('armsense_')
                or name.endswith(('_msgs', '_srvs', '_interfaces'))}
