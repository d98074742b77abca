from __future__ import annotations

from pathlib import Path

import pytest

from armsense_bringup.launch_expression import evaluate
from armsense_bringup.launch_substitutions import expand, Scope, split_words, SubstitutionError


@pytest.fixture
def scope() -> Scope:
    variables = {'a': '1', 'words': 'two words', 'empty': '', 'name': 'a', 'hardware': 'sim'}
    return Scope(variables, {'HOST': 'arm1', 'PATH': '/usr/bin:/bin'}, directory='/launch')


# Expected values were seen with the launch packages of ROS 2 Jazzy.
@pytest.mark.parametrize(('text', 'expected'), [
    ('', ''),
    ('plain text', 'plain text'),
    ('$(var a)$(var words)!', '1two words!'),
    ('$(var $(var name))', '1'),
    ('$(var none other)', 'other'),
    ("$(var none '')", ''),
    ('$(env HOST)/$(env NONE 7)', 'arm1/7'),
    ("$(env NONE 'x y')", 'x y'),
    ('$(env NONE "it\'s")', "it's"),
    ('$(dirname)/x', '/launch/x'),
    (r'\$(var a)', '$(var a)'),
    (r'a\\b', r'a\b'),
    ('5$ and $', '5$ and $'),
    (r"$(eval '\'$(var hardware)\' == \'sim\'')", 'True'),
    ('$(eval "\'$(var hardware)\' == \'spi\'")', 'False'),
    (r'$(eval 1+\(2*3\))', '7'),
    ('$(eval \'"$(var words)" != "x"\')', 'True'),
    ("$(command 'echo one  two')", 'one two\n'),
    ("$(command 'sh -c \"echo complaint >&2; echo out\"' ignore)", 'out\n'),
])
def test_expand(text: str, expected: str, scope: Scope) -> None:
    assert expand(text, scope) == expected


@pytest.mark.parametrize(('text', 'message'), [
    ('$(nope x)', r'unknown substitution \$\(nope .*known: command, dirname, env, eval'),
    ('$(var)', 'takes 1 to 2 arguments, not 0'),
    ('$(eval 1 + 1)', 'takes 1 arguments, not 3'),
    ('$(dirname x)', 'takes 0 arguments'),
    ('$(var  a)', 'separated by one space'),
    ('$(var a', r"'\)' expected"),
    ("$(env 'HOST)", 'closing .* is missing'),
    ("$(env it's)", 'backslash or quotes'),
    ('$( var a)', 'starts with its name'),
    ('$(var unknown)', "unknown variable 'unknown'; known: a, empty, hardware"),
    ('$(env NONE)', "environment variable 'NONE' is not set"),
    ('$(find-pkg-share nope)', "package 'nope' is not installed"),
    ('$(command no_such_program)', "'no_such_program' is not on PATH"),
    ("$(command 'sh -c \"exit 3\"')", 'exit code 3'),
    ("$(command 'sh -c \"echo complaint >&2\"')", 'error output: complaint'),
    ("$(command 'true' shout)", "'shout'; known: fail, ignore, warn, capture"),
])
def test_errors_name_the_cause(text: str, message: str, scope: Scope) -> None:
    with pytest.raises(SubstitutionError, match=message):
        expand(text, scope)


@pytest.mark.parametrize(('text', 'expected'), [
    ('', []),
    ('one two', ['one', 'two']),
    ("--x $(var words) 'a b' y", ['--x', 'two words', 'a b', 'y']),
    ('$(var a)$(var a) pre$(var a)post last', ['11', 'pre1post', 'last']),
    ('$(var empty) x', ['', 'x']),
    ("'' x", ['', 'x']),
])
def test_words_of_a_command_line(text: str, expected: list[str], scope: Scope) -> None:
    assert [expand(word, scope) for word in split_words(text)] == expected


@pytest.mark.parametrize('text', ["'$(var a)'", ' $(var a)'])
def test_words_that_ros2_launch_would_take_otherwise(text: str) -> None:
    with pytest.raises(SubstitutionError):
        split_words(text)


@pytest.mark.parametrize('text', [
    "'sim' == 'sim' and not False", "'a' in ['a', 'b'] or 1 / 0", '1 < 2 <= 2', "'' or 'x'",
    '0 and 1 / 0', '2 * (3 + 4) // 5 - 7 % 4', "'x' if 3 > 4 else 'y'", '-1.5 + 2', '(1, 2)',
    "'a' 'b' != 'ab'", '1 < 2 > 5'])
def test_expression_means_what_python_means(text: str) -> None:
    assert evaluate(text) == str(eval(text))


@pytest.mark.parametrize(('text', 'message'), [
    ('sim == 1', "unknown name 'sim'; text needs quotes"),
    ("__import__('os')", 'not understood'),
    ("'a'.upper()", 'not understood'),
    ('[x for x in (1, 2)]', 'not understood'),
    ('1 is 1', "'is' is not understood"),
    ('1 / 0', 'division by zero'),
    ("1 < 'a'", 'not supported between'),
    ('1 +', 'invalid syntax'),
])
def test_expression_refuses_code_and_nonsense(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evaluate(text)


def test_find_pkg_share_takes_the_first_prefix(tmp_path: Path) -> None:
    for name in ('under', 'over'):
        marker = tmp_path / name / 'share/ament_index/resource_index/packages/p'
        marker.parent.mkdir(parents=True)
        marker.touch()
    path = f'{tmp_path}/missing:{tmp_path}/over:{tmp_path}/under'
    scope = Scope({}, {'AMENT_PREFIX_PATH': path})
    assert expand('$(find-pkg-share p)', scope) == f'{tmp_path}/over/share/p'
    assert expand('$(find-pkg-prefix p)', scope) == f'{tmp_path}/over'
