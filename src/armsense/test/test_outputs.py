"""Files that belong together: all or none."""

import os
from pathlib import Path

import pytest

from armsense.errors import ArmsenseError
from armsense.jobs.files import check_target, report_name, together


def test_all_appear_at_the_end(tmp_path):
    with together(tmp_path) as stage:
        (stage / 'a').write_text('1')
        (stage / 'b').write_text('2')
        assert not (tmp_path / 'a').exists()
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {'a': '1', 'b': '2'}


def test_none_appears_after_an_error(tmp_path):
    (tmp_path / 'a').write_text('old')

    def fail():
        with together(tmp_path) as stage:
            (stage / 'a').write_text('new')
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {'a': 'old'}


def test_old_files_come_back_when_a_move_fails(tmp_path, monkeypatch):
    for name in 'ab':
        (tmp_path / name).write_text('old')
    real = os.replace

    def full(source, target):
        if Path(target) == tmp_path / 'b' and '.old' not in str(source):
            raise OSError(28, 'No space left on device')
        real(source, target)

    def write():
        with together(tmp_path) as stage:
            for name in 'ab':
                (stage / name).write_text('new')
            monkeypatch.setattr(os, 'replace', full)

    with pytest.raises(ArmsenseError, match='No space left'):
        write()
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {'a': 'old', 'b': 'old'}


def test_what_the_system_refuses_is_told(tmp_path):
    (tmp_path / 'a').write_text('old')

    def fill_the_disk():
        with together(tmp_path) as stage:
            (stage / 'a').write_text('new')
            raise OSError(28, 'No space left on device')

    def write_where_nobody_can():
        with together(Path('/proc')):
            pass

    with pytest.raises(ArmsenseError, match=f'cannot write into {tmp_path}: No space left'):
        fill_the_disk()
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {'a': 'old'}
    with pytest.raises(ArmsenseError, match='cannot write into /proc: '):
        write_where_nobody_can()
    with pytest.raises(ArmsenseError, match='cannot write into /proc: '):
        check_target(Path('/proc/model.yaml'), 'model.yaml')
    check_target(tmp_path / 'b', 'model.yaml')
    assert [p.name for p in tmp_path.iterdir()] == ['a']


def test_a_folder_is_never_replaced_by_a_file(tmp_path):
    (tmp_path / 'b').mkdir()
    (tmp_path / 'b' / 'run.mcap').write_text('precious')

    def write():
        with together(tmp_path) as stage:
            for name in 'ab':
                (stage / name).write_text('new')

    with pytest.raises(ArmsenseError, match='b is a folder; name a file'):
        write()
    assert (tmp_path / 'b' / 'run.mcap').read_text() == 'precious'
    assert [path.name for path in tmp_path.iterdir()] == ['b']
    with pytest.raises(ArmsenseError, match='such as .*b/model.yaml'):
        check_target(tmp_path / 'b', 'model.yaml')
    check_target(tmp_path / 'a', 'model.yaml')


@pytest.mark.parametrize(('model', 'report'), [
    ('model.yaml', 'report.html'), ('laas4_model.yaml', 'laas4_report.html'),
    ('arm7.yaml', 'arm7_report.html'), ('pmodel.yaml', 'pmodel_report.html')])
def test_names(tmp_path, model, report):
    assert report_name(tmp_path / model, '.html') == report
