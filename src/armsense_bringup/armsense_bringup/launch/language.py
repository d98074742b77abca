r"""The language of launch files: tags, attributes and substitutions; all else is an error.

It is what our launch files use, and `ros2 launch` of ROS 2 Jazzy understands it alike. The whole
file is checked, also the parts that a condition leaves out. Substitutions are

    $(var NAME)   $(find-pkg-share PACKAGE)   $(env NAME DEFAULT)   $(eval 'EXPRESSION')

An expression may have the others inside. A backslash takes the next character as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
import os
from pathlib import Path
import re
from typing import Any
from xml.parsers import expat

import yaml

from armsense.errors import ArmsenseError

ParameterValue = bool | int | float | str


class LaunchError(ArmsenseError):
    """A launch file, or the arguments given to it, cannot be carried out."""


class Mistake(ValueError):
    """What is wrong with a text; who knows where it stands adds file and line."""


# -- substitutions -------------------------------------------------------------------------------

_PART = re.compile(r"""
      \\ (?P<escaped> .)
    | \$\(eval\ ' (?P<expression> (?: \\. | [^'\\] )* ) '\)
    | \$\( (?P<name> var | find-pkg-share )\  (?P<argument> [A-Za-z_][\w-]* ) \)
    | \$\(env\  (?P<variable> [A-Za-z_]\w* )\  (?P<default> [\w.-]+ ) \)
    | (?P<unknown> \$\( .* )
    """, re.VERBOSE | re.DOTALL)
_WORD = re.compile(r'(?: \$\( [^()]* \) | \S )+', re.VERBOSE)
# The real launch gives any expression to Python; these cannot run code, and mean the same there.
_EXPRESSION = (ast.Expression, ast.Constant, ast.Name, ast.List, ast.Load, ast.Compare, ast.Eq,
               ast.NotEq, ast.In, ast.NotIn, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not)


@dataclass
class Scope:
    """What substitutions see; a `<group>` works on a copy."""

    variables: dict[str, str]
    environment: dict[str, str]
    namespace: str | None = None  # what push_ros_namespace made; None where there was none

    def copy(self) -> Scope:
        return Scope(dict(self.variables), dict(self.environment), self.namespace)


def expand(text: str, scope: Scope) -> str:
    """The text with every substitution replaced by its value.

    Raises:
        Mistake: One is not known, or has no value.
    """
    check_text(text)
    return _PART.sub(lambda part: _value(part, scope), text)


def check_text(text: str) -> bool:
    """Whether there are substitutions in a text.

    Raises:
        Mistake: One is not known.
    """
    found = False
    for part in _PART.finditer(text):
        if part['unknown'] is not None:
            raise Mistake(f"{part['unknown']!r} is not understood; known: $(var NAME), "
                          "$(find-pkg-share PACKAGE), $(env NAME DEFAULT), "
                          "$(eval 'EXPRESSION') (ros2 launch has more)")
        if part['expression'] is not None:
            check_text(part['expression'])
        found |= part['escaped'] is None
    return found


def split_words(text: str) -> list[str]:
    """Split a command line at its spaces; what a substitution yields is never split."""
    if "'" in text or '"' in text or text[:1].isspace():
        raise Mistake(f'{text!r}: words between single spaces, without quotes')
    words = _WORD.findall(text)
    for word in words:
        check_text(word)
    return words


def _value(part: re.Match[str], scope: Scope) -> str:
    if part['escaped'] is not None:
        return part['escaped']
    if part['expression'] is not None:
        return evaluate(expand(part['expression'], scope))
    if part['variable'] is not None:
        return scope.environment.get(part['variable'], part['default'])
    if part['name'] == 'find-pkg-share':
        return str(package_share(part['argument'], scope.environment))
    if part['argument'] not in scope.variables:
        known = ', '.join(sorted(scope.variables)) or 'none'
        raise Mistake(f'unknown variable {part["argument"]!r}; known: {known}')
    return scope.variables[part['argument']]


def evaluate(text: str) -> str:
    """The value of a comparison or Boolean expression, as text.

    Raises:
        Mistake: With the text and what is wrong with it.
    """
    try:
        tree = ast.parse(text.strip(), mode='eval')
        for node in ast.walk(tree):
            if not isinstance(node, _EXPRESSION):
                raise ValueError(f'{type(node).__name__} is not understood; known: == != in, '
                                 'not in, and, or, not, numbers, quoted text, lists')
        return str(eval(compile(tree, 'launch file', 'eval'), {'__builtins__': {}}))
    except NameError as error:
        raise Mistake(f'expression {text!r}: unknown name {error.name!r}; text needs '
                      'quotes') from error
    except (SyntaxError, TypeError, ValueError) as error:
        raise Mistake(f'expression {text!r}: {error}') from error


def package_prefix(package: str, environment: Mapping[str, str]) -> Path:
    """The installation prefix of a package, the first along the AMENT_PREFIX_PATH."""
    prefixes = [p for p in environment.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
    for prefix in prefixes:
        if (Path(prefix) / 'share/ament_index/resource_index/packages' / package).is_file():
            return Path(prefix)
    raise Mistake(f'package {package!r} is not installed; looked in AMENT_PREFIX_PATH='
                  f'{os.pathsep.join(prefixes) or "(not set)"}')


def package_share(package: str, environment: Mapping[str, str]) -> Path:
    """`<prefix>/share/<package>`."""
    return package_prefix(package, environment) / 'share' / package


def parameter_value(text: str, kind: str, scope: Scope) -> ParameterValue:
    """The value of a `<param>`, by the rules of ROS 2 launch.

    Args:
        text: The `value` attribute.
        kind: The `type` attribute. yaml: the text after its substitutions, read as YAML; str: as
            it is; float.
        scope: Where substitutions look.

    Raises:
        Mistake: The value has no ROS parameter type, or not the one demanded.
    """
    if check_text(text) and kind == 'yaml' and text[0] in '\'"[{':   # ros2 launch reads it twice
        raise Mistake(f'{text!r}: a substitution in quotes or brackets')
    text = expand(text, scope)
    if kind == 'str' or (kind == 'yaml' and not text):
        return text
    try:
        value: Any = float(text) if kind == 'float' else yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise Mistake(f'{text!r} is not YAML; type="str" keeps it as text') from error
    except ValueError:
        raise Mistake(f'{text!r} is no {kind}') from None
    if not isinstance(value, (bool, int, float, str)):
        raise Mistake(f'{text!r} is no parameter: {type(value).__name__}; known: bool, '
                      'int, float, str (type="str" keeps it as text)')
    return value


# -- tags ----------------------------------------------------------------------------------------

Check = Callable[[str], object]   # raises where it does not like the text of an attribute


@dataclass(frozen=True)
class Tag:
    """What may stand in one tag: attributes, tags inside."""

    required: dict[str, Check]
    optional: dict[str, Check] = field(default_factory=dict)
    children: dict[str, Tag] = field(default_factory=dict)


def _name(text: str) -> None:
    if check_text(text):
        raise Mistake(f'{text!r} must be known without a substitution')


def _one_of(*known: str) -> Check:
    def check(text: str) -> None:
        if text not in known:
            raise Mistake(f'{text!r}; known: {", ".join(known)}')
    return check


def number(text: str) -> float:
    """Of an attribute, not negative."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < float('inf'):
        raise Mistake(f'{text!r} is not a number, at least 0 (substitutions do not work here)')
    return value


_CONDITIONS: dict[str, Check] = {'if': check_text, 'unless': check_text}
_ACTIONS = {
    'let': Tag({'name': _name, 'value': check_text}, _CONDITIONS),
    'set_env': Tag({'name': _name, 'value': check_text}, _CONDITIONS),
    'push_ros_namespace': Tag({'namespace': check_text}),
    'node': Tag(
        {'pkg': check_text, 'exec': check_text},
        {'name': check_text, 'args': split_words, 'output': _one_of('screen', 'log', 'both'),
         'on_exit': _one_of('shutdown'), 'respawn': _one_of('true', 'false'),
         'respawn_delay': number, 'respawn_max_retries': number, **_CONDITIONS},
        {'param': Tag({'name': _name, 'value': check_text},
                      {'type': _one_of('yaml', 'str', 'float')})}),
}
_ACTIONS['group'] = Tag({}, _CONDITIONS, _ACTIONS)
_ARG = Tag({'name': _name}, {'default': check_text, 'description': str},
           {'choice': Tag({'value': str})})
_LAUNCH = Tag({}, {}, {'arg': _ARG, **_ACTIONS})


@dataclass(frozen=True)
class Element:
    """One tag of a launch file."""

    tag: str
    attributes: dict[str, str]
    path: Path
    line: int
    children: list[Element] = field(default_factory=list)

    def error(self, message: object) -> LaunchError:
        """The error to raise about this element, with file and line in front."""
        return LaunchError(f'{self.path}:{self.line}: {message}')


def read(path: str | Path) -> Element:
    """The root element of a launch file.

    Raises:
        LaunchError: With file and line of the first thing that is not understood.
    """
    root = _parse(Path(path).absolute())
    if root.tag != 'launch':
        raise root.error(f'<{root.tag}> at the top; a launch file starts with <launch>')
    _check(root, _LAUNCH)
    return root


def _parse(path: Path) -> Element:
    parser = expat.ParserCreate()
    opened = [Element('', {}, path, 0)]   # above the root

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, path, parser.CurrentLineNumber)
        opened[-1].children.append(element)
        opened.append(element)

    def text(words: str) -> None:
        if words.strip():
            raise LaunchError(f'{path}:{parser.CurrentLineNumber}: text {words.strip()!r} inside '
                              f'<{opened[-1].tag}>; a launch file has tags and attributes only')

    parser.StartElementHandler, parser.CharacterDataHandler = start, text
    parser.EndElementHandler = lambda _: opened.pop()
    try:
        parser.Parse(path.read_bytes(), True)
    except OSError as error:
        raise LaunchError(f'{path}: {error.strerror}') from error
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise LaunchError(f'{path}:{error.lineno}: not XML: {reason}') from error
    return opened[0].children[0]


def _check(element: Element, tag: Tag) -> None:
    known = tag.required | tag.optional
    for name, text in element.attributes.items():
        if name not in known:
            raise _unknown(element, f'attribute {name!r} in <{element.tag}>', known)
        try:
            known[name](text)
        except Mistake as error:
            raise element.error(f'{name}={error}') from error
    for name in tag.required:
        if name not in element.attributes:
            raise element.error(f'<{element.tag}> needs the attribute {name!r}')
    if set(_CONDITIONS) <= set(element.attributes):
        raise element.error("'if' and 'unless' exclude each other")
    for child in element.children:
        if child.tag not in tag.children:
            raise _unknown(child, f'tag <{child.tag}> in <{element.tag}>', tag.children)
        _check(child, tag.children[child.tag])


def _unknown(element: Element, what: str, known: Iterable[str]) -> LaunchError:
    return element.error(f'unknown {what}; known: {", ".join(sorted(known)) or "none"} '
                         '(ros2 launch has more)')
