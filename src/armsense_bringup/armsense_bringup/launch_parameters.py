"""The type of a `<param value="...">`, by the rules of ROS 2 launch.

Without `type` the text is read as YAML, once as it stands in the file and, where it holds
substitutions, once more after they were replaced. `type="str"` keeps it as it is.
"""

from __future__ import annotations

from typing import Any

import yaml

from armsense_bringup.launch_substitutions import expand, parse, Scope, Template

Scalar = bool | int | float | str
ParameterValue = Scalar | list[Scalar]

_SCALARS: dict[str, type] = {'bool': bool, 'int': int, 'float': float, 'str': str}
TYPES = ('yaml', *_SCALARS, *(f'list_of_{name}' for name in _SCALARS))


class ParameterError(ValueError):
    """A parameter value does not fit its type."""


def parameter_value(text: str, type_name: str, scope: Scope | None) -> ParameterValue:
    """The typed value of a parameter.

    Args:
        text: The `value` attribute.
        type_name: The `type` attribute, one of `TYPES`.
        scope: Where substitutions look; None only checks what can be checked without.

    Raises:
        ParameterError: The value has no ROS parameter type, or not the one demanded.
        SubstitutionError: From the substitutions in it.
    """
    if type_name not in TYPES:
        raise ParameterError(f'unknown type {type_name!r}; known: {", ".join(TYPES)}')
    written = _read(text, type_name, strings_allowed=True)
    if not isinstance(written, list):
        value: ParameterValue = _scalar(written, type_name, scope)
        return value
    item_type = 'yaml' if type_name == 'yaml' else type_name.removeprefix('list_of_')
    items = [_scalar(item, item_type, scope) for item in written]
    if not items and type_name not in ('yaml', 'list_of_str'):
        raise ParameterError(f'an empty list is no {type_name} for ros2 launch')
    if scope is not None:
        _check_uniform(items, text)
    return items


def _scalar(written: Any, type_name: str, scope: Scope | None) -> Any:
    """Replace substitutions in what YAML made of the text in the file."""
    if not isinstance(written, str):
        return written
    template = parse(written)
    if not _has_calls(template):
        plain = ''.join(str(part) for part in template)
        if type_name not in ('yaml', 'str'):
            raise ParameterError(f'{plain!r} is no {type_name}')
        return plain
    if scope is None:
        return written
    value = _read(expand(template, scope), type_name, strings_allowed=False)
    if isinstance(value, list):
        _check_uniform(value, written)
    return value


def _has_calls(template: Template) -> bool:
    return any(not isinstance(part, str) for part in template)


def _read(text: str, type_name: str, strings_allowed: bool) -> Any:
    """Convert a text; `strings_allowed` where it may hold substitutions yet to be replaced."""
    if type_name == 'str':
        return text
    if type_name in ('int', 'float'):
        try:
            return _SCALARS[type_name](text)
        except ValueError:
            return _text_or_error(text, type_name, strings_allowed)
    if type_name == 'bool':
        text = {'0': 'false', '1': 'true'}.get(text, text)
    value = _yaml(text, strings_allowed)
    if type_name == 'bool':
        return value if isinstance(value, bool) else _text_or_error(
            value, type_name, strings_allowed)
    if type_name != 'yaml':
        _check_items(value, type_name, strings_allowed)
    return value


def _text_or_error(value: Any, type_name: str, strings_allowed: bool) -> str:
    if strings_allowed and isinstance(value, str):
        return value
    raise ParameterError(f'{value!r} is no {type_name}')


def _yaml(text: str, strings_allowed: bool) -> Any:
    if not text:
        return text
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        if strings_allowed:
            return text
        raise ParameterError(f'{text!r} is not YAML; type="str" keeps it as text') from error
    values = value if isinstance(value, list) else [value]
    for item in values:
        if not isinstance(item, (bool, int, float, str)):
            raise ParameterError(
                f'{text!r} is no parameter: {type(item).__name__}; known: bool, int, float, str '
                'and lists of one of them (type="str" keeps it as text)')
    return value


def _check_items(value: Any, type_name: str, strings_allowed: bool) -> None:
    wanted = _SCALARS[type_name.removeprefix('list_of_')]
    fits = (wanted, str) if strings_allowed else (wanted,)
    if not isinstance(value, list) or any(type(item) not in fits for item in value):
        raise ParameterError(f'{value!r} is no {type_name}')


def _check_uniform(items: list[Any], text: str) -> None:
    if any(isinstance(item, list) for item in items):
        raise ParameterError(f'list {text!r} has a list inside')
    if len({type(item) for item in items}) > 1:
        kinds = ', '.join(sorted({type(item).__name__ for item in items}))
        raise ParameterError(f'list {text!r} mixes {kinds}; write all items alike')
