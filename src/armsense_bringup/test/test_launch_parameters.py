from __future__ import annotations

from typing import Any

import pytest

from armsense_bringup.launch_parameters import parameter_value
from armsense_bringup.launch_substitutions import Scope

SCOPE = Scope(
    {'one': '1', 'half': '0.5', 'yes': 'true', 'words': 'two words', 'empty': '',
     'list': '[1, 2]', 'mixed': '[1, x]', 'urdf': '<a b="c: d"/>'}, {})


# Expected values were seen with the launch packages of ROS 2 Jazzy.
@pytest.mark.parametrize(('text', 'kind', 'expected'), [
    ('1', 'yaml', 1), ('1.0', 'yaml', 1.0), ('true', 'yaml', True), ('yes', 'yaml', True),
    ('text', 'yaml', 'text'), ("'1'", 'yaml', '1'), ('', 'yaml', ''), ('1e3', 'yaml', '1e3'),
    ('[1.0, 2.0]', 'yaml', [1.0, 2.0]), ('[a, b]', 'yaml', ['a', 'b']),
    ('$(var one)', 'yaml', 1), ('$(var half)', 'yaml', 0.5), ('$(var yes)', 'yaml', True),
    ('$(var words)', 'yaml', 'two words'), ('$(var empty)', 'yaml', ''),
    ('$(var list)', 'yaml', [1, 2]), ('[$(var one), 2]', 'yaml', [1, 2]),
    ('x$(var one)', 'yaml', 'x1'), ('$(var one)$(var one)', 'yaml', 11),
    ('1', 'str', '1'), ('$(var one)', 'str', '1'), ('$(var urdf)', 'str', '<a b="c: d"/>'),
    ('1', 'float', 1.0), ('$(var one)', 'float', 1.0), ('7', 'int', 7),
    ('1', 'bool', True), ('$(var yes)', 'bool', True), ('off', 'bool', False),
    ('[1, $(var one)]', 'list_of_int', [1, 1]), ('[$(var one), 2.5]', 'list_of_float', [1.0, 2.5]),
    ('[a, $(var words)]', 'list_of_str', ['a', 'two words']),
])
def test_value_and_type(text: str, kind: str, expected: Any) -> None:
    value = parameter_value(text, kind, SCOPE)
    assert value == expected
    assert type(value) is type(expected)
    if isinstance(value, list):
        assert [type(item) for item in value] == [type(item) for item in expected]


@pytest.mark.parametrize(('text', 'kind', 'message'), [
    ('null', 'yaml', 'no parameter: NoneType'),
    ('{a: 1}', 'yaml', 'no parameter: dict'),
    ('2020-01-01', 'yaml', 'no parameter: date'),
    ('[1, 2.0]', 'yaml', 'mixes float, int'),
    ('[1, true]', 'yaml', 'mixes bool, int'),
    ('$(var mixed)', 'yaml', 'mixes int, str'),
    ('[$(var list)]', 'yaml', 'has a list inside'),
    ('$(var urdf)', 'yaml', 'no parameter'),
    ('x', 'int', "'x' is no int"), ('1.5', 'int', "'1.5' is no int"), ('2', 'bool', 'no bool'),
    ('$(var words)', 'float', "'two words' is no float"),
    ('[1, 2]', 'list_of_float', 'no list_of_float'), ('1', 'list_of_int', 'no list_of_int'),
    ('$(var list)', 'list_of_int', 'no list_of_int'),
    ('1', 'double', "unknown type 'double'; known: yaml, bool, int, float, str, list_of_bool"),
])
def test_refused(text: str, kind: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parameter_value(text, kind, SCOPE)
