"""Every command that the documentation prints is one that exists, with options that exist.

Nothing is started: parsers read the words, names are looked up in launch files and docs/nodes.md.
"""

import argparse
from collections.abc import Iterator
import importlib
import os
from pathlib import Path
import re
import shlex
from unittest import mock
import xml.etree.ElementTree as ElementTree

import pytest

from armsense.cli.excite_group import COMMANDS as EXCITE
from armsense_bringup.command_line import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *sorted((ROOT / 'docs').glob('*.md'))]
EXAMPLES = {'N': '1', 'H': '1', 'ARM': 'laas4', 'BAG...': 'BAG', 'mean': 'direct'}   # the reader's


class Parsed(Exception):
    """The parser has nothing against the words."""


def printed(page: Path) -> Iterator[str]:
    """Commands in blocks, and those of more than a name in sentences."""
    text = page.read_text()
    for block in re.findall(r'```(?:|bash|sh|console)\n(.*?)```', text, re.DOTALL):
        yield from (line.strip() for line in block.splitlines())
    sentences = re.sub(r'```.*?```', '', text, flags=re.DOTALL)
    yield from re.findall(r'`((?:\./)?armsense \w+ [^`]+)`', sentences)


def commands(start: str) -> list[list[str]]:
    """Words of those that begin so, each once; a form with brackets is none."""
    found = {line for page in PAGES for line in printed(page)
             if line.startswith(start) and '[' not in line.split(' #')[0].split('"')[0]}
    return [[EXAMPLES.get(word, word) for word in shlex.split(line.split(' #')[0].split(' > ')[0])
             if word != '...'] for line in sorted(found)]


def parse(module: str, words: list[str]) -> None:
    """Let a command read its words and do nothing more."""
    read = argparse.ArgumentParser.parse_known_args

    def stop(parser, args=None, namespace=None):
        _, unknown = read(parser, args, namespace)
        assert not unknown
        raise Parsed

    with mock.patch.object(argparse.ArgumentParser, 'parse_known_args', stop), \
            mock.patch.dict(os.environ, ARMSENSE_ROOT=str(ROOT)), \
            mock.patch('sys.argv', ['armsense', *words]), pytest.raises(Parsed):
        importlib.import_module(module).main()


@pytest.mark.parametrize('words', commands('./armsense ') + commands('armsense '), ids=' '.join)
def test_a_printed_command_is_understood(words):
    name, *rest = words[1:]
    if name in ('help', 'shell', 'build', 'test', 'launch', 'doctor'):
        return      # they take the words of others; launch is looked at below
    module = COMMANDS[name].work
    if name == 'bench':
        module = f'bench.bench_{rest.pop(0)}'
    elif name == 'excite':
        module = EXCITE[rest.pop(0)][0]
    parse(module, rest)


def test_every_command_has_a_line_in_the_readme():
    table = (ROOT / 'README.md').read_text()
    named = set(re.findall(r'`(?:\./armsense )?(\w+)', table))
    assert set(COMMANDS) - named == set()
    assert {words[1] for words in commands('./armsense ')} <= {*COMMANDS, 'help'}


@pytest.mark.parametrize('words', commands('./armsense launch ')
                         + commands('ros2 launch armsense_bringup '), ids=' '.join)
def test_a_printed_launch_has_arguments_that_exist(words):
    file, = (word for word in words if word.endswith('.launch.xml'))
    known = {arg.get('name'): [choice.get('value') for choice in arg.findall('choice')]
             for arg in ElementTree.parse(ROOT / 'launch' / file).getroot().findall('arg')}
    for name, value in (word.split(':=') for word in words if ':=' in word):
        assert name in known
        assert not known[name] or value in known[name]


def interfaces() -> set[tuple[str, str]]:
    """Name and type of all topics, services and actions of docs/nodes.md, in the root."""
    found, node = set(), ''
    for line in (ROOT / 'docs' / 'nodes.md').read_text().splitlines():
        if line.startswith('## '):
            node = line[3:].split()[0]
        elif row := re.match(r'\| `([~/\w]+)` \| `(\w+/\w+/\w+)` \|', line):
            name, kind = row.groups()
            found.add(('/' + name.replace('~', node).lstrip('/'), kind))
    return found


@pytest.mark.parametrize('words', [
    words for start in ('ros2 service call', 'ros2 topic pub', 'ros2 action send_goal')
    for words in commands(start)], ids=' '.join)
def test_a_printed_call_goes_to_something_that_a_node_has(words):
    name = next(word for word in words if word.startswith('/'))
    assert (name, words[words.index(name) + 1]) in interfaces()
