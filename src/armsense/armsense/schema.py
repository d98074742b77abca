"""Plain data (yaml) to frozen dataclasses, and back, with errors that name the place.

A dataclass is the schema: its annotations give the types, `quantity` adds unit, range and
meaning. Unknown keys, missing keys, wrong types, values out of range and non-finite numbers are
errors such as `laas4.yaml: joints.joint1.gear_ratio is -27.0; it must be > 0`.
"""

from collections.abc import Collection, Mapping, Sequence
import dataclasses
import functools
import math
import operator
import os
from pathlib import Path
import tempfile
import types
import typing
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
import yaml

from armsense.errors import ArmsenseError, BadValue, UnknownName
from armsense.types import Array

T = TypeVar('T')


def quantity(default: Any = dataclasses.MISSING, *, unit: str = '', low: float | None = None,
             high: float | None = None, above: float | None = None,
             choices: tuple[str, ...] | None = None, text: str = '') -> Any:
    """Field of a dataclass: SI unit, range (`above` excludes its end) or words, and meaning."""
    metadata = {'unit': unit, 'low': low, 'high': high, 'above': above, 'choices': choices,
                'text': text}
    if isinstance(default, (list, dict)):
        return dataclasses.field(default_factory=lambda: type(default)(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def same_as(cls: type, name: str) -> Any:
    """Field like one of another dataclass, which alone states default, range and meaning."""
    field = next(field for field in dataclasses.fields(cls) if field.name == name)
    return dataclasses.field(default=field.default, metadata=field.metadata)


def part(cls: type[T], whole: Any, **others: Any) -> T:
    """Instance of a dataclass: values of `whole` for the fields that both have, and others."""
    names = ({field.name for field in dataclasses.fields(typing.cast(Any, cls))}
             & {field.name for field in dataclasses.fields(whole)})
    return cls(**{name: getattr(whole, name) for name in names} | others)


def check_known(kind: str, name: object, known: Collection[object], where: str = '') -> None:
    if name not in known:
        raise UnknownName(kind, name, known, where)


def valid_values(rule: Mapping[str, Any]) -> str:
    """What the metadata of a `quantity` allows, in words; '' is anything."""
    if rule['choices']:
        return ', '.join(rule['choices'])
    if rule['low'] is not None and rule['high'] is not None:
        return f'{rule["low"]:g} to {rule["high"]:g}'
    bounds = ((name, rule[name]) for name in ('above', 'low', 'high'))
    signs = {'above': '>', 'low': '>=', 'high': '<='}
    return ', '.join(f'{signs[name]} {bound:g}' for name, bound in bounds if bound is not None)


def read_yaml(path: Path) -> dict[str, Any]:
    """Mapping in a yaml file; anything else is an error that names the file."""
    try:
        data = yaml.load(path.read_text(), Loader=getattr(yaml, 'CSafeLoader', yaml.SafeLoader))
    except OSError as error:
        raise ArmsenseError(f'cannot read {path}: {error.strerror}') from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = ' '.join(str(error).split())
        raise ArmsenseError(f'{path} is not valid yaml: {reason}') from error
    if not isinstance(data, dict):
        raise BadValue(f'the content of {path}', type(data).__name__, 'a mapping')
    return data


def write_yaml(data: Any, path: Path) -> None:
    """Write a dataclass instance or plain data, whole or not at all."""
    text = yaml.safe_dump(dump(data), sort_keys=False, width=100, default_flow_style=None)
    try:
        _write_whole(text, path)
    except OSError as error:
        raise ArmsenseError(f'cannot write {path}: {error.strerror or error}') from error


def _write_whole(text: str, path: Path) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f'.{path.name}.')
    try:
        with os.fdopen(handle, 'w') as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def load(cls: type[T], data: Mapping[str, Any], where: str) -> T:
    """Instance of the dataclass `cls` from plain data; `where` starts the error messages."""
    return typing.cast(T, _convert(cls, data, where))


def check(instance: Any) -> None:
    """What `load` asks of each field; for `__post_init__` of what people make in Python, too."""
    for field in dataclasses.fields(instance):
        _check_range(field, getattr(instance, field.name),
                     f'{type(instance).__name__}.{field.name}')


def read_arm_file(cls: type[T], path: str | Path, what: str, version: int, arm: str | None,
                  former: Sequence[str] = ()) -> T:
    """Instance of the dataclass `cls` from a yaml file with the keys `format` and `arm`.

    The file holds `what`, with its article, of this version; one of another arm is an error.
    Former keys of older files mean nothing any more.
    """
    path = Path(path)
    data = read_yaml(path)
    if data.get('format') != version:
        raise BadValue(f'{path.name}: format', data.get('format'), f'{version}')
    instance = load(cls, {key: value for key, value in data.items() if key not in former},
                    path.name)
    if arm is not None and data['arm'] != arm:
        raise ArmsenseError(f'{path.name} is {what} of arm {data["arm"]!r}; this arm is {arm!r}')
    return instance


def dump(instance: Any) -> Any:
    """Plain data of a dataclass instance; None and empty fields with a default are left out."""
    if dataclasses.is_dataclass(instance) and not isinstance(instance, type):
        plain = {}
        for field in dataclasses.fields(instance):
            value = getattr(instance, field.name)
            if value is None or (value in ({}, ()) if isinstance(value, (dict, tuple)) else False):
                continue
            plain[field.name] = dump(value)
        return plain
    if isinstance(instance, Mapping):
        return {key: dump(value) for key, value in instance.items()}
    if isinstance(instance, np.ndarray):
        return instance.tolist()
    if isinstance(instance, (tuple, list)):
        return [dump(value) for value in instance]
    return instance.item() if isinstance(instance, np.generic) else instance


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _convert(kind: Any, value: Any, where: str) -> Any:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return _convert_union(kind, value, where)
    if dataclasses.is_dataclass(kind):
        return _convert_dataclass(typing.cast(type, kind), value, where)
    if origin is tuple:
        return _convert_tuple(kind, value, where)
    if origin is dict:
        if not isinstance(value, Mapping):
            raise BadValue(where, value, 'a mapping')
        inner = typing.get_args(kind)[1]
        return {str(key): _convert(inner, item, f'{where}.{key}') for key, item in value.items()}
    return _convert_scalar(kind, value, where)


def _convert_union(kind: Any, value: Any, where: str) -> Any:
    options = typing.get_args(kind)
    if value is None and type(None) in options:
        return None
    return _convert(next(o for o in options if o is not type(None)), value, where)


def _convert_dataclass(cls: type, value: Any, where: str) -> Any:
    if not isinstance(value, Mapping):
        raise BadValue(where, value, 'a mapping')
    fields = {field.name: field for field in dataclasses.fields(cls)}
    separator = ': ' if where.endswith('.yaml') else '.'
    for key in value:
        check_known('key', key, fields, where)
    required = [name for name, field in fields.items() if field.default is dataclasses.MISSING
                and field.default_factory is dataclasses.MISSING]
    arguments = {}
    for name, field in fields.items():
        place = f'{where}{separator}{name}'
        if name in value:
            arguments[name] = _convert(_hints(cls)[name], value[name], place)
            _check_range(field, arguments[name], place)
        elif name in required:
            raise ArmsenseError(f'{where}: {name!r} is missing; needed: {", ".join(required)}')
    try:
        return cls(**arguments)
    except ArmsenseError as error:   # of __post_init__, which does not know its place
        raise ArmsenseError(f'{where}: {error}') from error


def _convert_tuple(kind: Any, value: Any, where: str) -> Any:
    inner = typing.get_args(kind)
    if not isinstance(value, (list, tuple)):
        raise BadValue(where, value, 'a list')
    if len(inner) == 2 and inner[1] is Ellipsis:
        return tuple(_convert(inner[0], item, f'{where}[{k}]') for k, item in enumerate(value))
    if len(value) != len(inner):
        raise BadValue(where, value, f'a list of {len(inner)}')
    return tuple(_convert(kind_k, item, f'{where}[{k}]')
                 for k, (kind_k, item) in enumerate(zip(inner, value, strict=True)))


def _convert_scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is float:
        if isinstance(value, str):  # yaml reads 1e-6 as text
            try:
                value = float(value)
            except ValueError:
                raise BadValue(where, value, 'a number') from None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise BadValue(where, value, 'a number')
        try:
            number = float(value)
        except OverflowError:   # a whole number beyond the range of float
            number = math.inf
        if not math.isfinite(number):
            raise BadValue(where, number, 'finite')
        return number
    if kind is int and (isinstance(value, bool) or not isinstance(value, int)):
        raise BadValue(where, value, 'a whole number')
    if kind is bool and not isinstance(value, bool):
        raise BadValue(where, value, 'true or false')
    if kind is str and not isinstance(value, str):
        raise BadValue(where, value, 'text')
    return value


def _check_range(field: Any, value: Any, where: str) -> None:
    rule = field.metadata
    if not rule or value is None:
        return
    if rule['choices'] and value not in rule['choices']:
        raise UnknownName('value', value, rule['choices'], where)
    for number in value if isinstance(value, tuple) else (value,):
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            _check_number(rule, number, where)


def _check_number(rule: Mapping[str, Any], number: float, where: str) -> None:
    unit = f' {rule["unit"]}' if rule['unit'] else ''
    for name, sign, kept in (('low', '>=', operator.ge), ('high', '<=', operator.le),
                             ('above', '>', operator.gt)):
        if rule[name] is not None and not kept(number, rule[name]):
            raise BadValue(where, number, f'{sign} {rule[name]}{unit}')


def spread(name: str, values: Sequence[float], n: int) -> Array:
    """One number per joint from a list of n or of one, (n,)."""
    if len(values) not in (1, n):
        raise BadValue(name, list(values), f'a list of {n} (or of one number for all joints)')
    return np.array(np.broadcast_to(np.array(values, float), n))


def vector(what: str, values: ArrayLike, size: int) -> Array:
    """A copy of the values, which must be finite numbers, as an array (size,)."""
    array = np.array(values, float)
    if array.shape != (size,):
        raise BadValue(f'shape of {what}', array.shape, f'({size},)')
    if not np.isfinite(array).all():
        raise BadValue(what, array.tolist(), 'finite')
    return array
