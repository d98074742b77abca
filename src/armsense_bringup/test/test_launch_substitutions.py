from __future__ import annotations

from pathlib import Path

import pytest

from armsense_bringup.launch.language import evaluate, expand, Mistake, Scope, split_words


@pytest.fixture
def scope() -> Scope:
    variables = {'a': '1', 'words': 'two words', 'empty': '', 'hardware': 'sim', 'odd': '$(var a)'}
    return Scope(variables, {'AMENT_PREFIX_PATH': ''})


# Expected values were seen with the launch packages of ROS 2 Jazzy.
@pytest.mark.parametrize(('text', 'expected'), [
    ('', ''),
    ('plain text', 'plain text'),
    ('$(var a)$(var words)!', '1two words!'),
    ('$(var empty)', ''),
    ('$(var odd)', '$(var a)'),
    (r'\$(var a)', '$(var a)'),
    (r'a\\b', r'a\b'),
    ('5$ and $', '5$ and $'),
    (r"$(eval '\'$(var hardware)\' == \'sim\'')", 'True'),
    (r"$(eval '\'$(var hardware)\' in [\'spi\', \'can\']')", 'False'),
    ('$(eval \'"$(var words)" != "x"\')', 'True'),
    ('$(env ARMSENSE_NOWHERE far.away)', 'far.away'),
    (r"$(eval '\'$(env ARMSENSE_NOWHERE no)\' == \'no\'')", 'True'),
])
def test_expand(text: str, expected: str, scope: Scope) -> None:
    assert expand(text, scope) == expected


@pytest.mark.parametrize(('text', 'message'), [
    ('$(nope x)', r"'\$\(nope x\)' is not understood; known: \$\(var NAME\)"),
    ('$(var)', 'not understood'),
    ('$(var  a)', 'not understood'),
    ('$(var a', 'not understood'),
    ('$(eval 1+1)', 'not understood'),
    ("$(eval '$(env HOME)')", 'not understood'),
    ('$(var unknown)', "unknown variable 'unknown'; known: a, empty, hardware"),
    ("$(eval '$(var hardware) == 1')", "unknown name 'sim'"),
    ('$(find-pkg-share nope)', "package 'nope' is not installed"),
])
def test_errors_name_the_cause(text: str, message: str, scope: Scope) -> None:
    with pytest.raises(Mistake, match=message):
        expand(text, scope)


@pytest.mark.parametrize(('text', 'expected'), [
    ('', []),
    ('one two', ['one', 'two']),
    ('--x $(var words)  y', ['--x', 'two words', 'y']),
    ('$(var a)$(var a) pre$(var a)post last', ['11', 'pre1post', 'last']),
    ('$(var empty) x', ['', 'x']),
])
def test_words_of_a_command_line(text: str, expected: list[str], scope: Scope) -> None:
    assert [expand(word, scope) for word in split_words(text)] == expected


@pytest.mark.parametrize('text', ["'$(var a)'", ' $(var a)', '"a b"', "$(eval '1 == (1)')"])
def test_words_that_are_not_understood(text: str) -> None:
    with pytest.raises(Mistake):
        split_words(text)


@pytest.mark.parametrize('text', [
    "'sim' == 'sim' and not False", "'a' in ['a', 'b'] or x", "'' or 'x'", '0 and x', '1 != 2',
    "'a' 'b' != 'ab'", "'c' not in ['a', 'b']", '1 == 1 == 1'])
def test_expression_means_what_python_means(text: str) -> None:
    assert evaluate(text) == str(eval(text))


@pytest.mark.parametrize(('text', 'message'), [
    ('sim == 1', "unknown name 'sim'; text needs quotes"),
    ("__import__('os')", 'not understood'),
    ("'a'.upper()", 'not understood'),
    ('[x for x in (1, 2)]', 'not understood'),
    ('1 is 1', 'not understood'),
    ('1 + 1', 'not understood'),
    ('1 in 1', 'not iterable'),
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
