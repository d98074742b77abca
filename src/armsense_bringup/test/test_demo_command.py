"""`./armsense demo` without its nodes: which files it touches."""

from pathlib import Path

import pytest
from rich.console import Console

from armsense_bringup.demo import command


class Started(Exception):
    """The first run would begin here."""


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Everything of a demo before its first node."""
    def run(*arguments, **options):
        raise Started

    monkeypatch.setattr(command, 'run', run)
    monkeypatch.setattr('sys.argv', ['demo', '--out', str(tmp_path)])

    def start():
        with pytest.raises(Started):
            command._both_runs(command._parse(), None, Path(), tmp_path,
                                    Console(stderr=True))
    return start


def test_files_of_others_in_the_folder_stay(start, tmp_path):
    for name in ('thesis/results.csv', 'resume/notes.txt', 'ignore.txt'):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('precious')
    start()
    assert {p.name for p in tmp_path.rglob('*.*')} == {'results.csv', 'notes.txt', 'ignore.txt'}


def test_an_earlier_demo_goes(start, tmp_path):
    for name in ('resume', 'ignore'):
        (tmp_path / name / 'bag').mkdir(parents=True)
        (tmp_path / name / 'bag' / 'bag_0.mcap').touch()
        (tmp_path / name / 'scenario.yaml').touch()
    for name in ('demo.png', 'strip.png'):
        (tmp_path / name).touch()
    (tmp_path / 'resume' / 'notes.txt').touch()
    start()
    assert {p.name for p in tmp_path.rglob('*')} == {'resume', 'ignore', 'notes.txt'}
