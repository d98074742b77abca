"""The type of a `<param value="...">`, by the rules of ROS 2 launch.

Without `type` the text is read as YAML after its substitutions were replaced. `type="str"` keeps
it as it is.
"""

from __future__ import annotations

from typing import Any

import yaml

from armsense_bringup.launch.substitutions import check_text, expand, Scope

ParameterValue = bool | int | float | str
TYPES = ('yaml', 'str', 'float')


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
    if check_text(text):
        if type_name == 'yaml' and text[0] in '\'"[{':   # ros2 launch reads it twice
            raise ParameterError(f'{text!r}: a substitution in quotes or brackets')
        return text if scope is None else _read(expand(text, scope), type_name)
    value = _read(text, type_name)
    return expand(value, Scope({}, {})) if isinstance(value, str) else value   # its backslashes


def _read(text: str, type_name: str) -> ParameterValue:
    if type_name == 'str' or (type_name == 'yaml' and not text):
        return text
    try:
        value: Any = float(text) if type_name == 'float' else yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ParameterError(f'{text!r} is not YAML; type="str" keeps it as text') from error
    except ValueError:
        raise ParameterError(f'{text!r} is no float') from None
    if not isinstance(value, (bool, int, float, str)):
        raise ParameterError(f'{text!r} is no parameter: {type(value).__name__}; known: bool, '
                             'int, float, str (type="str" keeps it as text)')
    return value
