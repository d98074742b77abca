from __future__ import annotations

from typing import Any

import pytest

from armsense_bringup.launch.language import parameter_value, Scope

SCOPE = Scope(
    {'one': '1', 'half': '0.5', 'yes': 'true', 'words': 'two words', 'empty': '',
     'list': '[1, 2]', 'urdf': '<a b="c: d"/>'}, {})


# Expected values were seen with the launch packages of ROS 2 Jazzy.
@pytest.mark.parametrize(('text', 'kind', 'expected'), [
    ('1', 'yaml', 1), ('1.0', 'yaml', 1.0), ('true', 'yaml', True), ('yes', 'yaml', True),
    ('text', 'yaml', 'text'), ("'1'", 'yaml', '1'), ('', 'yaml', ''), ('1e3', 'yaml', '1e3'),
    (r'a\$', 'yaml', 'a$'),
    ('$(var one)', 'yaml', 1), ('$(var half)', 'yaml', 0.5), ('$(var yes)', 'yaml', True),
    ('$(var words)', 'yaml', 'two words'), ('$(var empty)', 'yaml', ''),
    ('x$(var one)', 'yaml', 'x1'), ('$(var one)$(var one)', 'yaml', 11),
    ('1', 'str', '1'), ('$(var one)', 'str', '1'), ('$(var urdf)', 'str', '<a b="c: d"/>'),
    ('', 'str', ''), ('1', 'float', 1.0), ('$(var one)', 'float', 1.0),
])
def test_value_and_type(text: str, kind: str, expected: Any) -> None:
    value = parameter_value(text, kind, SCOPE)
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(('text', 'kind', 'message'), [
    ('null', 'yaml', 'no parameter: NoneType'),
    ('{a: 1}', 'yaml', 'no parameter: dict'),
    ('2020-01-01', 'yaml', 'no parameter: date'),
    ('[1, 2]', 'yaml', 'no parameter: list'), ('$(var list)', 'yaml', 'no parameter: list'),
    ("'$(var one)'", 'yaml', 'in quotes or brackets'), ('[$(var one)]', 'yaml', 'or brackets'),
    ('$(var urdf)', 'yaml', 'no parameter: dict'), ('a: b: c', 'yaml', 'is not YAML'),
    ('x', 'float', "'x' is no float"), ('', 'float', "'' is no float"),
    ('$(var words)', 'float', "'two words' is no float"),
])
def test_refused(text: str, kind: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parameter_value(text, kind, SCOPE)
