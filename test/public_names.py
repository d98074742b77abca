"""Names of other projects that our files use, and where each was found: `public_names.yaml`.

    python test/public_names.py FOLDER      # clones in FOLDER/owner/name: every name is looked up

The table has a part for each program. It says in which file of which branch of which repository a
name stands, and as which text, where that is not the name itself (the last word of the entry).
"""

from __future__ import annotations

from collections.abc import Iterator
import itertools
from pathlib import Path
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import yaml

ROOT = Path(__file__).resolve().parents[1]
XML = ('urdf ', 'sdf ', 'srdf ', 'ros2_control ')   # languages whose words stand in quotes
Table = dict[str, dict[str, dict[str, str]]]    # part, place, name: text


def table() -> Table:
    """The whole table."""
    return yaml.safe_load(Path(__file__).with_suffix('.yaml').read_text())


def known(part: str) -> list[str]:
    """Names of one part; a name twice is a mistake of the table."""
    return [name for names in table()[part].values() for name in names]


# -- Gazebo --------------------------------------------------------------------------------------

def launch_names(path: Path) -> Iterator[str]:
    """What a launch file starts of others: programs, files, their arguments and parameters."""
    root = ElementTree.parse(path).getroot()
    for node in root.iter('node'):
        package, program = node.get('pkg'), node.get('exec')
        if package.startswith('armsense'):
            continue
        yield f'program {package} {program}'
        yield from _argument_names(program, node.get('args', '').split())
        yield from (f'parameter {program} {param.get("name")}'
                    for param in node.findall('param') if param.get('name'))
    for include in root.iter('include'):
        place = re.match(r'\$\(find-pkg-share (\w+)\)/(.+)', include.get('file'))
        if place and not place[1].startswith('armsense'):
            yield f'launch {place[1]} {place[2]}'
            for argument in include.findall('arg'):
                yield f'argument {Path(place[2]).name} {argument.get("name")}'
    headless = [let.get('value') for let in root.iter('let') if let.get('name') == 'headless']
    yield from (f'option gz {word}' for word in ' '.join(
        [*headless, *(arg.get('value') for arg in root.iter('arg')
                      if arg.get('name') == 'gz_args')]).split() if word.startswith('-'))


def _argument_names(program: str, words: list[str]) -> Iterator[str]:
    own = itertools.takewhile(lambda word: word != '--ros-args', words)   # the rest is rcl's
    for before, word in itertools.pairwise(['', *own]):
        if word.startswith('-'):
            yield f'option {program} {word}'
        elif program == 'parameter_bridge':
            _, ros, gazebo = re.fullmatch(r'([\w/]+)@([\w/]+)\[([\w.]+)', word).groups()
            yield f'bridge {ros} {gazebo}'
        elif before == '-topic':
            yield f'topic {program} {word}'


def controller_names(path: Path) -> Iterator[str]:
    """Types and parameters of a file for the controller manager."""
    blocks = {key.removeprefix('/**/'): block['ros__parameters']
              for key, block in yaml.safe_load(path.read_text()).items()}
    types = {}
    for name, value in blocks.pop('controller_manager').items():
        if isinstance(value, dict):
            types[name] = value['type']
            yield f'type {value["type"]}'
            yield 'parameter controller_manager type'
        else:
            yield f'parameter controller_manager {name}'
    for controller, block in blocks.items():
        yield from (f'parameter {types[controller]} {name}' for name in _leaves(block))


def _leaves(block: dict) -> Iterator[str]:
    """Names in a block, those below a joint without it: `goal`, not `joint1`."""
    for name, value in block.items():
        if not re.fullmatch(r'joint\d', name):
            yield name
        if isinstance(value, dict):
            yield from _leaves(value)


def xml_names(element: ElementTree.Element, language: str) -> Iterator[str]:
    """Elements and attributes; below `<gazebo>` it is SDF, `<ros2_control>` has its own words."""
    tag = element.tag
    yield f'{language} <{tag}>'
    yield from (f'{language} {tag} {attribute}' for attribute in element.attrib)
    words = {'plugin': ('filename', 'name'), 'sensor': ('type',), 'ros2_control': ('type',),
             'joint': ('type',), 'command_interface': ('name',), 'state_interface': ('name',),
             'param': ('name',), 'light': ('type',)}
    yield from (f'{tag} {key} {element.get(key)}' for key in words.get(tag, ())
                if element.get(key) and not (tag == 'joint' and key == 'name'))
    if tag in ('plugin', 'frame', 'measure_direction') and element.text and element.text.strip():
        yield f'{tag} {element.text.strip()}'
    inside = {'gazebo': 'sdf', 'ros2_control': 'ros2_control'}.get(tag, language)
    for child in element:
        yield from xml_names(child, inside)


# -- RViz ----------------------------------------------------------------------------------------

def rviz_names(tree: object, owner: str = 'file') -> Iterator[str]:
    """Classes, properties with who has them, and values that are words of RViz."""
    for item in tree if isinstance(tree, list) else ():
        yield from rviz_names(item, owner)
    if not isinstance(tree, dict):
        return
    if tree.get('Class'):
        owner = tree['Class']
        yield f'class {owner}'
    for key, value in tree.items():
        yield key if key in ('Class', 'Name', 'Enabled', 'Value') else f'{owner}: {key}'
        if key.endswith('Policy') or value == '<Fixed Frame>' or key in ('Plane',
                                                                        'Description Source'):
            yield f'{key} = {value}'
        # All topics are alike, whichever display has them.
        yield from rviz_names(value, 'Topic' if key.endswith('Topic') else key)


def marker_names(text: str) -> Iterator[str]:
    """Types and actions of markers in the source of a node."""
    yield from (f'Marker {word}' for word in re.findall(r'Marker\.([A-Z_]+)', text))


# -- MoveIt --------------------------------------------------------------------------------------

def parameter_names(path: Path) -> Iterator[str]:
    """Parameters of a file for any node, without names that we give, and values from MoveIt."""
    def walk(block: dict, above: str) -> Iterator[str]:
        given = block.get('controller_names', [])
        for name, value in block.items():
            own = name in given or re.fullmatch(r'joint\d|arm|RRTConnect', name)
            here = above if own else f'{above} {name}'
            if not own:
                yield f'parameter{here}'
            if isinstance(value, dict):
                yield from walk(value, here)
            yield from (f'value {word}' for word in (value if isinstance(value, list) else [value])
                        if isinstance(word, str) and ('/' in word or '::' in word
                                                      or name == 'type'))
    yield from walk(yaml.safe_load(path.read_text())['/**']['ros__parameters'], '')


# -- lookup --------------------------------------------------------------------------------------

def missing(folder: Path) -> Iterator[str]:
    """Names whose file, in clones below a folder, does not have them."""
    for part, places in table().items():
        for place, names in places.items():
            repository, branch, path = place.split()
            found = _text(folder / repository, branch, path)
            for name, text in names.items():
                word = name.split()[-1]
                if name.startswith(XML):
                    word = '"{}"'.format(word.strip('<>'))
                if (text or word) not in found:
                    yield f'{part}: {name}: not in {place}'


def _text(clone: Path, branch: str, path: str) -> str:
    shown = subprocess.run(['git', '-C', str(clone), 'show', f'{branch}:{path}'],
                           capture_output=True, text=True)
    return shown.stdout


if __name__ == '__main__':
    lost = list(missing(Path(sys.argv[1])))
    sys.exit('\n'.join(lost) or 0)
