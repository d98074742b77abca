"""Every command ends with an exit code and at most one line of error."""

import json

import pytest

from armsense.cli.command import answer
from armsense.errors import ArmsenseError


def fail(error):
    raise error


def test_a_result_is_printed_only_where_it_is_asked_for(capsys):
    assert answer('walk', lambda: {'steps': 3}, as_json=False) == 0
    assert capsys.readouterr().out == ''
    assert answer('walk', lambda: {'steps': 3}, as_json=True) == 0
    assert json.loads(capsys.readouterr().out) == {'steps': 3}


def test_errors_and_ctrl_c_are_one_line(capsys):
    assert answer('walk', lambda: fail(ArmsenseError('no legs')), as_json=True) == 1
    assert capsys.readouterr() == ('', 'walk: no legs\n')
    assert answer('walk', lambda: fail(KeyboardInterrupt), True, 'half way') == 130
    assert capsys.readouterr() == ('', 'walk: half way\n')


@pytest.mark.parametrize(('error', 'text'), [
    (FileNotFoundError(2, 'No such file or directory', 'a/b.yaml'),
     'a/b.yaml: No such file or directory'),
    (OSError(28, 'No space left on device'), '[Errno 28] No space left on device'),
    (OSError('too long'), 'too long'),
])
def test_what_the_system_refuses_is_one_line(capsys, error, text):
    assert answer('walk', lambda: fail(error), as_json=False) == 1
    assert capsys.readouterr() == ('', f'walk: {text}\n')


def test_other_errors_are_not_hidden():
    with pytest.raises(ZeroDivisionError):
        answer('walk', lambda: {'x': 1 / 0}, as_json=True)
